// task_room.hpp — the state of the room task, or of one above: records, threads, groups, data and codelets.
#pragma once
#include "base/process.hpp"
#include "machine/machine_room.hpp"
#include "task/core.hpp"

namespace consort_test {

inline consort_status do_nothing(const consort_call *) { return CONSORT_OK; }

template <class S>
class CoreOn : public RoomOn<S> {
 public:
  explicit CoreOn(const Pairs &pairs) : RoomOn<S>(pairs, consort::process::next_number()) {
    consort::process::enter(this->number);
    this->open_machine(static_cast<consort::Core *>(this));
    this->return_batch = 64;
    if (!this->tasks.reserve(consort::Core::kTaskSlots)) std::abort();
    must(this->data.open());
  }
  ~CoreOn() {
    this->data.close();
    this->topology.reset();
    consort::process::leave(this->number);
  }

  consort::ThreadState &thread() { return *this->this_thread(); }
  // Of units of the driver cpu.
  consort::Codelet &add_codelet(const char *name, consort_call_fn *fn = do_nothing, void *user = nullptr) {
    const consort_impl impl = {"cpu", fn, user, nullptr, nullptr, nullptr, nullptr, 0};
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name;
    d.impls = &impl;
    d.nimpls = 1;
    return *must(this->codelets.add(d, *this->topology));
  }
  // A task as the graph would make it, without data, that no room has yet.
  consort::Task &take_task(consort::Codelet &c) {
    consort::Task *t = thread().take_record();
    t->pub = c.blank;
    t->pub.id = (t->word.load() & ~uint64_t{0xffffffff}) | this->tasks.index(t);
    t->pub.access = reinterpret_cast<consort_access *>(t->payload);
    t->codelet = &c;
    t->group = this->standard_group;
    t->extra = nullptr;
    t->bits = 0;
    t->kind = consort::TaskKind::kPlain;
    t->pending.store(0);
    return *t;
  }
};

struct TaskRoom : CoreOn<consort::Core> {
  explicit TaskRoom(const Pairs &pairs = {}) : CoreOn(pairs) {}
};

}  // namespace consort_test

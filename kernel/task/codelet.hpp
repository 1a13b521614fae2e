// codelet.hpp — one computation with its implementations, as this runtime holds it.
//
// Copied from the application's description at codelet_add(), constant from then on; found by a dense number, named
// by number and generation.
#pragma once
#include <consort/consort.h>
#include <consort/scheduler.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "task/portable.hpp"

namespace consort {

class Model;
class Topology;

struct Codelet {
  struct Impl {
    consort_call_fn *fn;
    void *user;
    uint32_t klass;                       // bit of `where`; CONSORT_NONE: this machine has no such unit
    std::string klass_name, name;
    // Where it is text; fn is Portable::stand_in then, user the Portable, unless units that play its class run another.
    std::unique_ptr<Portable> portable;
    Portable *text() const noexcept { return fn == Portable::stand_in ? portable.get() : nullptr; }  // to be loaded
  };
  uint64_t where = 0;                     // classes that could run it here
  uint16_t bits = 0;                      // of its tasks: kWatched, where somebody asks or counts
  static constexpr uint32_t kMostPlain = 16;
  // tasks with so many data or more may be submitted the short way (graph/submit.cpp):
  uint32_t plain_from = 0;
  std::atomic<uint32_t> plain_span{0};    // up to as many more, but one; 0: none; relaxed: set before it is found
  uint32_t number = 0, generation = 0;
  uint32_t flags = 0;
  bool for_teams() const noexcept { return flags & (CONSORT_CL_FORKJOIN | CONSORT_CL_SPMD); }
  // What a worker can run of it is the same for all of its class.
  bool class_settles() const noexcept {
    for (const Impl &i : impls)
      if (i.text()) return false;
    return !can_execute && !for_teams();
  }
  uint64_t several = 0;                   // classes with more than one implementation
  // What its tasks take, by CONSORT_MODEL_*; owned by Models. nullptr: none yet. Release where it is set pairs with
  // Models::of()
  std::atomic<Model *> model[2] = {};
  uint32_t nmodes = CONSORT_NONE;
  std::string name;
  std::vector<uint32_t> modes;
  std::vector<Impl> impls;
  struct Entry {
    consort_call_fn *fn;
    void *user;
    uint32_t impl;
    bool is_function() const noexcept { return fn && fn != Portable::stand_in; }
  };
  std::vector<Entry> entry;               // per class: its first implementation; fn nullptr: none
  consort_can_execute_fn *can_execute = nullptr;
  void *can_execute_user = nullptr;
  std::unique_ptr<std::atomic<uint64_t>[]> ran;  // by worker; CL_STATS alone; relaxed: counts
  consort_task blank{};                   // what a task of this codelet shows to policies, but for its own
  std::atomic<bool> live{true};  // release where it is removed; a submission that races with that is misuse, and sees either
  // As a method of reductions: phases that contributions are made in, and those whose union is not over. Under the
  // data's rights; the release that ends a union pairs with the remover's look.
  std::atomic<uint32_t> phases{0}, unions{0};
};

// Any thread. A removed codelet's number is used again; its record rests a while among others removed, for a
// submission that found it just before (and will find it removed).
class Codelets {
 public:
  static constexpr uint32_t kMost = 1 << 16, kBlock = 64, kResting = 1024;
  ~Codelets();
  Result<Codelet *> add(const consort_codelet &, const Topology &);
  void allow_short_way(bool) noexcept;                    // for all codelets, also those to come; at first: yes
  // Tasks that units of these classes can run go the long way, where Memory hears of what they will use. Before the
  // first codelet.
  void foresee(uint64_t classes) noexcept { foreseen_ = classes; }
  bool is_foreseen(const Codelet &c) const noexcept { return c.where & foreseen_; }
  void remove(Codelet &) noexcept;                        // no task uses it, and it is not live
  // nullptr: removed or never given. The caller looks at `live` again once its task shows the codelet.
  Codelet *find(consort_codelet_id id) const noexcept {
    const uint32_t number = static_cast<uint32_t>(id.v) - 1;
    if (number >= n_.load(std::memory_order_acquire)) return nullptr;
    Codelet *c = slot(number).load(std::memory_order_acquire);  // pairs with the release in add()
    return c && c->generation == id.v >> 32 ? c : nullptr;
  }
  // this number at least: a handle not found is stale, not wrong
  bool ever_gave(consort_codelet_id id) const noexcept {
    return static_cast<uint32_t>(id.v) - 1 < n_.load(std::memory_order_acquire) && id.v >> 32 < UINT32_MAX;
  }
  static consort_codelet_id id(const Codelet &c) noexcept { return {uint64_t{c.generation} << 32 | (c.number + 1)}; }

 private:
  std::atomic<Codelet *> &slot(uint32_t i) const noexcept {
    return blocks_[i / kBlock].load(std::memory_order_relaxed)[i % kBlock];
  }

  std::mutex mutex_;
  std::atomic<std::atomic<Codelet *> *> blocks_[kMost / kBlock] = {};  // owned; release; relaxed below n_, which was acquired
  std::atomic<uint32_t> n_{0};  // release where one is added pairs with ever_gave() and find(): slots below are filled
  std::vector<Codelet *> free_;                           // removed, their numbers free again; oldest first
  bool short_way_ = true;
  uint64_t foreseen_ = 0;
  void choose_way(Codelet &) const noexcept;              // with the mutex held
  Result<uint32_t> give_number(Codelet &);                // with the mutex held; returns how many there are then
};

}  // namespace consort

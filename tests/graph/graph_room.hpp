// graph_room.hpp — the state of the room graph, or of one above: tasks are submitted and completed by hand.
#pragma once
#include "base/last_error.hpp"
#include "graph/complete.hpp"
#include "graph/submit.hpp"
#include "sched/sched_room.hpp"

namespace consort_test {

template <class S>
class TaskGraphOn : public SchedulingOn<S> {
 public:
  explicit TaskGraphOn(const Pairs &pairs, bool own_workers = true) : SchedulingOn<S>(pairs, own_workers) {
    set_graph_kinds(this->kinds);
    this->put_off_ends = consort::make_put_off_ends();
    must(this->plans.open());
  }
  ~TaskGraphOn() { this->plans.close(); }

  template <class T>
  consort_data_id add_variable(T *p, const char *name) {
    const consort_variable_args a{p, sizeof(T)};
    const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, name};
    return {must(this->data.add(d))->pub.id};
  }
  // By description; a refusal ends the program.
  consort::Task *submit_desc(const consort_task_desc &d) {
    consort_task_id id{0};
    if (consort::submit(*this, d, &id) < 0) {
      std::fprintf(stderr, "\nsubmit: %s\n", consort::error_text());
      std::abort();
    }
    return this->task_at(id.v);
  }
  consort::Task *submit_task(const consort::Codelet &c, std::vector<consort_use> uses = {}, std::vector<consort_task_id> after = {}) {
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = consort::Codelets::id(c);
    d.uses = uses.data();
    d.nuses = static_cast<uint32_t>(uses.size());
    d.after = after.data();
    d.nafter = static_cast<uint32_t>(after.size());
    return submit_desc(d);
  }
  void complete_task(consort::Task *t, consort_status s = CONSORT_OK) { consort::complete(*this, this->thread(), t, s, nullptr); }
};

struct GraphRoom : TaskGraphOn<consort::TaskGraph> {
  explicit GraphRoom(const Pairs &pairs = {}) : TaskGraphOn(pairs) {}
};

}  // namespace consort_test

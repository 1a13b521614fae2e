// consort/cpp/failure.hpp — Failure: what went wrong with a task, as a value: the task, its worker, the datum, the causes.
//
// Part of consort.hpp; include that. Error::failure() and Group::last_failure() answer one. Nothing refers to the runtime: a
// Failure is good after it.
#ifndef CONSORT_CPP_FAILURE_HPP
#define CONSORT_CPP_FAILURE_HPP
#include <consort/cpp/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace consort::inline face {

namespace detail {
constexpr std::size_t nearer(std::size_t a, std::size_t b) noexcept { return a < b ? a : b; }
}  // namespace detail

// One link of a chain of causes: a task that failed.
struct FailedTask {
  std::string task, worker, datum;  // their names; worker, datum "": it reached none, it failed on none
  std::string text;                 // the failure's own words

  // Of a sentence "task 'T' failed on worker W, datum 'D': TEXT". Of any other: it is the text, and there is no task.
  static FailedTask of(std::string_view sentence) {
    constexpr std::string_view task = "task '", failed = "' failed", on = " on worker ", datum = ", datum '", is = ": ";
    FailedTask f;
    f.text = sentence;
    const std::size_t end = sentence.find(failed);
    if (sentence.substr(0, task.size()) != task || end == sentence.npos) return f;
    std::string_view rest = sentence.substr(end + failed.size()), worker, name;
    const auto until = [&](std::string_view stop) {
      const std::string_view before = rest.substr(0, rest.find(stop));
      rest.remove_prefix(before.size());
      return before;
    };
    if (rest.substr(0, on.size()) == on) {
      rest.remove_prefix(on.size());
      worker = rest.substr(0, detail::nearer(rest.find(datum), rest.find(is)));
      rest.remove_prefix(worker.size());
    }
    if (rest.substr(0, datum.size()) == datum) {
      rest.remove_prefix(datum.size());
      name = until("': ");
      if (!rest.empty()) rest.remove_prefix(1);
    }
    if (rest.substr(0, is.size()) != is) return f;
    f.task = sentence.substr(task.size(), end - task.size());
    f.worker = worker;
    f.datum = name;
    f.text = rest.substr(is.size());
    return f;
  }
};

// Why a task failed. False where no task did: the call itself was refused.
struct Failure : FailedTask {
  consort_status status = CONSORT_OK;
  consort_task_id task_id{};             // null: the call did not say which (a wait for one task knows it)
  uint32_t worker_id = CONSORT_NONE;     // CONSORT_NONE: it reached none, or the call did not say
  uint32_t failed = 0;                   // how many tasks of the group failed since the wait before; 0: of no group
  std::vector<FailedTask> causes = {};   // what made it fail, the nearest first; the last is the root. A long chain is cut to its root
  std::string chain = {};                // all of it as one text

  explicit operator bool() const noexcept { return !task.empty(); }  // Whether a task failed.
  // The task that began it: the last of the causes, or this one.
  const FailedTask &root() const noexcept { return causes.empty() ? *this : causes.back(); }

  // Of a status and a chain "SENTENCE; because SENTENCE …" as calls answer it.
  static Failure of(consort_status status, std::string_view chain) {
    constexpr std::string_view because = "; because ", link = "; because task '", lost = "; because it is not known any more";
    Failure f;
    f.status = status;
    f.chain = chain;
    for (bool first = true;; first = false) {
      const std::size_t end = detail::nearer(chain.find(link), chain.find(lost));
      const FailedTask one = FailedTask::of(chain.substr(0, end));
      if (first) static_cast<FailedTask &>(f) = one;
      else f.causes.push_back(one);
      if (end == chain.npos) return f;
      chain.remove_prefix(end + because.size());
    }
  }
  // Of what consort_group_failure() has filled.
  static Failure of(const consort_failure &c) {
    Failure f = of(c.status, c.chain);
    f.task = c.task_name;
    f.worker = c.worker_name;
    f.datum = c.data_name;
    f.text = c.text;
    f.task_id = c.task;
    f.worker_id = c.worker;
    f.failed = c.nfailed;
    return f;
  }
  // Of what a completion callback is given.
  static Failure of(const consort_outcome &o) {
    if (o.status >= 0) return {};
    Failure f = of(o.status, o.text ? o.text : "");
    if (f.task.empty() && o.name) f.task = o.name;
    f.task_id = o.task;
    f.worker_id = o.worker;
    return f;
  }
};

inline Failure Error::failure() const { return Failure::of(status_, what()); }

namespace detail {

// Of the group's last wait; null: the default group.
inline Failure last_failure(consort_runtime *rt, consort_group_id group) {
  consort_failure f{};
  f.size = sizeof f;
  check(consort_group_failure(rt, group, &f));
  return f.status < 0 ? Failure::of(f) : Failure{};
}

}  // namespace detail

}  // namespace consort::inline face
#endif

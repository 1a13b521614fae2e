// house.hpp — where the ranks of one job meet: a house for each job that has a rank open in this process.
//
// The list of houses is the one thing of this plugin that belongs to the process, not to a runtime: ranks are
// runtimes that know nothing of each other. It is empty before the first open() and after the last close(), and has
// no constructor.
//
// Locks, in this order: the list's, in open() and close() alone; then one house's, which guards every rank of that
// job. No rank waits for two houses. Nobody calls a host, nor copies a long message, under either.
#pragma once
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <consort/plugin/host.hpp>

namespace inproc {

class Inproc;

struct House {
  House(const char *name, uint32_t n) : job(name), ranks(n) {}

  const std::string job;
  std::mutex mutex;               // guards what follows, and all that ranks say is guarded by it
  std::condition_variable still;  // a copy has ended; waited for by [control] functions
  uint32_t waiting = 0;           // for that
  std::vector<Inproc *> ranks;    // by number; nullptr: not open here

  uint32_t users = 0;  // guarded by the list's lock
  House *next = nullptr;
};

// A rank's hold of its house; the last one takes the house down.
class Lodging {
 public:
  Lodging(const char *job, uint32_t nranks) {
    const std::lock_guard guard(list_mutex);
    for (House *h = first; h && !house_; h = h->next)
      if (h->job == job) house_ = h;
    if (!house_) {
      house_ = new House(job, nranks);
      house_->next = first;
      first = house_;
    }
    if (house_->ranks.size() != nranks)
      throw consort::plugin::Error(
          CONSORT_E_INVAL,
          "job \"" + house_->job + "\" has " + std::to_string(house_->ranks.size()) +
              " ranks, says a rank that is open already, and " + std::to_string(nranks) +
              ", says this one; give all ranks of a job the same number, and each job a name of its own");
    ++house_->users;
    number_ = ++last_number;
  }
  Lodging(const Lodging &) = delete;
  Lodging &operator=(const Lodging &) = delete;
  ~Lodging() {
    const std::lock_guard guard(list_mutex);
    if (--house_->users) return;
    House **at = &first;
    while (*at != house_) at = &(*at)->next;
    *at = house_->next;
    delete house_;
  }
  House &operator*() const noexcept { return *house_; }
  House *operator->() const noexcept { return house_; }
  uint64_t number() const noexcept { return number_; }  // of this open(), in this process; never used again

 private:
  static inline constinit std::mutex list_mutex;
  static inline constinit House *first = nullptr;
  static inline constinit uint64_t last_number = 0;
  House *house_ = nullptr;
  uint64_t number_;
};

}  // namespace inproc

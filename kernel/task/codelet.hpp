// codelet.hpp — a codelet: one computation and its implementations.
//
// Copied from the application's description by codelet_add() and constant afterwards. Found by a dense number; named by
// number and generation.
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
    // Set for a kernel's text. fn is then Portable::stand_in and user the Portable, unless units that play its class
    // run another implementation.
    std::unique_ptr<Portable> portable;
    Portable *text() const noexcept { return fn == Portable::stand_in ? portable.get() : nullptr; }  // text to be loaded
  };
  uint64_t where = 0;                     // classes that can run it on this machine
  uint16_t bits = 0;                      // bits of its tasks: kWatched, if it has can_execute or counts
  static constexpr uint32_t kMostPlain = 16;
  // tasks with at least this many data may use the fast submission path (graph/submit.cpp):
  uint32_t plain_from = 0;
  // and fewer than this many more; 0: none; relaxed: set before the codelet can be found
  std::atomic<uint32_t> plain_span{0};
  uint32_t number = 0, generation = 0;
  uint32_t flags = 0;
  bool for_teams() const noexcept { return flags & (CONSORT_CL_FORKJOIN | CONSORT_CL_SPMD); }
  // Returns whether all workers of a class can run the same implementations.
  bool class_settles() const noexcept {
    for (const Impl &i : impls)
      if (i.text()) return false;
    return !can_execute && !for_teams();
  }
  uint64_t several = 0;                   // classes with several implementations
  // Models of its tasks, by CONSORT_MODEL_*; owned by Models. nullptr: none yet. Release where it is set pairs with
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
  std::vector<Entry> entry;               // by class: its first implementation; fn nullptr: none
  consort_can_execute_fn *can_execute = nullptr;
  void *can_execute_user = nullptr;
  std::unique_ptr<std::atomic<uint64_t>[]> ran;  // by worker; CL_STATS alone; relaxed: counts
  consort_task blank{};                   // the constant part of what policies see of its tasks
  // release where it is removed; a submission that races with the removal is misuse and sees either value
  std::atomic<uint8_t> live{true};
  // As a method of reductions: phases with contributions, and phases whose union has not ended. Under the data's
  // rights; the release that ends a union pairs with the remover's check.
  std::atomic<uint32_t> phases{0}, unions{0};
};

// Any thread. The number of a removed codelet is reused. Its record is kept for a while, for a submission that found it
// just before (and will see that it is removed).
class Codelets {
 public:
  static constexpr uint32_t kMost = 1 << 16, kBlock = 64, kResting = 1024;
  ~Codelets();
  Result<Codelet *> add(const consort_codelet &, const Topology &);
  void allow_short_way(bool) noexcept;                    // for all codelets, also later ones; initially true
  // Sets the classes whose tasks use the slow path, which announces their data to Memory. Call before the first
  // codelet.
  void foresee(uint64_t classes) noexcept { foreseen_ = classes; }
  bool is_foreseen(const Codelet &c) const noexcept { return c.where & foreseen_; }
  void remove(Codelet &) noexcept;                        // precondition: no task uses it, and `live` is false
  // Returns nullptr if removed or never given. The caller checks `live` again once its task shows the codelet.
  Codelet *find(consort_codelet_id id) const noexcept {
    const uint32_t number = static_cast<uint32_t>(id.v) - 1;
    if (number >= n_.load(std::memory_order_acquire)) return nullptr;
    Codelet *c = slot(number).load(std::memory_order_acquire);  // pairs with the release in add()
    return c && c->generation == id.v >> 32 ? c : nullptr;
  }
  // The program's codelets: counts an added one, or a removed one. Codelets of the kernel are not counted.
  void count(const Codelet &, int by) noexcept;
  uint64_t classes() const noexcept { return classes_.load(std::memory_order_relaxed); }  // that a counted codelet can use
  // whether this number was given: then an unknown handle is stale, not wrong
  bool ever_gave(consort_codelet_id id) const noexcept {
    return static_cast<uint32_t>(id.v) - 1 < n_.load(std::memory_order_acquire) && id.v >> 32 < UINT32_MAX;
  }
  static consort_codelet_id id(const Codelet &c) noexcept { return {uint64_t{c.generation} << 32 | (c.number + 1)}; }

 private:
  std::atomic<Codelet *> &slot(uint32_t i) const noexcept {
    return blocks_[i / kBlock].load(std::memory_order_relaxed)[i % kBlock];
  }

  std::mutex mutex_;
  // owned; release; relaxed below n_, which was acquired
  std::atomic<std::atomic<Codelet *> *> blocks_[kMost / kBlock] = {};
  std::atomic<uint32_t> n_{0};  // release where a codelet is added pairs with ever_gave() and find(): slots below are filled
  std::vector<Codelet *> free_;                           // removed codelets, the numbers reusable; oldest first
  uint32_t of_class_[64] = {};                            // counted codelets by class
  std::atomic<uint64_t> classes_{0};                      // classes with a count; relaxed: a hint to a director
  bool short_way_ = true;
  uint64_t foreseen_ = 0;
  void choose_way(Codelet &) const noexcept;              // precondition: the mutex is held
  Result<uint32_t> give_number(Codelet &);                // precondition: the mutex is held; returns the number of codelets
};

}  // namespace consort

// submitter_turns.hpp — turns of registered submitters in virtual time: one of them runs at a time.
//
// A turn ends where its thread waits for the runtime or leaves; the next in the order of their numbers that can go on has
// it then. If none can, the thread with the turn steps the machine. Only that thread calls is_over() for
// others, which sleep here. The mutex is a leaf. Any thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/result.hpp"

namespace consort {

struct ThreadState;

class SubmitterTurns {
 public:
  static constexpr uint32_t kMost = 64;

  Result<void> enter(ThreadState &, uint32_t number, uint32_t count);
  Result<void> leave(ThreadState &);

  // What a thread waits for.
  class Awaited {
   public:
    virtual bool is_over() const noexcept = 0;        // reached, or its time has passed
    virtual uint64_t deadline() const noexcept = 0;   // ns of the clock

   protected:
    ~Awaited() = default;
  };

  // A wait of a thread; does nothing for a thread that is not registered.
  class Wait {
   public:
    Wait(SubmitterTurns &, ThreadState &, const Awaited &) noexcept;
    ~Wait();
    Wait(const Wait &) = delete;
    Wait &operator=(const Wait &) = delete;
    // Hands the turn to the next submitter that can go on, and returns when it has come back. False: none can.
    bool passed_on() noexcept;
    uint64_t deadline(uint64_t own) const noexcept;  // the earliest of all submitters that wait

   private:
    SubmitterTurns &turns_;
    uint32_t me_;
    const Awaited *outer_ = nullptr;
  };

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Submitter {
    ThreadState *thread = nullptr;
    const Awaited *awaited = nullptr;  // nullptr: it does not wait
  };
  uint32_t number_of(const ThreadState &) const noexcept;
  uint32_t next(uint32_t after) const noexcept;   // kNone: none of the others can go on
  void hand_to(uint32_t number) noexcept;

  std::atomic<bool> any_{false};  // relaxed: a thread that is registered has stored it itself
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Submitter> all_;    // by number; guarded by mutex_, as are those below
  uint32_t entered_ = 0, left_ = 0, turn_ = kNone;
};

}  // namespace consort

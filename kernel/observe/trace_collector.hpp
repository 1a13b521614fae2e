// trace_collector.hpp — the rings of a trace, and the thread that empties them into its file while the program runs.
//
// Each writing thread has a ring (observe/trace_ring.hpp). Where the trace is streamed, a thread of the collector takes
// the records out each tenth of a second, and whenever a ring is half full; a writer whose ring is full waits for it a
// second at most, and then its records are dropped until there is room. In virtual time, with a manual pump, and where
// records stay in memory, there is no such thread: the writer of a full ring takes them out itself.
//
// Locks: `draining_` is held by the one that takes records out and writes the file; `rings_mutex_` guards the list of
// rings, and is the inner one. Both are leaves for all others.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/park.hpp"
#include "base/result.hpp"
#include "base/tick_clock.hpp"
#include "observe/kept_records.hpp"
#include "observe/trace_file.hpp"
#include "observe/trace_ring.hpp"

namespace consort {

class TraceCollector final : public TraceDrain {
 public:
  // file: nullptr: none is streamed. kept: nullptr: nothing stays in memory. Belongs to the tracer, which calls stop()
  // before it goes.
  TraceCollector(const Clock &, TickClock, uint64_t ring_bytes, std::unique_ptr<TraceFile> file, std::unique_ptr<KeptRecords> kept);
  ~TraceCollector();

  TraceRing *add_ring() noexcept;                    // [any] nullptr: out of memory
  void add_lines(std::string_view) noexcept;         // [any] for the file; written before the records of the next turn
  Result<void> start_thread();                       // does nothing where none is needed
  void reset(std::string_view lines) noexcept;       // precondition: nothing runs. Discards all; lines: what is said anew
  // Ends the thread, and the file with these lines. Precondition: nothing runs.
  void stop(std::string_view lines, uint64_t more_lost) noexcept;
  int failed() const noexcept { return file_ ? file_->failed() : 0; }
  // -- with the lock of drain_and_hold(), or after stop() --
  std::unique_lock<std::mutex> drain_and_hold() noexcept;
  uint64_t lost() const noexcept { return lost_; }
  const KeptRecords *kept() const noexcept { return kept_.get(); }  // nullptr: constant
  const std::vector<TickClock::Point> &points() const noexcept { return points_; }
  template <class F> void each_ring(F f) {           // [any]
    const std::lock_guard lock(rings_mutex_);
    for (const auto &ring : rings_) f(*ring);
  }

  void half_full() noexcept override;
  bool make_room(TraceRing &, uint64_t bytes) noexcept override;

 private:
  void run() noexcept;
  void drain_all() noexcept;                         // with draining_
  void note_time(bool always) noexcept;              // with draining_

  const Clock &clock_;
  const TickClock ticks_;
  const uint64_t ring_bytes_;
  std::mutex draining_;
  const std::unique_ptr<TraceFile> file_;            // under draining_, as are the next four
  const std::unique_ptr<KeptRecords> kept_;
  uint64_t lost_ = 0;
  std::vector<TickClock::Point> points_;             // of which the last is also in the file
  std::vector<TraceRing *> seen_;                    // as rings_ was
  std::mutex rings_mutex_;
  std::vector<std::unique_ptr<TraceRing>> rings_;    // under rings_mutex_
  std::string lines_;                                // under rings_mutex_
  std::atomic<bool> stopping_{false};                // release pairs with the acquire in run()
  std::atomic<bool> stuck_{false};                   // relaxed: a hint; a writer has waited in vain
  std::atomic<bool> threaded_{false};                // relaxed: set before the first worker starts, cleared when nothing runs
  bool ended_ = false;                               // under draining_; the file has its end: nothing follows it
  Parker parker_;
  std::thread thread_;
};

}  // namespace consort

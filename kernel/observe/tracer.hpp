// The room observe: traces, reports, the log of the graph, explanations of a standstill, offsets for debuggers. It
// only reads the state of other rooms. It includes every room below; memory and api use it. Start with tracer.hpp, then
// explain.hpp.
//
// tracer.hpp — records runs of tasks, copies, the policy's expectations, waits, evictions and memory in use: into a file
// while the program runs, or the latest of them in memory.
//
// Owned by the runtime; exists only if the setting `trace` names a file or `reports` names a report. Each thread writes
// records into a ring of its own, which its state holds (observe/trace_collector.hpp). Errors never reach the caller: what
// finds no memory is counted as lost.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "observe/graph_log.hpp"
#include "observe/trace_collector.hpp"
#include "task/run_observer.hpp"

namespace consort {

struct Datum;
struct Observation;

class Tracer final : public RunObserver {
 public:
  static Result<std::unique_ptr<Tracer>> open(Observation &);  // nullptr: not requested
  ~Tracer();

  void ran(uint32_t worker, const Task &, TaskName, uint32_t impl, int64_t expected, uint64_t t0, uint64_t t1,
           consort_status, Stamps) noexcept override;
  void copied(const Datum &, uint32_t from, uint32_t to, uint64_t bytes, uint64_t t0, uint64_t t1, consort_status,
              CopyReason) noexcept override;
  void decided(TaskName, uint32_t worker, float run, uint64_t end) noexcept override;
  void fetched(TaskName, uint32_t worker, uint64_t t0, uint64_t t1) noexcept override;
  void slept(uint32_t worker, uint64_t t0, uint64_t t1) noexcept override;
  // A replica was dropped to free memory. [any]
  void evicted(const Datum &, uint32_t space, uint64_t bytes) noexcept;
  // Bytes in use in a space have changed; limit: UINT64_MAX none. [any]
  void in_use(uint32_t space, uint64_t bytes, uint64_t limit) noexcept;
  GraphLog *graph() const noexcept { return graph_.get(); }  // nullptr: not requested
  uint32_t categories() const noexcept { return categories_; }  // from the start on: consort/reports.h
  Result<void> begin();                                      // the machine and the scheduler are known now
  void close() noexcept;                                     // ends the file; called once. Precondition: nothing runs

  // -- precondition: nothing runs --
  std::string text() const;                                  // of what is kept, for reports; may throw bad_alloc
  void clear() noexcept;                                     // discards all entries

 private:
  Tracer(Observation &, std::string path, std::unique_ptr<TraceFile> streamed, std::unique_ptr<TraceFile> later, uint32_t categories);
  bool on(uint32_t category) const noexcept;
  template <class F> void write(F into) noexcept;            // calls into(ring) with a ring that this thread may write
  void name(TraceRing &, const Task &) noexcept;
  std::string scheduler() const;                             // a line, without its end; may throw
  std::string facts() const;                                 // lines of the file's beginning; may throw
  std::string ending() const;                                // lines of its end; may throw
  void write_kept(TraceFile *) const;                        // may throw

  Observation &rt_;
  const std::string path_;
  const uint32_t categories_;
  std::string scheduler_;                                    // as it was at the beginning
  const std::unique_ptr<TraceFile> later_;                   // written at the stop; nullptr: streamed, or no file
  mutable TraceCollector collector_;
  // With a stepped clock all threads share a ring: which of them pumps is not part of a run that can be repeated. So do
  // threads without a state.
  const bool shares_;
  std::mutex shared_mutex_;                                  // above those of the collector
  TraceRing *shared_ = nullptr;                              // written with that mutex
  std::atomic<uint64_t> unwritten_{0};                       // relaxed: a count; events of threads without a ring
  std::unique_ptr<GraphLog> graph_;
};

}  // namespace consort

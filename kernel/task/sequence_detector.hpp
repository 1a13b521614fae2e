// sequence_detector.hpp — finds out whether a thread submits the same sequence again and again, so that it had better be
// recorded.
//
// A sequence is what one thread submits between two waits for everything: codelets, data and their modes, numbers and
// sizes of values, priorities, workers; not the values themselves. Known by a hash, never compared. The thread's own.
#pragma once
#include <consort/consort.h>

#include <array>
#include <cstdint>

namespace consort {

struct Platform;

struct SequenceDetector {
  static constexpr uint32_t kKnown = 64;    // sequences that are remembered; the one unseen for longest goes
  static constexpr uint64_t kTell = 3;      // so often it comes back before the log says so
  struct Sequence { uint64_t hash, ntasks, times, seen; };

  uint64_t hash = 0, ntasks = 0;            // of the sequence under way
  uint64_t last_times = 0, last_ntasks = 0; // of the last that a wait ended
  std::array<Sequence, kKnown> known{};
  uint64_t clock = 0;
  bool told = false;

  void note(const consort_task_desc &) noexcept;
  void cut(const Platform &) noexcept;       // a wait for everything
};

}  // namespace consort

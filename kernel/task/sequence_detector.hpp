// sequence_detector.hpp — detects that a thread submits the same sequence repeatedly, so that recording it would pay.
//
// A sequence is what one thread submits between two waits for everything: codelets, data and their modes, numbers and
// sizes of values, priorities, workers; not the values themselves. Sequences are identified by a hash and never
// compared. Used by its thread alone.
#pragma once
#include <consort/consort.h>

#include <array>
#include <cstdint>

namespace consort {

struct Platform;

struct SequenceDetector {
  static constexpr uint32_t kKnown = 64;    // remembered sequences; the least recently seen is replaced
  static constexpr uint64_t kTell = 3;      // repetitions before the log reports it
  struct Sequence { uint64_t hash, ntasks, times, seen; };

  uint64_t hash = 0, ntasks = 0;            // of the current sequence
  uint64_t last_times = 0, last_ntasks = 0; // of the sequence that a wait ended last
  std::array<Sequence, kKnown> known{};
  uint64_t clock = 0;
  bool told = false;

  void note(const consort_task_desc &) noexcept;
  void cut(const Platform &) noexcept;       // at a wait for everything
};

}  // namespace consort

// trace_records.hpp — the records of a trace, as a thread writes them. Their layout is told in the file
// (consort/shared/trace_format.hpp: kLayouts); a test holds the two together.
#pragma once
#include <consort/shared/trace_format.hpp>

#include <bit>
#include <cstdint>

namespace consort {

static_assert(std::endian::native == std::endian::little, "a trace is written as it lies in memory");
using RecordHead = shared::trace_format::Record;

enum class RecordType : uint16_t {
  kRun = 1, kRunInTicks, kRunInNs, kCopy, kDecision, kFetch, kSleep, kEviction, kUse, kCodelet, kDatum, kTask
};

struct RunRecord {                       // a task without an estimate and without an error, shorter than 2^32 ticks
  RecordHead head;
  uint16_t worker, impl;
  uint64_t task, begin;            // ticks
  uint32_t took, codelet;
};
struct FullRunRecord {                   // kRunInTicks, kRunInNs
  RecordHead head;
  uint16_t worker, impl;
  uint64_t task, begin, end;
  uint32_t codelet;
  int32_t status;
  int64_t expected;                // ns; < 0 unknown
};
struct CopyRecord {
  RecordHead head;
  uint16_t from, to;
  uint64_t begin, end, bytes, datum;
  int32_t status;
  char reason, unused[3];
};
struct DecisionRecord {
  RecordHead head;
  uint32_t worker;
  uint64_t at, task, end;
  float run;
  uint32_t unused;
};
struct FetchRecord {
  RecordHead head;
  uint32_t worker;
  uint64_t begin, end, task;
};
struct SleepRecord {
  RecordHead head;
  uint32_t worker;
  uint64_t begin, end;
};
struct EvictionRecord {
  RecordHead head;
  uint32_t space;
  uint64_t at, datum, bytes;
};
struct UseRecord {
  RecordHead head;
  uint32_t space;
  uint64_t at, bytes, limit;       // limit 0: none
};
struct CodeletRecord {                   // its name follows, filled up with zeros
  RecordHead head;
  uint32_t number;
};
struct DatumRecord {
  RecordHead head;
  uint32_t number;                 // of its uses in records of tasks
  uint64_t datum, bytes, whole;    // whole: the datum that it is a part of; 0: none
  int32_t space;                   // -1: none, or several
  uint32_t unused;
};
struct TaskRecord {                      // ids of explicit predecessors and uses of data follow
  RecordHead head;
  uint32_t kind;
  uint64_t task, at;
  int32_t priority;
  uint32_t nuses, nafter, unused;
};

template <class T> constexpr RecordHead head_of(RecordType type, size_t more = 0) noexcept {
  static_assert(sizeof(T) % 8 == 0);
  return {static_cast<uint16_t>(type), static_cast<uint16_t>((sizeof(T) + more + 7) / 8)};
}

}  // namespace consort

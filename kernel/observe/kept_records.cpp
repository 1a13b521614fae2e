#include "observe/kept_records.hpp"

#include <cstring>
#include <new>

namespace consort {

void KeptRecords::add(uint32_t worker, const char *record, size_t bytes) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  const auto type = static_cast<RecordType>(head.type);
  const bool run = type == RecordType::kRunInTicks || type == RecordType::kRunInNs;  // in one list
  Latest &l = latest_[{run ? RecordType::kRun : type, worker}];
  l.size = bytes;
  if (l.bytes.size() / bytes < most_) {
    l.bytes.insert(l.bytes.end(), record, record + bytes);
    return;
  }
  std::memcpy(l.bytes.data() + l.next * bytes, record, bytes);
  l.next = l.next + 1 == most_ ? 0 : l.next + 1;
  ++l.lost;
}

void KeptRecords::take(const char *records, uint64_t n) noexcept {
  for (uint64_t at = 0; at < n;) {
    RecordHead head;
    std::memcpy(&head, records + at, sizeof head);
    const char *const record = records + at;
    const size_t bytes = size_t{8} * head.words;
    at += bytes;
    if (head.type == shared::trace_format::kPadding) continue;
    try {
      switch (static_cast<RecordType>(head.type)) {
        case RecordType::kCodelet: case RecordType::kDatum: facts_.insert(facts_.end(), record, record + bytes); break;
        case RecordType::kTask:
          if (ntasks_ == most_tasks_) {
            ++lost_tasks_;
            break;
          }
          tasks_.insert(tasks_.end(), record, record + bytes);
          ++ntasks_;
          break;
        case RecordType::kRun: {
          RunRecord r;
          std::memcpy(&r, record, sizeof r);
          const FullRunRecord full{head_of<FullRunRecord>(RecordType::kRunInTicks), r.worker, r.impl, r.task, r.begin, r.begin + r.took, r.codelet, 0, -1};
          add(r.worker, reinterpret_cast<const char *>(&full), sizeof full);
          break;
        }
        case RecordType::kRunInTicks: case RecordType::kRunInNs: {
          FullRunRecord r;
          std::memcpy(&r, record, sizeof r);
          add(r.worker, record, bytes);
          break;
        }
        default: add(0, record, bytes);
      }
    } catch (const std::bad_alloc &) {
      ++(head.type == static_cast<uint16_t>(RecordType::kTask) ? lost_tasks_ : lost_);
    }
  }
}

uint64_t KeptRecords::lost() const noexcept {
  uint64_t n = lost_;
  for (const auto &[kind, latest] : latest_) n += latest.lost;
  return n;
}

void KeptRecords::clear() noexcept {
  latest_.clear();
  facts_.clear();
  tasks_.clear();
  ntasks_ = lost_tasks_ = lost_ = 0;
}

}  // namespace consort

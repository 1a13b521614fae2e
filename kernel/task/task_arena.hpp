// task_arena.hpp — the records of all tasks, and overflow memory beside each record.
//
// Address ranges with one slot for each record, found by the record's number: records, extras, links, and payloads of
// two sizes. A slot belongs to the owner of the record, so taking it neither allocates nor fails. It costs nothing until
// its page is touched. The slots beside the records are in small pages: a task with many links may be one of thousands,
// and would commit a huge page.
#pragma once
#include <algorithm>

#include "task/task.hpp"

namespace consort {

class TaskArena : public Arena<Task> {
 public:
  static constexpr size_t kSmallPayload = 192, kLargePayload = 576;

  bool reserve(uint32_t slots) noexcept {
    constexpr Pages kSparse = Pages::kSmall;
    if (!Arena<Task>::reserve(slots) || !extras_.reserve(slots, kSparse) || !links_.reserve(slots, kSparse) ||
        !small_.reserve(slots, kSparse) || !large_.reserve(slots, kSparse))
      return false;
    const uint32_t least = std::min({limit(), extras_.limit(), links_.limit(), small_.limit(), large_.limit()});
    limit_to(least);
    extras_.limit_to(least);
    links_.limit_to(least);
    small_.limit_to(least);
    large_.limit_to(least);
    return true;
  }
  // Precondition: the task has none yet.
  Extra *make_extra(Task *t) const noexcept {
    t->extra = new (extras_.at(index(t))) Extra;
    t->extra->is_beside_record = true;
    return t->extra;
  }
  const Extra *extra_of(const Task *record) const noexcept { return extras_.at(index(record)); }  // its address
  LinkChunk &links(uint32_t number) const noexcept { return *links_.at(number); }
  // Memory for accesses and values beside the record. nullptr: `bytes` do not fit.
  std::byte *payload(uint32_t number, uint64_t bytes) const noexcept {
    if (bytes <= kSmallPayload) return small_.at(number)->bytes;
    return bytes <= kLargePayload ? large_.at(number)->bytes : nullptr;
  }

 private:
  template <size_t kBytes> struct alignas(64) Room { std::byte bytes[kBytes]; };
  Arena<Extra> extras_;
  Arena<LinkChunk> links_;
  Arena<Room<kSmallPayload>> small_;
  Arena<Room<kLargePayload>> large_;
};

}  // namespace consort

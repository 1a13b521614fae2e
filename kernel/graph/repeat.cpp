#include "graph/repeat.hpp"

#include <algorithm>
#include <cstring>

namespace consort {

std::unique_ptr<RepeatState> Repeats::copy(const consort_task_desc &d) noexcept try {
  auto t = std::make_unique<RepeatState>();
  t->desc = CONSORT_TASK_INIT;
  std::memcpy(&t->desc, &d, std::min<size_t>(d.size, sizeof t->desc));
  t->desc.size = sizeof t->desc;
  t->uses.assign(d.uses, d.uses + d.nuses);
  t->args.assign(d.args, d.args + d.nargs);
  size_t room = 0;
  for (const auto &a : t->args)
    if (a.kind == CONSORT_ARG_BYTES) room += a.bytes;
  t->bytes.resize(room);
  room = 0;
  for (auto &a : t->args)
    if (a.kind == CONSORT_ARG_BYTES) {
      std::memcpy(t->bytes.data() + room, reinterpret_cast<const void *>(static_cast<uintptr_t>(a.scalar)), a.bytes);
      a.scalar = reinterpret_cast<uintptr_t>(t->bytes.data() + room);
      room += a.bytes;
    }
  t->desc.uses = t->uses.data();
  t->desc.args = t->args.data();
  t->desc.after = nullptr;
  t->desc.nafter = 0;
  if (t->desc.name) t->desc.name = (t->name = t->desc.name).c_str();
  if (t->desc.more) {
    t->more = *t->desc.more;
    t->more.size = sizeof t->more;
    t->more.end_after = nullptr;
    t->more.nend_after = 0;
  } else {
    t->more = CONSORT_TASK_MORE_INIT;
  }
  t->desc.more = &t->more;
  return t;
} catch (const std::bad_alloc &) {
  return nullptr;
}

void Repeats::begin(RepeatState &t, TaskName name, consort_group_id group) noexcept {
  std::lock_guard lock(mutex_);
  t.before_now = t.first ? t.now : name;
  t.now = name;
  if (t.first) return;
  t.first = name;
  t.desc.group = group;
  t.next = all_;
  if (all_) all_->before = &t;
  all_ = &t;
}

void Repeats::forget(RepeatState *t) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (t->next) t->next->before = t->before;
    (t->before ? t->before->next : all_) = t->next;
  }
  delete t;
}

bool Repeats::again(const RepeatState &t, bool well) noexcept {
  std::lock_guard lock(mutex_);
  return well && !t.stopped;
}

TaskName Repeats::turn_of(TaskName name) noexcept {
  std::lock_guard lock(mutex_);
  for (const RepeatState *t = all_; t; t = t->next)
    if (t->first == name) return t->now;
  return name;
}

bool Repeats::stop(TaskName name) noexcept {
  std::lock_guard lock(mutex_);
  for (RepeatState *t = all_; t; t = t->next)
    if (t->first == name || t->now == name || t->before_now == name) return t->stopped = true;
  return false;
}

void Repeats::stop_all() noexcept {
  std::lock_guard lock(mutex_);
  for (RepeatState *t = all_; t; t = t->next) t->stopped = true;
}

}  // namespace consort

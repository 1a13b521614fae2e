// told.hpp — what poll() has yet to say: completions and events, in their order, in room that open() made.
//
// Each rank has one, guarded by its house. Whoever adds has made sure of room: see the budgets in inproc.hpp.
#pragma once
#include <consort/transport.h>

#include <vector>

namespace inproc {

enum class Tell : uint32_t { kSent, kReceived, kNotified, kEvent };  // kSent: all that its rank posted, but for RECV

struct Told {
  Tell kind;
  uint32_t event;  // CONSORT_EV_*; of rank done.source
  consort_done done;
};

class ToldRing {
 public:
  explicit ToldRing(size_t room) : all_(room) {}
  bool is_empty() const noexcept { return begin_ == end_; }
  const Told &front() const noexcept { return all_[begin_ % all_.size()]; }
  void pop() noexcept { ++begin_; }
  void push(const Told &t) noexcept { all_[end_++ % all_.size()] = t; }

 private:
  std::vector<Told> all_;
  uint64_t begin_ = 0, end_ = 0;
};

}  // namespace inproc

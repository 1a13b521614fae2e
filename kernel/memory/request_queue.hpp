// request_queue.hpp — the requests that are not over, and of each space those that wait for room or a way.
//
// Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "memory/request.hpp"

namespace consort {

class RequestQueue {
 public:
  RequestQueue(Memory &memory, size_t spaces) : memory_(memory), waiting_(spaces) {}

  MemoryRequest &add(const MemoryRequest &wanted, Datum &);  // with a name of its own; may throw
  // Its turn has come: it waits in its space, before those that are less urgent. May throw.
  void enlist(MemoryRequest &);
  void remove(MemoryRequest &) noexcept;  // it is over: the record goes
  void remove_all_of(const Datum &) noexcept;  // those of the datum whose turn has come
  MemoryRequest *find(uint64_t id) const noexcept;  // nullptr: there is none, or it is over
  bool was_given(uint64_t id) const noexcept { return id && id <= last_; }
  // The most urgent first. A transfer that carries a request out takes it out of here; remove() follows all the same.
  std::vector<MemoryRequest *> &waiting(uint32_t space) noexcept { return waiting_[space]; }

 private:
  Memory &memory_;
  std::map<uint64_t, std::unique_ptr<MemoryRequest>> all_;
  std::vector<std::vector<MemoryRequest *>> waiting_;  // by space
  uint64_t last_ = 0;
};

}  // namespace consort

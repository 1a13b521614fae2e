// request_queue.hpp — all unfinished requests, and for each space the ones that wait for memory or a route.
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

  MemoryRequest &add(const MemoryRequest &wanted, Datum &);  // with a new name; may throw
  // After its turn: adds it to the waiting requests of its space, before less urgent ones. May throw.
  void enlist(MemoryRequest &);
  void remove(MemoryRequest &) noexcept;  // the request has ended: destroys it
  void remove_all_of(const Datum &) noexcept;  // requests of the datum whose turn has come
  MemoryRequest *find(uint64_t id) const noexcept;  // nullptr: none, or it has ended
  bool was_given(uint64_t id) const noexcept { return id && id <= last_; }
  // The most urgent first. A transfer that carries out a request removes it from here; remove() follows nevertheless.
  std::vector<MemoryRequest *> &waiting(uint32_t space) noexcept { return waiting_[space]; }

 private:
  Memory &memory_;
  std::map<uint64_t, std::unique_ptr<MemoryRequest>> all_;
  std::vector<std::vector<MemoryRequest *>> waiting_;  // by space
  uint64_t last_ = 0;
};

}  // namespace consort

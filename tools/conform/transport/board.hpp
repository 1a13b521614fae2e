// board.hpp — the launcher's service to the ranks of a job: a shared board for addresses, and a fence.
//
// In memory shared with processes forked later, so that a rank may be one of them. Any thread of any of these processes
// may use it; waits poll.
#pragma once
#include <consort/transport.h>

#include <string>
#include <vector>

namespace conform {

class Board {
 public:
  Board();
  ~Board();
  Board(const Board &) = delete;
  Board &operator=(const Board &) = delete;

  consort_status put(uint32_t rank, const char *key, const void *value, uint32_t n);
  consort_status get(uint32_t rank, const char *key, void *value, uint32_t *n, uint64_t give_up_ns);
  consort_status fence(uint32_t nranks, uint64_t give_up_ns);
  std::vector<std::vector<unsigned char>> values() const;  // all values put so far

  static uint64_t now();  // of this machine, independent of a host's clock

 private:
  struct Note;
  struct Sheet;
  Sheet *sheet_;
};

}  // namespace conform

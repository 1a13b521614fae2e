// copies.hpp — one copy out of the memory of another process, where the system allows it (process_vm_readv).
//
// This side only reads: a peer whose rank closes, disconnects or is killed in the midst of a copy loses nothing, and this side
// drops what it has read when it finds the peer gone afterwards. So no process ever waits for another one's copy.
#pragma once
#include <sys/uio.h>
#include <unistd.h>

#include "wire.hpp"

namespace shm {

// Copies the first n bytes. False: not all could be read.
inline bool pull(pid_t from_process, const transports::Rows &to, const Shape &from, uint64_t n) noexcept {
  constexpr int kRuns = 64;
  for (uint64_t done = 0; done < n;) {
    iovec here[kRuns], there[kRuns];
    int runs = 0;
    for (uint64_t at = done; at < n && runs < kRuns; ++runs) {
      const uint64_t in_to = at % to.bytes, in_from = at % from.bytes;
      uint64_t run = n - at;
      if (run > to.bytes - in_to) run = to.bytes - in_to;
      if (run > from.bytes - in_from) run = from.bytes - in_from;
      here[runs] = {to.at + static_cast<int64_t>(at / to.bytes) * to.step + in_to, run};
      // Unsigned: the peer's numbers may wrap, and the system refuses what is no address.
      there[runs] = {reinterpret_cast<void *>(from.at + at / from.bytes * static_cast<uint64_t>(from.step) + in_from), run};
      at += run;
    }
    const ssize_t got = process_vm_readv(from_process, here, static_cast<unsigned long>(runs), there,
                                         static_cast<unsigned long>(runs), 0);
    if (got <= 0) return false;
    done += static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace shm

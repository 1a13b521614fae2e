// trace_file.hpp — writes the chunks of a trace into a file (consort/shared/trace_format.hpp), or into memory.
//
// One thread at a time. An error is kept, and what follows it is not written: a file without an end is read up to there.
#pragma once
#include <consort/shared/trace_format.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/tick_clock.hpp"

struct iovec;

namespace consort {

class TraceFile {
 public:
  explicit TraceFile(int fd);                        // owns it; < 0: into memory
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;

  void begin() noexcept;
  void lines(std::string_view text) noexcept;        // whole lines
  void events(uint32_t thread, const char *records, uint64_t bytes) noexcept;
  void point(TickClock::Point) noexcept;
  void reset() noexcept;
  void end(uint64_t lost) noexcept;
  int failed() const noexcept { return failed_; }    // errno; 0: all was written
  const std::string &memory() const noexcept { return memory_; }

 private:
  void chunk(uint32_t kind, uint32_t thread, const char *payload, uint64_t bytes, std::string_view padding = {}) noexcept;
  void write(iovec *pieces, int n) noexcept;

  const int fd_;
  const bool plain_;                                 // else a pipe, whose reader may go away
  int failed_ = 0;
  std::string memory_;
};

}  // namespace consort

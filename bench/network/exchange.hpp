// Messages between two ranks: time of one way, and bytes in a second, for each length. One source for every peer.
//
// A Line has rank(), receive(slot, p, n) and send(slot, p, n), which start a transfer, and wait(), which returns when all
// started transfers have ended. Owned by main(), one thread. Each message says which it is in its first and last bytes,
// and the receiver looks at each; the last message of each length is compared byte by byte.
#pragma once
#include "../micro/process.hpp"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <vector>

namespace network {

inline constexpr uint64_t sizes[] = {8, 64, 512, 4096, 32768, 262144, 1u << 20, 4u << 20, 16u << 20};
inline constexpr uint64_t window_bytes = 64u << 20; // of messages in flight, at most
inline constexpr unsigned max_window = 16;

inline unsigned window_of(uint64_t n) { return static_cast<unsigned>(std::clamp<uint64_t>(window_bytes / n, 1, max_window)); }

// Memory of this process, present before it is timed.
class Buffer {
public:
  explicit Buffer(uint64_t bytes) : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) std::exit(1);
    std::memset(at_, 0, bytes);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { munmap(at_, bytes_); }
  std::byte *at(uint64_t offset = 0) const { return static_cast<std::byte *>(at_) + offset; }

private:
  uint64_t bytes_;
  void *at_;
};

// Contents of message number `i` with n bytes, n at least 8.
inline void mark(std::byte *p, uint64_t n, uint64_t i) {
  std::memcpy(p, &i, sizeof i);
  std::memcpy(p + n - sizeof i, &i, sizeof i);
}
inline bool is_marked(const std::byte *p, uint64_t n, uint64_t i) {
  uint64_t first, last;
  std::memcpy(&first, p, sizeof first);
  std::memcpy(&last, p + n - sizeof last, sizeof last);
  return first == i && last == i;
}
inline void fill(std::byte *p, uint64_t n, uint32_t seed) {
  for (uint64_t k = 0; k < n; ++k) p[k] = static_cast<std::byte>((k * 31 + seed * 7 + (k >> 12)) & 255);
}
inline bool is_filled(const std::byte *p, uint64_t n, uint32_t seed) {
  for (uint64_t k = 8; k + 8 < n; ++k)
    if (p[k] != static_cast<std::byte>((k * 31 + seed * 7 + (k >> 12)) & 255)) return false;
  return true;
}

struct Result {
  uint64_t bytes = 0;
  double latency_ns = 0, bytes_per_s = 0;
};

template <class Line> class Exchange {
public:
  Exchange(Line &line, double scale) : line_(line), scale_(scale), in_(window_bytes), out_(window_bytes) {}

  unsigned wrong() const { return wrong_; }

  Result run(uint64_t n) {
    Result r{n, 0, 0};
    fill(out_.at(), n, line_.rank());
    (void)turns(n, count(200, n, 1) / 4 + 2);
    const uint64_t rounds = count(4000, n, 1);
    r.latency_ns = turns(n, rounds) / static_cast<double>(rounds) / 2;
    wrong_ += !is_filled(in_.at(), n, 1 - line_.rank());
    const unsigned w = window_of(n);
    for (unsigned i = 0; i < w; ++i) fill(out_.at(i * n), n, i);
    (void)windows(n, w, 1);
    const uint64_t reps = count(200, n, w);
    r.bytes_per_s = static_cast<double>(reps * w * n) / windows(n, w, reps) * 1e9;
    for (unsigned i = 0; i < w && line_.rank() == 1; ++i) wrong_ += !is_filled(in_.at(i * n), n, i);
    return r;
  }

private:
  // Repetitions that take some tenths of a second at most.
  uint64_t count(uint64_t most, uint64_t n, unsigned w) const {
    return static_cast<uint64_t>(scale_ * static_cast<double>(std::clamp<uint64_t>((768u << 20) / (n * w), 6, most))) + 1;
  }
  // There and back, `rounds` times: ns.
  double turns(uint64_t n, uint64_t rounds) {
    const double t0 = bench::now_ns();
    for (uint64_t i = 0; i < rounds; ++i) {
      line_.receive(0, in_.at(), n);
      if (line_.rank() == 0) {
        mark(out_.at(), n, i);
        line_.send(0, out_.at(), n);
        line_.wait();
        wrong_ += !is_marked(in_.at(), n, i);
      } else {
        line_.wait();
        wrong_ += !is_marked(in_.at(), n, i);
        mark(out_.at(), n, i);
        line_.send(0, out_.at(), n);
        line_.wait();
      }
    }
    return bench::now_ns() - t0;
  }
  // Rank 0 sends w messages at a time; rank 1 has posted receives for them, and answers when all are there: ns.
  double windows(uint64_t n, unsigned w, uint64_t reps) {
    uint64_t answer = 0;
    const double t0 = bench::now_ns();
    for (uint64_t rep = 0; rep < reps; ++rep) {
      if (line_.rank() == 0) {
        for (unsigned i = 0; i < w; ++i) {
          mark(out_.at(i * n), n, rep * w + i);
          line_.send(i, out_.at(i * n), n);
        }
        line_.receive(0, &answer, sizeof answer);
        line_.wait();
        wrong_ += answer != rep + 1;
      } else {
        for (unsigned i = 0; i < w; ++i) line_.receive(i, in_.at(i * n), n);
        line_.wait();
        for (unsigned i = 0; i < w; ++i) wrong_ += !is_marked(in_.at(i * n), n, rep * w + i);
        answer = rep + 1;
        line_.send(0, &answer, sizeof answer);
        line_.wait();
      }
    }
    return bench::now_ns() - t0;
  }

  Line &line_;
  double scale_;
  Buffer in_, out_;
  unsigned wrong_ = 0;
};

// What each program of messages is told.
struct Options {
  std::string transport = "shm", plugins, only;
  std::string address[2] = {"127.0.0.1", "127.0.0.1"}; // of the ranks
  int space = -1; // rank 1 enters this network namespace
  std::vector<std::string> settings; // of the transport: key=value
  double scale = 1;
};
inline Options options(int argc, char **argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--transport") o.transport = argv[i + 1];
    else if (key == "--plugins") o.plugins = argv[i + 1];
    else if (key == "--scale") o.scale = std::atof(argv[i + 1]);
    else if (key == "--only") o.only = std::string(",") + argv[i + 1] + ",";
    else if (key == "--namespace") o.space = std::atoi(argv[i + 1]);
    else if (key == "--addresses") {
      const std::string both = argv[i + 1];
      o.address[0] = both.substr(0, both.find(',')), o.address[1] = both.substr(both.find(',') + 1);
    } else if (key == "--set") o.settings.push_back(argv[i + 1]);
    else {
      std::fprintf(stderr, "usage: %s [--transport shm|ofi|mpi] [--plugins FOLDER] [--set KEY=VALUE] [--scale S] [--only BYTES,...]\n", argv[0]);
      std::exit(2);
    }
  }
  return o;
}

// All lengths; rank 0 prints the line of JSON. Returns the exit status.
template <class Line> int exchange(Line &line, const char *runtime, const Options &o) {
  Exchange<Line> all(line, o.scale);
  std::string rows;
  for (const uint64_t n : sizes) {
    if (!o.only.empty() && o.only.find("," + std::to_string(n) + ",") == std::string::npos) continue;
    const Result r = all.run(n);
    char row[160];
    std::snprintf(row, sizeof row, "%s{\"bytes\": %lu, \"ns\": %.1f, \"bytes_per_s\": %.4g}", rows.empty() ? "" : ", ", r.bytes, r.latency_ns,
                  r.bytes_per_s);
    rows += row;
  }
  if (all.wrong()) std::fprintf(stderr, "rank %u: %u messages are wrong\n", line.rank(), all.wrong());
  if (line.rank() == 0) std::printf("{\"runtime\": \"%s\", \"transport\": \"%s\", \"wrong\": %u, \"rows\": [%s]}\n", runtime, o.transport.c_str(), all.wrong(), rows.c_str());
  std::fflush(stdout);
  return all.wrong() != 0;
}

} // namespace network

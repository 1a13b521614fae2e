// ring.hpp — a queue of copies from and to a file, carried out by the system through one io_uring, without threads.
//
// One per queue_open, and the kernel opens one per device. The kernel calls all functions, one at a time, on any thread, so nothing
// is locked. Transfers that lack an entry or a buffer are sent inside poll(), when one is returned.
// Short transfers are continued; a piece ends when it is complete or the system reports an error.
#pragma once
#include <liburing.h>

#include <vector>

#include "../disk/ops.hpp"

namespace disk_uring {

struct Driver : disk::Driver {
  static constexpr const char *kName = "disk_uring";
  uint32_t entries = 64, buffers = 6;
  bool sqpoll = false;
  consort_status start();
};

class Queue {
 public:
  static consort_status open(disk::Device &, Queue **);
  ~Queue();  // waits for ops in flight
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  uint32_t submit(const consort_op *, uint32_t n) noexcept;
  uint32_t poll(consort_done *, uint32_t max) noexcept;
  consort_status arm() noexcept;
  int fd() const noexcept { return fd_; }

  // Tests whether the system permits io_uring. Returns 0, or the error.
  static int probe(bool sqpoll) noexcept;

 private:
  struct Transfer {  // the transfer of one piece; one ring entry at a time
    disk::Op *op;
    disk::Piece piece;
    uint64_t done;
    uint32_t buffer;  // kNone: direct from or to the memory
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  Queue(disk::Device &d, const Driver &s) : dev_(d), settings_(s), ops_(d, s.settings.depth), transfers_(s.entries) {}
  int open_ring() noexcept;
  void make_buffers();
  bool pump() noexcept;  // sends pending transfers; false: none could be sent
  bool send(Transfer &) noexcept;
  void reap() noexcept;
  void came_back(Transfer &, int result) noexcept;
  void over(Transfer &, const disk::Outcome &) noexcept;
  char *data_of(const Transfer &t) const noexcept {
    return t.buffer != kNone ? buffers_[t.buffer].get() : t.piece.memory;
  }
  void give_up(int e) noexcept;            // the ring is broken: fails all unsent transfers

  disk::Device &dev_;
  const Driver &settings_;
  disk::Ops ops_;
  io_uring ring_{};
  bool is_open_ = false, fixed_files_ = false, fixed_buffers_ = false;
  int fd_ = -1;
  std::vector<disk::Buffer> buffers_;
  std::vector<uint32_t> free_buffers_;
  std::vector<Transfer> transfers_;
  std::vector<Transfer *> free_, again_;  // again_: to be sent again
  int broken_ = 0;                        // error of the broken ring, permanent
  uint32_t unsent_ = 0;                   // entries not yet consumed by the system
};

}  // namespace disk_uring

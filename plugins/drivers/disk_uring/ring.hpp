// ring.hpp — a queue of copies from and to a file, carried out by the system through one io_uring: no thread of ours.
//
// One per queue_open, and the kernel opens one per device. All functions are the kernel's, one at a time, so nothing is
// locked; whatever thread calls. What cannot be sent for want of room or of a buffer is sent when something comes back,
// inside poll(). Short transfers are gone on with; a piece is over when all of it is, or the system says why not.
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
  ~Queue();  // waits for what is in flight
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  uint32_t submit(const consort_op *, uint32_t n) noexcept;
  uint32_t poll(consort_done *, uint32_t max) noexcept;
  consort_status arm() noexcept;
  int fd() const noexcept { return fd_; }

  // Does the system let us? 0, or the error.
  static int probe(bool sqpoll) noexcept;

 private:
  struct Transfer {  // of one piece; one entry of the ring at a time
    disk::Op *op;
    disk::Piece piece;
    uint64_t done;
    uint32_t buffer;  // kNone: straight from or to the memory
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  Queue(disk::Device &d, const Driver &s) : dev_(d), settings_(s), ops_(d, s.settings.depth), transfers_(s.entries) {}
  int open_ring() noexcept;
  void make_buffers();
  bool pump() noexcept;  // sends what can be; false: nothing was
  bool send(Transfer &) noexcept;
  void reap() noexcept;
  void came_back(Transfer &, int result) noexcept;
  void over(Transfer &, const disk::Outcome &) noexcept;
  char *data_of(const Transfer &t) const noexcept {
    return t.buffer != kNone ? buffers_[t.buffer].get() : t.piece.memory;
  }
  void give_up(int e) noexcept;            // the ring takes nothing any more: what it has not taken fails

  disk::Device &dev_;
  const Driver &settings_;
  disk::Ops ops_;
  io_uring ring_{};
  bool is_open_ = false, fixed_files_ = false, fixed_buffers_ = false;
  int fd_ = -1;
  std::vector<disk::Buffer> buffers_;
  std::vector<uint32_t> free_buffers_;
  std::vector<Transfer> transfers_;
  std::vector<Transfer *> free_, again_;  // again_: to be sent once more
  int broken_ = 0;                        // the error, from then on
  uint32_t unsent_ = 0;                   // entries that the system has not taken
};

}  // namespace disk_uring

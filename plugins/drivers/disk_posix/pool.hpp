// pool.hpp — a queue of copies from and to a file, carried out by its own threads with pread and pwrite.
//
// One per queue_open. The kernel calls submit(), poll(), arm(), one at a time; they share state with the threads under
// `mutex_`, which is not held during transfers. A large copy is divided into pieces that several threads carry out concurrently.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "../disk/ops.hpp"

namespace disk_posix {

struct Driver : disk::Driver {
  static constexpr const char *kName = "disk_posix";
  uint32_t threads = 1;
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

 private:
  explicit Queue(disk::Device &d) : dev_(d), ops_(d, d.driver.settings.depth) {}
  bool start_threads() noexcept;
  void serve() noexcept;
  disk::Outcome carry(const disk::Piece &, bool to_file, char *data) const noexcept;
  void tell() noexcept;  // mutex held: an op is complete

  disk::Device &dev_;
  int fd_ = -1;
  std::mutex mutex_;
  std::condition_variable work_;
  disk::Ops ops_;
  bool armed_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace disk_posix

#include "pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace disk_posix {

using disk::Op;
using disk::Piece;

consort_status Queue::open(disk::Device &d, Queue **out) {
  std::unique_ptr<Queue> q(new Queue(d));
  q->fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (q->fd_ < 0) return d.driver.fail(CONSORT_E_NOMEM, "no event fd for a queue: raise the limit of open files");
  if (!q->start_threads()) return d.driver.fail(CONSORT_E_NOMEM, "cannot start threads: lower `threads`");
  *out = q.release();
  return CONSORT_OK;
}

Queue::~Queue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
  }
  for (std::thread &t : threads_) t.join();
  if (fd_ >= 0) ::close(fd_);
}

// The threads block signals, which belong to the host. (A file that exceeds the limit raises one on the writing thread.)
bool Queue::start_threads() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (uint32_t i = 0; i < static_cast<Driver &>(dev_.driver).threads; ++i)
      threads_.emplace_back([this] { serve(); });
  } catch (...) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !threads_.empty();
}

uint32_t Queue::submit(const consort_op *ops, uint32_t n) noexcept {
  uint32_t i = 0;
  const std::lock_guard lock(mutex_);
  for (; i < n && ops_.has_room(); ++i) ops_.accept(ops[i]);
  if (ops_.has_over()) tell();
  if (ops_.has_waiting()) work_.notify_all();
  return i;
}

uint32_t Queue::poll(consort_done *out, uint32_t max) noexcept {
  const std::lock_guard lock(mutex_);
  return ops_.report(out, max);
}

consort_status Queue::arm() noexcept {
  const std::lock_guard lock(mutex_);
  if (ops_.has_over()) return CONSORT_E_BUSY;
  eventfd_t old;
  eventfd_read(fd_, &old);
  armed_ = true;
  return CONSORT_OK;
}

void Queue::tell() noexcept {
  if (!armed_) return;
  armed_ = false;
  eventfd_write(fd_, 1);
}

// Transfers one piece. The checksum of written bytes is recorded before the write, that of read bytes compared after the read.
disk::Outcome Queue::carry(const Piece &p, bool to_file, char *data) const noexcept {
  disk::Outcome o;
  if (to_file && (o.error = dev_.sums.record(dev_.file, p.at, data, p.bytes))) return o;
  uint64_t &done = o.done;
  while (done < p.bytes) {
    // The rest of a short transfer may be unaligned.
    const int fd = p.direct && done % disk::kBlock == 0 ? dev_.file.direct_fd() : dev_.file.fd();
    const auto at = static_cast<off_t>(p.at + done);
    const ssize_t n =
        to_file ? pwrite(fd, data + done, p.bytes - done, at) : pread(fd, data + done, p.bytes - done, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) o.error = errno;
    if (n <= 0) break;
    done += static_cast<uint64_t>(n);
  }
  if (!to_file && done == p.bytes) {
    const disk::Checked c = dev_.sums.check(dev_.file, p.at, data, p.bytes);
    o.bad = c.bad;
    if ((o.error = c.error)) done = 0;
  }
  return o;
}

void Queue::serve() noexcept {
  pthread_setname_np(pthread_self(), "consort-disk");
  disk::Buffer buffer;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || ops_.has_waiting(); });
    if (!ops_.has_waiting()) return;
    Op &op = *ops_.front();
    const Piece p = ops_.due(op);
    ops_.take(op, p);
    const bool to_file = op.pieces.to_file();
    lock.unlock();
    const disk::Outcome o =
        disk::through_memory(op, p, buffer, dev_.rules.chunk, [&](char *data) { return carry(p, to_file, data); });
    lock.lock();
    if (ops_.piece_over(op, p, o)) tell();
  }
}

}  // namespace disk_posix

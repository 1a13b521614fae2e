#include "ring.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace disk_uring {

using disk::Op;

namespace {
int set_up(uint32_t entries, bool sqpoll, io_uring *ring) noexcept {
  io_uring_params p{};
  if (sqpoll) p.flags |= IORING_SETUP_SQPOLL, p.sq_thread_idle = 100;  // ms
  return -io_uring_queue_init_params(entries, ring, &p);
}
}  // namespace

int Queue::probe(bool sqpoll) noexcept {
  io_uring ring{};
  const int e = set_up(2, sqpoll, &ring);
  if (e == 0) io_uring_queue_exit(&ring);
  return e;
}

consort_status Queue::open(disk::Device &d, Queue **out) {
  const auto &settings = static_cast<const Driver &>(d.driver);
  std::unique_ptr<Queue> q(new Queue(d, settings));
  if (const int e = q->open_ring())
    return d.driver.fail(e == ENOMEM ? CONSORT_E_NOMEM : CONSORT_E_IO, "cannot create a ring for a queue: " + disk::text_of(e));
  q->fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (q->fd_ < 0 || io_uring_register_eventfd(&q->ring_, q->fd_) < 0)
    return d.driver.fail(CONSORT_E_NOMEM, "no event fd for a queue: raise the limit of open files");
  for (Transfer &t : q->transfers_) q->free_.push_back(&t);
  q->again_.reserve(q->transfers_.size());
  q->make_buffers();
  *out = q.release();
  return CONSORT_OK;
}

int Queue::open_ring() noexcept {
  if (const int e = set_up(settings_.entries, settings_.sqpoll, &ring_)) return e;
  is_open_ = true;
  const int files[] = {dev_.file.fd(), dev_.file.direct_fd()};
  fixed_files_ = io_uring_register_files(&ring_, files, files[1] < 0 ? 1 : 2) == 0;
  return 0;
}

// Registered buffers count as the user's locked memory, which is limited; unregistered buffers serve as a fallback.
void Queue::make_buffers() {
  const uint64_t bytes = dev_.rules.chunk;
  std::vector<iovec> list;
  for (uint32_t i = 0; i < settings_.buffers; ++i) {
    buffers_.push_back(disk::buffer(bytes));
    if (!buffers_.back()) throw std::bad_alloc();
    list.push_back({buffers_.back().get(), bytes});
    free_buffers_.push_back(i);
  }
  const int e = -io_uring_register_buffers(&ring_, list.data(), static_cast<unsigned>(list.size()));
  fixed_buffers_ = e == 0;
  if (e)
    dev_.driver.log(2, "cannot register buffers: " + disk::text_of(e) +
                           " (ulimit -l, or fewer `buffers`); using unregistered ones");
}

Queue::~Queue() {
  while (is_open_ && !ops_.idle()) {
    pump();
    io_uring_cqe *cqe = nullptr;
    const int e = ops_.idle() ? 0 : -io_uring_wait_cqe(&ring_, &cqe);
    if (e && e != EINTR && e != EAGAIN) break;
    reap();
  }
  if (is_open_) {
    if (fixed_files_)
      io_uring_unregister_files(&ring_);  // the ring is destroyed later and would hold the file's disk space until then
    if (fixed_buffers_) io_uring_unregister_buffers(&ring_);
    io_uring_queue_exit(&ring_);
  }
  if (fd_ >= 0) ::close(fd_);
}

// -- in ---------------------------------------------------------------------------------------------------------------

uint32_t Queue::submit(const consort_op *ops, uint32_t n) noexcept {
  uint32_t i = 0;
  for (; i < n && ops_.has_room(); ++i) ops_.accept(ops[i]);
  pump();
  return i;
}

bool Queue::send(Transfer &t) noexcept {
  io_uring_sqe *e = io_uring_get_sqe(&ring_);
  if (!e) return false;
  // The rest of a short transfer may be unaligned.
  const bool direct = t.piece.direct && t.done % disk::kBlock == 0, buffered = t.buffer != kNone;
  const int file = fixed_files_ ? direct : direct ? dev_.file.direct_fd() : dev_.file.fd();
  char *const data = data_of(t) + t.done;
  const auto bytes = static_cast<unsigned>(t.piece.bytes - t.done);
  const uint64_t at = t.piece.at + t.done;
  if (buffered && fixed_buffers_) {
    if (t.op->pieces.to_file())
      io_uring_prep_write_fixed(e, file, data, bytes, at, static_cast<int>(t.buffer));
    else
      io_uring_prep_read_fixed(e, file, data, bytes, at, static_cast<int>(t.buffer));
  } else {
    if (t.op->pieces.to_file())
      io_uring_prep_write(e, file, data, bytes, at);
    else
      io_uring_prep_read(e, file, data, bytes, at);
  }
  if (fixed_files_) e->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data(e, &t);
  ++unsent_;
  return true;
}

void Queue::give_up(int e) noexcept {
  broken_ = e;
  unsent_ = 0;
  const unsigned first = __atomic_load_n(ring_.sq.khead, __ATOMIC_ACQUIRE);  // pairs with the system's release of consumed entries
  for (unsigned i = first; i != ring_.sq.sqe_tail; ++i)
    came_back(*reinterpret_cast<Transfer *>(ring_.sq.sqes[i & *ring_.sq.kring_mask].user_data), -e);
}

bool Queue::pump() noexcept {
  if (broken_) {
    for (; !again_.empty(); again_.pop_back()) came_back(*again_.back(), -broken_);
    while (Op *op = ops_.front()) {
      const disk::Piece p = ops_.due(*op);
      ops_.take(*op, p);
      ops_.piece_over(*op, p, {0, broken_, {}});
    }
    return false;
  }
  while (!again_.empty() && send(*again_.back())) again_.pop_back();
  while (Op *op = again_.empty() && !free_.empty() ? ops_.front() : nullptr) {
    const disk::Piece p = ops_.due(*op);
    if (io_uring_sq_space_left(&ring_) == 0 || (!p.memory && free_buffers_.empty())) break;  // retried when one is returned
    ops_.take(*op, p);
    Transfer &t = *free_.back();
    free_.pop_back();
    t = {op, p, 0, kNone};
    if (!p.memory) {
      t.buffer = free_buffers_.back();
      free_buffers_.pop_back();
      if (op->pieces.to_file()) op->pieces.gather(t.piece, buffers_[t.buffer].get());
    }
    if (const int e = op->pieces.to_file() ? dev_.sums.record(dev_.file, p.at, data_of(t), p.bytes) : 0) {
      over(t, {0, e, {}});
      continue;
    }
    send(t);  // cannot fail: space was checked
  }
  if (!unsent_) return false;
  const int n = io_uring_submit(&ring_);
  if (n < 0 && n != -EAGAIN && n != -EBUSY && n != -EINTR) {  // these are retried by the next call
    give_up(-n);
    return pump();
  }
  if (n > 0) unsent_ -= static_cast<uint32_t>(n) < unsent_ ? static_cast<uint32_t>(n) : unsent_;
  return n > 0;
}

// -- out --------------------------------------------------------------------------------------------------------------

void Queue::came_back(Transfer &t, int result) noexcept {
  disk::Outcome o;
  if (result > 0) {
    t.done += static_cast<uint64_t>(result);
    if (t.done < t.piece.bytes) return again_.push_back(&t);
  } else if (result == -EINTR || result == -EAGAIN || result == -ECANCELED) {  // its submitting thread may have ended
    return again_.push_back(&t);
  } else {
    o.error = -result;
  }
  o.done = t.done;
  if (o.done == t.piece.bytes && !t.op->pieces.to_file()) {
    const disk::Checked c = dev_.sums.check(dev_.file, t.piece.at, data_of(t), t.piece.bytes);
    o.bad = c.bad;
    if ((o.error = c.error)) o.done = 0;
    if (t.buffer != kNone && c.good()) t.op->pieces.scatter(t.piece, buffers_[t.buffer].get());
  }
  over(t, o);
}

void Queue::over(Transfer &t, const disk::Outcome &o) noexcept {
  if (t.buffer != kNone) free_buffers_.push_back(t.buffer);
  ops_.piece_over(*t.op, t.piece, o);
  free_.push_back(&t);
}

void Queue::reap() noexcept {
  io_uring_cqe *some[32];
  while (const unsigned n = io_uring_peek_batch_cqe(&ring_, some, 32)) {
    for (unsigned i = 0; i < n; ++i) {
      auto *t = static_cast<Transfer *>(io_uring_cqe_get_data(some[i]));
      came_back(*t, some[i]->res);
    }
    io_uring_cq_advance(&ring_, n);
  }
}

uint32_t Queue::poll(consort_done *out, uint32_t max) noexcept {
  reap();
  pump();
  return ops_.report(out, max);
}

consort_status Queue::arm() noexcept {
  eventfd_t old;
  eventfd_read(fd_, &old);  // cleared before the test: later completions signal it again
  if (ops_.has_over() || io_uring_cq_ready(&ring_) > 0) return CONSORT_E_BUSY;
  return unsent_ && !pump() ? CONSORT_E_BUSY : CONSORT_OK;
}

}  // namespace disk_uring

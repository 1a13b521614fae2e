// Sockets: frames and the bytes behind them, as far as a socket takes and gives them.
#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>

#include "sockets.hpp"

namespace sockets {

// -- out --------------------------------------------------------------------------------------------------------------

// There is always a place: each kind of frame has a budget, see connect(). A peer that makes this rank answer more is lost.
void Sockets::queue(uint32_t rank, Frame f, uint32_t op) noexcept {
  Link &l = links_[rank];
  if (l.out_count == l.out.size()) return;
  l.out[(l.out_first + l.out_count++) % l.out.size()] = {f, op};
}

// Takes what is to be written next. False: nothing is.
bool Sockets::next_frame(Link &l) noexcept {
  Writing &w = l.writing;
  Frame f;
  if (l.out_count) {
    const Out &next = l.out[l.out_first];
    l.out_first = (l.out_first + 1) % l.out.size(), --l.out_count;
    f = next.f;
    w.op = next.op, w.is_data = false;
  } else if (l.ready_count) {
    w.op = l.ready[l.ready_first], w.is_data = true;
    l.ready_first = (l.ready_first + 1) % l.ready.size(), --l.ready_count;
    const Op &op = ops_[w.op];
    f.kind = Frame::kData, f.other = op.receive, f.bytes = std::min<uint64_t>(op.total - op.done, kPart);
  } else {
    return false;
  }
  f.freed = l.freed_told = l.freed;
  encode(f, w.head);
  w.body = w.op == kNone ? nullptr : bytes_of(ops_[w.op].m) + (w.is_data ? ops_[w.op].done : 0);
  w.bytes = kFrameBytes + (w.op == kNone ? 0 : f.bytes);
  w.done = 0, w.is_begun = true;
  return true;
}

void Sockets::written(uint32_t rank) noexcept {
  Link &l = links_[rank];
  Writing &w = l.writing;
  w.is_begun = false;
  if (w.op == kNone) return;
  Op &op = ops_[w.op];
  if (w.is_data) op.done += w.bytes - kFrameBytes;
  if (!w.is_data || op.done == op.total) return end_op(op, CONSORT_OK, op.m.bytes);
  l.ready[(l.ready_first + l.ready_count++) % l.ready.size()] = w.op;
}

void Sockets::write_some(uint32_t rank) noexcept {
  Link &l = links_[rank];
  bool is_full = false;
  const auto put = [&](iovec *parts, int n) -> uint64_t {
    msghdr m{};
    m.msg_iov = parts, m.msg_iovlen = static_cast<size_t>(n);
    const ssize_t sent = ::sendmsg(l.fd.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    is_full = sent < 0;  // also of a broken connection, whose end is read
    return sent < 0 ? 0 : static_cast<uint64_t>(sent);
  };
  while (l.fd && !is_full && l.greeting_sent < l.greeting_bytes) {
    iovec part{l.greeting + l.greeting_sent, l.greeting_bytes - l.greeting_sent};
    l.greeting_sent += static_cast<uint32_t>(put(&part, 1));
  }
  for (uint64_t most = 4 << 20; l.state == State::kUp && !is_full && most && (l.writing.is_begun || next_frame(l));) {
    Writing &w = l.writing;
    const uint64_t head = w.done < kFrameBytes ? kFrameBytes - w.done : 0, in_body = w.done > kFrameBytes ? w.done - kFrameBytes : 0;
    iovec parts[2] = {{w.head + w.done, head}, {const_cast<char *>(w.body) + in_body, w.bytes - kFrameBytes - in_body}};
    const bool has_body = parts[1].iov_len != 0;
    const uint64_t n = head ? put(parts, has_body ? 2 : 1) : put(parts + 1, 1);
    w.done += n, most -= std::min(most, n);
    if (w.done == w.bytes) written(rank);
  }
  const bool has_more = l.fd && (l.greeting_sent < l.greeting_bytes || l.writing.is_begun || (l.state == State::kUp && (l.out_count || l.ready_count)));
  if (l.fd && has_more != l.watches_output) watch(l.fd, has_more ? EPOLLIN | EPOLLOUT : EPOLLIN, rank), l.watches_output = has_more;
}

// -- in ---------------------------------------------------------------------------------------------------------------

// The frame is read: where do its bytes go? False: the peer breaks the protocol.
bool Sockets::begin_body(uint32_t rank) noexcept {
  Reading &in = links_[rank].reading;
  in.left = 0;
  if (in.f.kind == Frame::kMessage) {
    in.to = in.body, in.left = in.f.bytes;
  } else if (in.f.kind == Frame::kData) {
    const Fetch *const f = fetch_of(in.f.other, rank);
    if (!f || in.f.bytes > f->total - f->done) return false;
    in.to = bytes_of(f->m) + f->done, in.left = in.f.bytes;
  }
  return true;
}

void Sockets::read_some(uint32_t rank) noexcept {
  Link &l = links_[rank];
  while (l.fd && l.state == State::kWanted && hear_greeting(rank)) {}
  Reading &in = l.reading;
  bool has_frame = in.left != 0;
  for (int reads = 0; l.state == State::kUp;) {
    if (has_frame && in.left && in.begin < in.end) {
      const auto n = static_cast<uint32_t>(std::min<uint64_t>(in.left, in.end - in.begin));
      std::memcpy(in.to, in.buffer.get() + in.begin, n);
      in.begin += n, in.to += n, in.left -= n;
    }
    if (has_frame && !in.left) {
      has_frame = false;
      if (!hear(rank, in.f)) return complain(rank, "breaks the protocol; it is treated as lost"), lose(rank, true);
      continue;
    }
    if (!has_frame && in.end - in.begin >= kFrameBytes) {
      if (!decode(in.buffer.get() + in.begin, &in.f)) return complain(rank, "breaks the protocol; it is treated as lost"), lose(rank, true);
      in.begin += kFrameBytes;
      if (!begin_body(rank)) return complain(rank, "sends data that no receive wants; it is treated as lost"), lose(rank, true);
      has_frame = true;
      continue;
    }
    if (++reads > 64) return;  // others wait; the rest is still in the socket
    ssize_t n;
    if (has_frame && in.left >= kInBuffer) {  // straight to its place
      n = ::recv(l.fd.get(), in.to, in.left, 0);
      if (n > 0) in.to += n, in.left -= static_cast<uint64_t>(n);
    } else {
      std::memmove(in.buffer.get(), in.buffer.get() + in.begin, in.end - in.begin);
      in.end -= in.begin, in.begin = 0;
      n = ::recv(l.fd.get(), in.buffer.get() + in.end, kInBuffer - in.end, 0);
      if (n > 0) in.end += static_cast<uint32_t>(n);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return lose(rank, true);
  }
}

}  // namespace sockets

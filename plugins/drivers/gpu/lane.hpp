// lane.hpp — the vendor's side of one queue. A unit's queue is one stream. The copy queue has one stream per direction, so that
// directions do not wait for each other, and reports no order.
//
// Part of a streams::Queue, which states the threading rules. Marks are counted events. Of launches that are submitted together, only the
// last is marked: recording an event costs a third of a launch.
#pragma once
#include "../streams/copy_shapes.hpp"
#include "device.hpp"
#include "libraries.hpp"

namespace gpu {

// An op that launches a graph, whose address is in u.launch.code. The ABI has no such op; the value lets the queue's own
// machinery (tickets, events, device loss) handle it.
constexpr uint16_t kGraphOp = 0xff01;

template <class V>
struct Capture;

template <class V>
class Lane {
 public:
  using Device = gpu::Device<V>;
  using Mark = Event<V> *;
  using Issued = streams::Issued<Mark>;
  struct Session : Current<V> {
    explicit Session(Lane &l) noexcept : Current<V>(l.dev_) {}
  };

  explicit Lane(Device &d) : dev_(d), api_(d.api) {}
  ~Lane();
  Lane(const Lane &) = delete;
  Lane &operator=(const Lane &) = delete;

  consort_status open(uint32_t unit);
  consort_status open_streams();  // when the device has its context
  bool in_order() const noexcept { return in_order_; }
  bool blocks(const consort_op &op) const noexcept;
  void issue(const consort_op &, Issued &) noexcept;
  void flush() noexcept {}
  streams::State state(Mark, consort_status *, std::string *why) noexcept;
  bool call_back(Mark, streams::WakeFd *) noexcept;
  void times(Mark first, Mark last, uint64_t seen, consort_done *) noexcept;
  void keep(Mark m) const noexcept { dev_.events.keep(m); }
  void drop(Mark m) const noexcept { dev_.events.drop(m); }

  // in capture.hpp; [queue]
  consort_status begin_capture();
  bool is_captured() const noexcept { return capture_ != nullptr; }
  void capture(const consort_op &, uint64_t own_token) noexcept;
  consort_status end_capture(uint64_t *out);

  // For a host function on its own thread: returns the library's handle on this stream.
  consort_status handle(const OpenLibrary &, void **out, std::string *why);

 private:
  enum Direction { kMain, kIn = kMain,  kOut, kWithin, kAcross, kDirections };
  struct Channel {
    typename V::Stream stream{}, waker{};  // waker: stream on which a callback waits for a mark; created by the first arm()
  };

  Direction direction_of(const consort_op &) const noexcept;
  int give(const consort_op &, typename V::Stream, Issued &);  // the op's commands, without its mark
  int copy(const consort_copy &, typename V::Stream, Issued &);
  int fill(const consort_fill &, typename V::Stream, Issued &);
  int launch(const consort_launch &, typename V::Stream, Issued &);
  int memory(const consort_op &, typename V::Stream, Issued &);
  int launch_graph(uint64_t name, typename V::Stream, Issued &);
  void drop_capture() noexcept;
  int record(bool timed, typename V::Stream, Mark *out) noexcept;
  void refuse(Issued &out, consort_status s, std::string words) const {
    out.status = s;
    out.why = std::move(words);
  }

  Device &dev_;
  const V &api_;
  bool in_order_ = true;
  std::unique_ptr<Capture<V>> capture_;
  Channel channels_[kDirections];
  Handles handles_;
};

template <class V>
consort_status Lane<V>::open(uint32_t unit) {
  in_order_ = unit != CONSORT_NONE;
  return dev_.is_asleep() ? CONSORT_OK : open_streams();
}

template <class V>
consort_status Lane<V>::open_streams() {
  const Current<V> current(dev_);
  if (const int e = current.error()) return dev_.failed(e, "cannot make its context current");
  // Copies have the highest priority, because tasks wait for them.
  const int priority = in_order_ ? dev_.driver.settings.priority : api_.greatest_priority();
  for (int w = 0; w < (in_order_ ? 1 : kDirections); ++w)
    if (const int e = api_.stream_create(&channels_[w].stream, priority)) return dev_.failed(e, "cannot create a stream for a queue");
  if (in_order_) dev_.enlist(channels_[kMain].stream, this);
  return CONSORT_OK;
}

template <class V>
Lane<V>::~Lane() {
  if (!dev_.entered) return;
  if (in_order_) dev_.enlist(channels_[kMain].stream, nullptr);
  const Current<V> current(dev_, true);
  if (current.error()) return;
  handles_.destroy();
  if (capture_) drop_capture();
  for (Channel &r : channels_)
    for (auto s : {r.waker, r.stream})
      if (s) api_.stream_destroy(s);
}

template <class V>
consort_status Lane<V>::handle(const OpenLibrary &library, void **out, std::string *why) {
  const Current<V> current(dev_);  // usually a no-op: the function may have changed it
  if (const int e = current.error()) {
    *why = std::string("library \"") + library.known->name + "\": cannot make the device's context current: " + api_.words(e);
    return V::status_of(e);
  }
  return handles_.take(library, channels_[kMain].stream, out, why);
}

template <class V>
typename Lane<V>::Direction Lane<V>::direction_of(const consort_op &op) const noexcept {
  if (in_order_) return kMain;
  if (op.kind != CONSORT_OP_COPY) return kWithin;
  const bool from = dev_.owns(op.u.copy.src_space), to = dev_.owns(op.u.copy.dst_space);
  if (from && to) return kWithin;
  if (from) return dev_.owner_of(op.u.copy.dst_space) ? kAcross : kOut;
  return kIn;
}

// True for host functions, and for copies of pageable host memory, which the vendor's library performs on this thread.
template <class V>
bool Lane<V>::blocks(const consort_op &op) const noexcept {
  if (op.kind == CONSORT_OP_CALL) return !(op.flags & CONSORT_OPF_ENQUEUE);
  if (op.kind != CONSORT_OP_COPY) return false;
  const consort_copy &c = op.u.copy;
  const bool from = dev_.owns(c.src_space), to = dev_.owns(c.dst_space);
  if (from == to) return false;
  if (from && dev_.owner_of(c.dst_space)) return false;
  const consort_addr &host = from ? c.dst : c.src;
  return !api_.is_pinned(host.base + host.off);
}

template <class V>
int Lane<V>::record(bool timed, typename V::Stream stream, Mark *out) noexcept {
  int e = 0;
  Mark m = dev_.events.take(timed, &e);
  if (m) {
    m->stream = stream;
    e = api_.event_record(m->native, stream);
    if (!e) return *out = m, 0;
    dev_.events.drop(m);
  }
  // Without an event the host waits: rare, and slow.
  return api_.stream_sync(stream);
}

template <class V>
void Lane<V>::issue(const consort_op &op, Issued &out) noexcept {
  const auto stream = channels_[direction_of(op)].stream;
  int e = 0;
  for (Mark m : out.wait) {
    if (!e && m->stream != stream && !m->over.load(std::memory_order_relaxed)) e = api_.stream_wait(stream, m->native);
    dev_.events.drop(m);
  }
  out.wait.clear();
  if (!e && out.time) e = record(true, stream, &out.first);
  if (!e) try {
      e = give(op, stream, out);
    } catch (const std::bad_alloc &) {
      out.status = CONSORT_E_NOMEM;
    }
  // A copy gets its own mark; a launch in a row of launches does not.
  if (!e && out.more && in_order_ && !out.time && op.kind != CONSORT_OP_COPY) {
    out.unmarked = true;
    return;
  }
  const int marked = V::means_lost(e) ? 0 : record(out.time, stream, &out.last);
  if (!e) e = marked;
  if (!e) return;
  out.lost = V::means_lost(e);
  if (out.status == CONSORT_OK) out.status = V::status_of(e);
  if (out.why.empty()) try {
      out.why = "an op was refused: " + api_.words(e);
    } catch (const std::bad_alloc &) {  // no text without memory
    }
}

template <class V>
int Lane<V>::give(const consort_op &op, typename V::Stream stream, Issued &out) {
  switch (op.kind) {
    case CONSORT_OP_COPY: return copy(op.u.copy, stream, out);
    case CONSORT_OP_FILL: return fill(op.u.fill, stream, out);
    case CONSORT_OP_LAUNCH: return launch(op.u.launch, stream, out);
    case CONSORT_OP_ALLOC:
    case CONSORT_OP_FREE: return memory(op, stream, out);
    case CONSORT_OP_MARK: return 0;
    case kGraphOp: return launch_graph(op.u.launch.code, stream, out);
    case CONSORT_OP_CALL: {
      consort_call *call = op.u.call.call;
      call->native_queue = stream;
      call->native_context = api_.native_context(dev_.handle);
      out.status = op.u.call.fn(call);
      return 0;
    }
    default: refuse(out, CONSORT_E_UNSUPPORTED, "ops of kind " + std::to_string(op.kind) + " are not supported"); return 0;
  }
}

template <class V>
streams::State Lane<V>::state(Mark m, consort_status *status, std::string *why) noexcept {
  if (m->over.load(std::memory_order_relaxed)) return streams::State::kComplete;
  const int e = api_.event_query(m->native);
  if (e == V::kNotReady) return streams::State::kPending;
  if (!e) {
    m->over.store(true, std::memory_order_relaxed);
    return streams::State::kComplete;
  }
  *status = V::means_lost(e) ? CONSORT_E_DEVICE_LOST : CONSORT_E_IO;
  try {
    *why = "a pending operation failed: " + api_.words(e);
  } catch (const std::bad_alloc &) {  // no text without memory
  }
  return V::means_lost(e) ? streams::State::kLost : streams::State::kComplete;
}

// The callback waits on a separate stream: on the op's stream it would run after all later ops.
template <class V>
bool Lane<V>::call_back(Mark m, streams::WakeFd *wake) noexcept {
  const Current<V> current(dev_);
  if (current.error()) return false;
  for (Channel &r : channels_) {
    if (!r.stream || r.stream != m->stream) continue;
    if (!r.waker && api_.stream_create(&r.waker, api_.greatest_priority())) return false;
    return !api_.stream_wait(r.waker, m->native) && !api_.callback(r.waker, streams::WakeFd::signal_and_release, wake);
  }
  return false;
}

template <class V>
void Lane<V>::times(Mark first, Mark last, uint64_t seen, consort_done *out) noexcept {
  if (!first->timed || !last->timed || first == last) return;
  const Current<V> current(dev_);
  float ms = 0;
  if (current.error() || api_.elapsed(&ms, first->native, last->native)) return;
  const uint64_t known = dev_.time_of(last->native), now = dev_.host->now(dev_.host), end = known ? known : now;
  if (ms < 0) return;
  const auto took = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(ms) * 1e6));
  // Both times lie between the op's submission and now.
  out->t1 = std::clamp(end, std::min(seen + took, now), now);
  out->t0 = std::max(seen, out->t1 > took ? out->t1 - took : 0);
}

}  // namespace gpu

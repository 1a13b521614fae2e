#include "conform/driver/queue.hpp"

#include <unistd.h>

#include <cstring>

namespace conform {

consort_op op_of(uint16_t kind) {
  consort_op o{};
  o.kind = kind;
  o.codelet = o.impl = CONSORT_NONE;
  return o;
}

consort_op copy_op(const consort_copy &c) {
  consort_op o = op_of(CONSORT_OP_COPY);
  o.u.copy = c;
  return o;
}

DeviceQueue::DeviceQueue(Devices &devices, uint32_t device, uint32_t unit)
    : devices_(devices), t_(devices.trial()), ops_(devices.ops()), token_(devices.next_token()),
      base_(token_ << 32 | 0xC00C1E00u) {
  desc_.size = sizeof desc_;
  if (unit == CONSORT_NONE) t_.doing("queue_open of device %u for copies", device);
  else t_.doing("queue_open of device %u for unit %u", device, unit);
  devices.plugin().host().forget_failure();
  const consort_status s = ops_.queue_open(devices.all()[device].handle, unit, token_, &desc_, &q_);
  t_.need(s >= 0, "queue_open answers %d: %s", s, devices.plugin().host().failure().c_str());
  devices_.opened(this);
}

DeviceQueue::~DeviceQueue() {
  try {
    if (!is_forgotten_ && !t_.failed()) wait();
  } catch (const Stop &) {                       // reported before
  }
  devices_.closed(this);
  t_.doing("queue_close");
  ops_.queue_close(q_);
}

uint64_t DeviceQueue::next_event() const { return ops_.next_event ? ops_.next_event(q_) : CONSORT_NEVER; }

uint32_t DeviceQueue::submit(const consort_op *given, uint32_t n) {
  size_t waits = 0;
  for (uint32_t i = 0; i < n; ++i) waits += given[i].nwait;
  auto *const ops = static_cast<consort_op *>(lent_.lend(n * sizeof(consort_op) + waits * sizeof(consort_ticket) + 1));
  auto *tickets = reinterpret_cast<consort_ticket *>(ops + n);
  const uint64_t now = devices_.plugin().host().now();
  for (uint32_t i = 0; i < n; ++i) {
    std::memcpy(static_cast<void *>(&ops[i]), &given[i], sizeof ops[i]);
    ops[i].cookie = base_ + book_.size() + i;
    ops[i].wait = given[i].nwait ? tickets : nullptr;
    for (uint32_t k = 0; k < given[i].nwait; ++k) *tickets++ = given[i].wait[k];
  }
  uint32_t accepted;
  {
    const Inside inside(Tag::kQueue, "submit");
    accepted = ops_.submit(q_, ops, n);
  }
  for (uint32_t i = 0; i < n; ++i)
    t_.check(ops[i].cookie == base_ + book_.size() + i && ops[i].kind == given[i].kind, "submit changed op %u of those it was given", i);
  lent_.close();
  if (!t_.check(accepted <= n, "submit of %u ops answers %u", n, accepted)) accepted = n;
  for (uint32_t i = 0; i < accepted; ++i) book_.push_back({given[i].kind, false, now, 0, {}});
  return accepted;
}

void DeviceQueue::take(const consort_done &done) {
  const uint64_t entry = done.cookie - base_;
  if (entry >= book_.size()) {
    t_.check(false, "a completion has cookie 0x%llx, which no accepted op has", static_cast<unsigned long long>(done.cookie));
    return;
  }
  Entry &e = book_[entry];
  if (!t_.check(!e.is_over, "op %llu is reported again", static_cast<unsigned long long>(entry))) return;
  t_.check(!is_in_order() || entry == over_, "the queue says that it is in order, and reports op %llu before op %zu",
           static_cast<unsigned long long>(entry), over_);
  e.is_over = true;
  e.done = done;
  e.told_ns = devices_.plugin().host().now();
  order_.push_back(entry);
  ++over_;
}

uint32_t DeviceQueue::poll(uint32_t max) {
  consort_done guard;
  std::memset(static_cast<void *>(&guard), 0xA5, sizeof guard);
  std::vector<consort_done> out(max + 1, guard);
  uint32_t n;
  {
    const Inside inside(Tag::kQueue, "poll");
    n = ops_.poll(q_, out.data(), max);
  }
  t_.check(!std::memcmp(&out[max], &guard, sizeof guard), "poll wrote behind the %u places that it was given", max);
  if (!t_.check(n <= max, "poll answers %u where at most %u were asked for", n, max)) n = max;
  for (uint32_t i = 0; i < n; ++i) take(out[i]);
  if (!(ops_.flags & CONSORT_DRV_PUSH)) return n;
  const auto pushed = devices_.plugin().host().completions();
  for (; pushed_ < pushed.size(); ++pushed_)
    if (pushed[pushed_].token == token_) take(pushed[pushed_].done), ++n;
  return n;
}

void DeviceQueue::rest(uint64_t *idle) {
  if (devices_.plugin().host().is_virtual()) {
    t_.need(devices_.step_clock() || ++*idle < 100, "%zu ops are in flight, poll reports none, and next_event says that nothing will happen",
            in_flight());
    t_.need(++*idle < 1'000'000, "%zu ops are in flight, and a million events bring no completion", in_flight());
  } else if (++*idle < 200) {
    if (*idle > 8) usleep(1);                    // sched_yield() would cost a thread of low priority its turn among busy ones
  } else {
    usleep(*idle < 2000 ? 20 : 500);             // leaves the core to other processes
    t_.need(*idle < 16'000, "%zu ops are in flight, and for 8 s none was reported", in_flight());
  }
}

size_t DeviceQueue::send(const consort_op &op) {
  for (uint64_t idle = 0, refused = 0; submit(&op, 1) == 0;) {
    if (t_.failed()) throw Stop{};
    t_.need(in_flight() || ++refused < 1000, "submit accepts nothing, again and again, though nothing is in flight");
    if (poll()) idle = 0;
    else if (in_flight()) rest(&idle);
  }
  return book_.size() - 1;
}

size_t DeviceQueue::send_by(const consort_op &given, const std::function<consort_status(const consort_op *)> &call) {
  for (uint64_t idle = 0, refused = 0;;) {
    consort_op op = given;
    op.cookie = base_ + book_.size();
    const uint64_t now = devices_.plugin().host().now();
    consort_status s;
    {
      const Inside inside(Tag::kQueue, "launch");
      s = call(&op);
    }
    std::memset(static_cast<void *>(&op), 0xA5, sizeof op);  // it must not be read any more
    t_.need(s >= 0, "a launch answers %d: %s", s, devices_.plugin().host().failure().c_str());
    if (s != CONSORT_AGAIN) {
      book_.push_back({given.kind, false, now, 0, {}});
      return book_.size() - 1;
    }
    t_.need(in_flight() || ++refused < 1000, "a launch finds no room, again and again, though nothing is in flight");
    if (poll()) idle = 0;
    else if (in_flight()) rest(&idle);
  }
}

void DeviceQueue::wait() {
  t_.doing("poll, until %zu ops in flight are reported", in_flight());
  for (uint64_t idle = 0; in_flight() && !t_.failed();)
    if (poll()) idle = 0;
    else rest(&idle);
  if (t_.failed()) throw Stop{};
}

consort_status DeviceQueue::run(const consort_op &op) {
  const size_t entry = send(op);
  wait();
  return book_[entry].done.status;
}

}  // namespace conform

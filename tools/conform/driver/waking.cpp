// A thread that sleeps on a queue's descriptor is woken by a completion, and by nothing else.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

bool is_readable(int fd, int ms) {
  pollfd f{fd, POLLIN, 0};
  return poll(&f, 1, ms) > 0;
}

void need_fd(Trial &t, const Devices &devices) {
  if (!(devices.ops().flags & CONSORT_DRV_FD)) t.skip("it does not say CONSORT_DRV_FD");
  t.need(devices.ops().event_fd && devices.ops().arm, "it says CONSORT_DRV_FD and has no event_fd or no arm");
}

int fd_of(Trial &t, const Devices &devices, const DeviceQueue &q) {
  const int fd = devices.ops().event_fd(q.raw());
  t.need(fd >= 0, "it says CONSORT_DRV_FD, and event_fd answers %d", fd);
  return fd;
}

consort_status arm(Devices &devices, DeviceQueue &q) {
  const Inside inside(Tag::kQueue, "arm");
  return devices.ops().arm(q.raw());
}

// As the kernel does it: poll, arm, poll again if arm() says so, sleep.
void sleep_until_empty(Trial &t, Devices &devices, DeviceQueue &q, int fd) {
  for (uint64_t busy = 0; q.in_flight() && !t.failed();) {
    if (q.poll()) {
      busy = 0;
      continue;
    }
    const consort_status s = arm(devices, q);
    t.need(s == CONSORT_OK || s == CONSORT_E_BUSY, "arm answers %d; it is OK or %d (E_BUSY)", s, CONSORT_E_BUSY);
    if (s == CONSORT_E_BUSY) {
      if (++busy > 100) usleep(100);
      t.need(busy < 100'000, "arm answers E_BUSY again and again, and poll reports nothing");
      continue;
    }
    t.doing("sleep on the descriptor after arm() said OK, %zu ops in flight", q.in_flight());
    if (is_readable(fd, 10'000)) continue;
    const uint32_t late = q.poll();
    t.need(late == 0, "arm() said OK, then nothing woke us for 10 s, though %u completions were there", late);
    t.need(false, "%zu ops are in flight, and nothing came for 10 s", q.in_flight());
  }
}

}  // namespace

CONFORM_CASE(D, 32, threads, no_completion_is_slept_through) {
  Plugin p(t);
  Devices devices(t, p);
  need_fd(t, devices);
  for (uint32_t d = 0; d < devices.all().size() && d < 3; ++d) {
    DeviceQueue q(devices, d);
    const int fd = fd_of(t, devices, q);
    for (uint64_t round = t.scaled(400, 8000); round > 0 && t.has_time() && !t.failed(); --round) {
      const std::vector<consort_op> marks(1 + t.random().below(3), op_of(CONSORT_OP_MARK));
      q.submit(marks.data(), static_cast<uint32_t>(marks.size()));
      // the completion comes before or after arm()
      for (uint64_t spin = t.random().below(400); spin > 0; --spin) asm volatile("");
      sleep_until_empty(t, devices, q, fd);
    }
  }
}

CONFORM_CASE(D, 32, threads, no_copy_is_slept_through) {
  Plugin p(t);
  Devices devices(t, p);
  need_fd(t, devices);
  for (const Devices::Link &l : devices.some_links(t.scaled(3, 8))) {
    DeviceQueue q(devices, l.device);
    const int fd = fd_of(t, devices, q);
    const uint64_t n = std::min(devices.spaces()[l.src].desc.capacity, devices.spaces()[l.dst].desc.capacity) / 16;
    Store src(devices, l.src, std::min<uint64_t>(n, 200'000)), dst(devices, l.dst, src.bytes());
    for (uint64_t round = t.scaled(60, 1000); round > 0 && t.has_time() && !t.failed(); --round) {
      const consort_copy c = random_copy(t.random(), l, src, dst, true);
      apply(c, src, dst);
      q.send(copy_op(c));
      for (uint64_t spin = t.random().below(20'000); spin > 0; --spin) asm volatile("");
      sleep_until_empty(t, devices, q, fd);
    }
    dst.holds("copies whose ends were slept for");
  }
}

CONFORM_CASE(D, 33, threads, says_when_something_is_done) {
  Plugin p(t);
  Devices devices(t, p);
  need_fd(t, devices);
  for (uint32_t d = 0; d < devices.all().size() && d < 3; ++d) {
    DeviceQueue q(devices, d);
    fd_of(t, devices, q);
    for (int round = 0; round < 20 && !t.failed(); ++round) {
      q.send(op_of(CONSORT_OP_MARK));
      if (round % 2) usleep(2000);               // it may have completed before arm()
      // No thread polls: after the completion arm() must report it, or the sleeping thread must have been woken.
      t.doing("arm, until the mark in flight is over");
      const int fd = fd_of(t, devices, q);
      bool told = false;
      for (int k = 0; k < 1000 && !told; ++k) told = arm(devices, q) == CONSORT_E_BUSY || is_readable(fd, 10);
      t.check(told, "a mark is in flight for 10 s, and neither does arm() say E_BUSY nor is the descriptor readable");
      q.wait();
    }
  }
}

CONFORM_CASE(D, 34, threads, is_quiet_where_nothing_is_done) {
  Plugin p(t);
  Devices devices(t, p);
  need_fd(t, devices);
  for (uint32_t d = 0; d < devices.all().size() && d < 3; ++d) {
    DeviceQueue q(devices, d);
    const int fd = fd_of(t, devices, q);
    for (int k = 0; k < 10; ++k) {
      arm(devices, q);
      q.send(op_of(CONSORT_OP_MARK));
      q.wait();
    }
    bool quiet = false;
    consort_status s = CONSORT_OK;
    t.doing("arm of a queue with nothing in flight");
    for (int k = 0; k < 200 && !quiet; ++k) {    // an earlier notification may still arrive
      q.poll();
      s = arm(devices, q);
      quiet = s == CONSORT_OK && !is_readable(fd, 5);
      if (s != CONSORT_OK) usleep(1000);
    }
    t.check(quiet, "with nothing in flight %s, 200 times in a row: a thread that sleeps there spins",
            s == CONSORT_OK ? "the descriptor is readable after arm() said OK" : "arm() answers no OK");
  }
}

}  // namespace conform

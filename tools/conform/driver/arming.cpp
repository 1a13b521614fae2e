// arm() is stopped before each of its instructions while an op completes: the descriptor must report the completion.
#include <poll.h>
#include <unistd.h>

#include <atomic>

#include "conform/driver/store.hpp"
#include "conform/stepper.hpp"

namespace conform {
namespace {

// A function on a unit that returns when let_end() is called.
struct Held {
  std::atomic<bool> may_end{false}, has_ended{false};
  consort_call call{};
  static consort_status run(const consort_call *given) {
    auto *h = static_cast<Held *>(given->user);
    for (int k = 0; k < 20'000 && !h->may_end.load(std::memory_order_acquire); ++k) usleep(50);  // pairs with let_end()
    h->has_ended.store(true, std::memory_order_release);                                        // pairs with let_end()
    return CONSORT_OK;
  }
  consort_op op(const consort_host *host) {
    call.size = sizeof call;
    call.team = 1;
    call.team_id = CONSORT_NONE;
    call.user = this;
    call.host = host;
    may_end = has_ended = false;
    consort_op o = op_of(CONSORT_OP_CALL);
    o.u.call = {run, &call};
    return o;
  }
  void let_end() {                               // and waits until the driver can have noticed it
    may_end.store(true, std::memory_order_release);
    for (int k = 0; k < 20'000 && !has_ended.load(std::memory_order_acquire); ++k) usleep(50);
    usleep(300);
  }
};

}  // namespace

CONFORM_CASE(D, 32, threads, no_end_slips_through_an_arm_that_stands) {
  if (!Stepper::can()) t.skip("calls are stopped before an instruction on x86-64 alone, without a sanitizer");
  Plugin p(t);
  Devices devices(t, p);
  if (!(devices.ops().flags & CONSORT_DRV_FD)) t.skip("it does not say CONSORT_DRV_FD");
  if (p.has_flag(CONSORT_PF_VIRTUAL)) t.skip("it says CONSORT_PF_VIRTUAL: nothing ends without a call");
  const Devices::Unit *unit = nullptr;
  for (const Devices::Unit &u : devices.units())
    if (!(u.desc.flags & CONSORT_UNIT_INLINE) && !unit) unit = &u;
  if (!unit) t.skip("it has no units whose functions could end at a given moment");
  DeviceQueue q(devices, unit->device, unit->index);
  const int fd = devices.ops().event_fd(q.raw());
  t.need(fd >= 0, "it says CONSORT_DRV_FD, and event_fd answers %d", fd);
  Stepper stepper(t.subject().path);
  consort_status armed = CONSORT_OK;
  const auto arm = [&] {
    const Inside inside(Tag::kQueue, "arm");
    armed = devices.ops().arm(q.raw());
  };
  Held held;
  held.call.unit = unit->desc.id;
  const auto begin = [&] { q.send(held.op(p.table())); };
  begin();
  const auto points = stepper.points(arm, 20'000, 40);
  held.let_end();
  q.wait();
  for (const uint64_t k : points) {
    begin();
    t.doing("arm, stopped before instruction %llu, while a function ends", static_cast<unsigned long long>(k));
    stepper.race(k, arm, [&] { held.let_end(); });
    held.let_end();
    pollfd f{fd, POLLIN, 0};
    if (armed == CONSORT_OK) t.need(poll(&f, 1, 3000) > 0 || q.poll() == 0, "an op ends while arm() stands; arm() says OK, and the descriptor does not become readable");
    q.wait();
  }
}

}  // namespace conform

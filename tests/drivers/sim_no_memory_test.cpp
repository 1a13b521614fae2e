// Driver sim when the host has no memory left: accepted ops end all the same, other ops are refused.
//
// The operator new of this program is the driver's too; while it is armed each call on any thread fails.
#include "drivers/sim_machine.hpp"
#include "support/replace_new.hpp"

namespace {
std::atomic<bool> none{false};
std::atomic<int> refused{0};
}  // namespace

bool consort_test::allocation_fails(const void *) {
  if (!none.load(std::memory_order_relaxed)) return false;
  return ++refused, true;
}

namespace consort_test {
namespace {

struct Nothing {
  Nothing() { none = true; }
  ~Nothing() { none = false; }
};

TEST(SimNoMemory, AcceptedOpsEnd) {
  Machine m(Params{{"depth", "8"}, {"faults", "kernel@2"}});
  char v[64] = "right", w[64] = "";
  const consort_addr a = m.alloc(sizeof v);
  int runs = 0;
  Body body([&] { ++runs; return CONSORT_OK; });
  void *q = m.open_queue();
  consort_op beyond = m.to_device(v, a, 1 << 20), odd = body.op();
  odd.kind = 77;
  consort_op list[] = {m.to_device(v, a, sizeof v), body.op(), body.op(), beyond, odd, m.from_device(a, w, sizeof w)};
  for (uint32_t i = 0; i < std::size(list); ++i) list[i].cookie = i;
  ASSERT_EQ(m.ops->submit(q, list, std::size(list)), std::size(list));
  consort_done done[8];
  uint32_t n = 0;
  {
    const Nothing nothing;
    while (n < std::size(list)) n += m.ops->poll(q, done + n, 8 - n);
  }
  const consort_status want[] = {CONSORT_OK, CONSORT_OK, CONSORT_E_IO, CONSORT_E_INVAL, CONSORT_E_UNSUPPORTED, CONSORT_OK};
  for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(done[i].status, want[done[i].cookie]) << done[i].cookie;
  EXPECT_STREQ(w, "right");
  EXPECT_EQ(runs, 1);
}

TEST(SimNoMemory, RefusesOpsItCannotQueue) {
  Machine m(Params{{"depth", "8"}});
  int runs = 0;
  Body body([&] { ++runs; return CONSORT_OK; });
  void *q = m.open_queue();
  const consort_op op = body.op();
  {
    const Nothing nothing;
    EXPECT_EQ(m.ops->submit(q, &op, 1), 0u);
  }
  EXPECT_GT(refused, 0) << "the driver's memory is not this program's: nothing was tested";
  EXPECT_EQ(m.run(q, {op})[0].status, CONSORT_OK);
  EXPECT_EQ(runs, 1);
}

TEST(SimNoMemory, DeviceIsLost) {
  Machine m(Params{{"devices", "2"}, {"depth", "8"}, {"faults", "lost@2/0"}});
  Body body([] { return CONSORT_OK; });
  void *q = m.open_queue();
  const consort_op list[] = {body.op(), body.op(), body.op()};
  ASSERT_EQ(m.ops->submit(q, list, 3), 3u);
  consort_done done[8];
  uint32_t n = 0, lost = 0;
  {
    const Nothing nothing;
    while (n < 3) n += m.ops->poll(q, done + n, 8 - n);
  }
  for (uint32_t i = 0; i < n; ++i) lost += done[i].status == CONSORT_E_DEVICE_LOST;
  EXPECT_EQ(lost, 2u);
}

}  // namespace
}  // namespace consort_test

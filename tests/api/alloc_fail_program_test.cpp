// Allocations that fail while whole programs run: copies to and from a device whose memory is short, parts, holds,
// recordings, and policies that keep tables. A refused call is made again.
#include <consort/memory.h>
#include <consort/replay.h>

#include <deque>

#include "api/alloc_fail.hpp"
#include "api/division.hpp"

namespace consort_test {
namespace {

constexpr int64_t kVirtual = 100'000'000'000;  // ns of the simulated clock: more than a program takes

// A call that a failed allocation refused has changed nothing. It is made again, once.
template <class F>
consort_status again(F call) {
  const consort_status s = call();
  return s == CONSORT_E_NOMEM && fired ? call() : s;
}

consort_status add_one(const consort_call *c) {
  auto *v = pointer<long>(*c, 0);
  for (int i = 0; i < 8; ++i) ++v[i];
  return CONSORT_OK;
}
consort_status look_on(const consort_call *) { return CONSORT_OK; }

// A core and a device, both only played. The device has room for two of the three data.
struct Played {
  Rt rt;
  consort_codelet_id add, look;
  explicit Played(const char *policy, const char *memory = "512")
      : rt(Pairs{{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.devices", "1"}, {"sim.memory", memory},
                 {"scheduler", policy}, {"keep_models", "no"}}) {
    const consort_impl adds[] = {{"cpu", add_one, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                 {"gpu", add_one, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    const consort_impl looks[] = {{"cpu", look_on, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", look_on, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    add = codelet_of(rt, "add one", adds);
    look = codelet_of(rt, "look on", looks);
  }
};

// Tasks that are described before a fault is armed, so that allocations of the test itself do not fail.
class Sequence {
 public:
  Desc &add(consort_codelet_id c) { return all_.emplace_back(c); }
  // Armed until all have ended. False: one was refused, though it was submitted again.
  bool submit(consort_runtime *rt, const Fault &f) {
    for (Desc &d : all_) (void)d.desc();
    bool sent = true;
    f.arm();
    for (Desc &d : all_) sent &= again([&] { return consort_submit(rt, &d.d, nullptr); }) >= 0;
    (void)consort_wait_all(rt, kVirtual, 0);
    f.disarm();
    return sent;
  }
  std::deque<Desc> &all() { return all_; }

 private:
  std::deque<Desc> all_;
};

// All tasks ended, and of each datum either the value is right or a call told the failure.
void judge(consort_runtime *rt, consort_data_id x, const long *home, long want) {
  const Answer end(consort_unregister(rt, x));
  if (end.status >= 0) {
    EXPECT_EQ(home[0], want);
  } else {
    EXPECT_TRUE(fired) << end.text;
    EXPECT_TRUE(end.status == CONSORT_E_NOMEM || end.status == CONSORT_E_POISONED)
        << consort_status_name(end.status) << ": " << end.text.substr(0, 80) << " ... " << end.text.substr(end.text.rfind("because") + 1);
  }
}

// A failure that could not be recorded for want of memory is reported by the stop, too: no wait knows its task.
void stop(Rt &rt, long in_a_row) {
  const Answer a(rt.stop());
  EXPECT_TRUE(a.status >= 0 || (in_a_row > 1 && a.status == CONSORT_E_NOMEM)) << a.text;
}

TEST(AllocFailProgram, CopiesToAndFromADevice) {
  for (const long in_a_row : {1L, 4L})
    for_every_allocation("program", [&](const Fault &f) {
      Played m("eager");
      long home[3][8] = {};
      consort_data_id data[3];
      for (int i = 0; i < 3; ++i) data[i] = vector_of(m.rt, home[i], 8, sizeof(long));
      Sequence tasks;
      for (int turn = 0; turn < 2; ++turn)
        for (int i = 0; i < 3; ++i) {
          tasks.add(m.add).rw(data[i]).on(0);
          tasks.add(m.add).rw(data[i]).on(1);
          tasks.add(m.look).r(data[i]).r(data[(i + 1) % 3]).on(0);
        }
      const bool sent = tasks.submit(m.rt, f);
      EXPECT_TRUE(sent || in_a_row > 1);
      ASSERT_NE(consort_wait_all(m.rt, kVirtual, 0), CONSORT_E_TIMEOUT) << consort_error();
      for (int i = 0; i < 3 && sent; ++i) judge(m.rt, data[i], home[i], 4);
      stop(m.rt, in_a_row);
    }, in_a_row);
}

// Operations that wait for a copy: a hold, an unregistration, a step between a datum and its parts.
TEST(AllocFailProgram, OperationsThatWaitForCopiesToTheHost) {
  for (const long in_a_row : {1L, 4L})
    for_every_allocation("program", [&](const Fault &f) {
      Played m("eager", "1M");
      long home[8] = {}, other[8] = {};
      const auto x = vector_of(m.rt, home, 8, sizeof(long)), y = vector_of(m.rt, other, 8, sizeof(long));
      consort_plan_id plan{0};
      const auto part = split(m.rt, x, "blocks", 2, &plan);
      need(Desc(m.add).rw(x).on(0).to(m.rt), "submit");
      need(Desc(m.add).rw(y).on(0).to(m.rt), "submit");
      ASSERT_OK(consort_wait_all(m.rt, kVirtual, 0));
      Desc reads(m.look), writes(m.look), whole(m.look);
      const consort_task_desc *const those[] = {reads.r(part[0]).on(1).desc(), writes.rw(part[1]).on(0).desc(),
                                                whole.rw(x).on(1).desc()};
      f.arm();
      consort_hold hold{};
      const consort_status entered = again([&] { return consort_acquire(m.rt, y, CONSORT_M_R, kVirtual, &hold); });
      const long seen = other[0];
      if (entered >= 0) (void)consort_release(m.rt, hold);
      for (const consort_task_desc *d : those) (void)again([&] { return consort_submit(m.rt, d, nullptr); });
      const consort_status ended = again([&] { return consort_plan_destroy(m.rt, plan); });
      (void)again([&] { return consort_unregister_later(m.rt, y); });
      (void)consort_wait_all(m.rt, kVirtual, 0);
      f.disarm();
      EXPECT_TRUE(entered >= 0 || fired);
      if (entered >= 0) {
        EXPECT_EQ(seen, 1) << "entered before it was home";
      }
      EXPECT_TRUE(ended >= 0 || fired);
      ASSERT_NE(consort_wait_all(m.rt, kVirtual, 0), CONSORT_E_TIMEOUT) << consort_error();
      judge(m.rt, x, home, 1);
      (void)consort_unregister(m.rt, y);
      stop(m.rt, in_a_row);
    }, in_a_row);
}

// A stop copies home every datum that is still registered, or reports that it could not.
TEST(AllocFailProgram, StopWithContentsOnADevice) {
  for (const long in_a_row : {1L, 4L})
    for_every_allocation("stop", [&](const Fault &f) {
      Played m("eager", "1M");
      long home[8] = {};
      const auto x = vector_of(m.rt, home, 8, sizeof(long));
      need(Desc(m.add).rw(x).on(0).to(m.rt), "submit");
      ASSERT_OK(consort_wait_all(m.rt, kVirtual, 0));
      const Answer a = faulty(f, [&] { return m.rt.stop(); });
      EXPECT_TRUE(a.status >= 0 || fired) << a.text;
      if (a.status >= 0) {
        EXPECT_EQ(home[0], 1) << "stop answered OK";
      }
    }, in_a_row);
}

// Of several kinds: a table that was filled half must not be looked at.
TEST(AllocFailProgram, PoliciesThatKeepTables) {
  for (const char *policy : {"darts", "heteroprio", "graph-lookahead", "dmda", "lws"}) {
    SCOPED_TRACE(policy);
    for_every_allocation("program", [&](const Fault &f) {
      Played m(policy, "1M");
      long home[3][8] = {};
      consort_data_id data[3];
      for (int i = 0; i < 3; ++i) data[i] = vector_of(m.rt, home[i], 8, sizeof(long));
      Sequence tasks;
      for (int i = 0; i < 9; ++i) {
        tasks.add(m.add).rw(data[i % 3]);
        tasks.add(m.look).r(data[0]).r(data[1]);
      }
      EXPECT_TRUE(tasks.submit(m.rt, f));
      ASSERT_NE(consort_wait_all(m.rt, kVirtual, 0), CONSORT_E_TIMEOUT) << consort_error();
      for (int i = 0; i < 3; ++i) judge(m.rt, data[i], home[i], 3);
      EXPECT_OK(m.rt.stop());
    });
  }
}

// A task that could not be recorded breaks the recording and nothing else. The tasks behind it are taken, and the end
// says that there is none.
TEST_F(AllocFail, RecordAndReplay) {
  std::vector<long> cells(12);
  std::vector<consort_data_id> data;
  for (long &cell : cells) data.push_back(variable_of(rt, &cell));
  for_every_allocation("record", [&](const Fault &f) {
    std::fill(cells.begin(), cells.end(), 0);
    consort_recording_id id{0};
    Sequence tasks;
    for (const auto d : data) tasks.add(c).rw(d).name("a task with a name of its own, and not a short one").desc();
    f.arm();
    const consort_status begun = again([&] { return consort_record_begin(rt, CONSORT_RECORD_ONLY); });
    for (Desc &t : tasks.all()) (void)again([&] { return consort_submit(rt, &t.d, nullptr); });
    const consort_status ended = consort_record_end(rt, &id);
    f.disarm();
    ASSERT_OK(begun);
    if (ended < 0) {
      EXPECT_TRUE(fired) << consort_error();
      return;
    }
    EXPECT_OK(consort_replay(rt, id, {0}, nullptr));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    for (const long cell : cells) EXPECT_EQ(cell, 1);
    EXPECT_OK(consort_recording_destroy(rt, id));
  });
  // A refused end of a recording has changed nothing: it is made again.
  for_every_allocation("destroy", [&](const Fault &f) {
    consort_recording_id id{0};
    need(consort_record_begin(rt, CONSORT_RECORD_ONLY), "begin");
    for (const auto d : data) need(Desc(c).rw(d).to(rt), "submit");
    need(consort_record_end(rt, &id), "end");
    EXPECT_OK(consort_replay(rt, id, {0}, nullptr));
    const Answer a = faulty(f, [&] { return consort_recording_destroy(rt, id); });
    good_or_no_memory(a);
    if (a.status < 0) {
      EXPECT_OK(consort_recording_destroy(rt, id));
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  });
  for (const auto d : data) EXPECT_OK(consort_unregister(rt, d));
}

}  // namespace
}  // namespace consort_test

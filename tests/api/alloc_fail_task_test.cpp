// Allocations that fail while tasks are submitted and run, and in calls about their order.
#include "api/alloc_fail.hpp"

namespace consort_test {
namespace {

TEST_F(AllocFail, SubmitPlain) {
  for_every_allocation("submit", [&](const Fault &f) {
    const long before = v;
    int sent = 0;
    Desc t(c);
    t.rw(x);
    const consort_task_desc *d = t.desc();
    const Answer a = faulty(f, [&] {
      consort_status s = CONSORT_OK;
      for (int i = 0; i < 200; ++i) {  // more than the thread's own records
        if ((s = consort_submit(rt, d, nullptr)) < 0) break;
        ++sent;
      }
      return s;
    });
    good_or_no_memory(a);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(v, before + sent);
  });
}

TEST_F(AllocFail, SubmitWithRareOptions) {
  std::vector<long> mem(40);
  std::vector<consort_data_id> data;
  for (long &m : mem) data.push_back(variable_of(rt, &m));
  char big[500] = {};
  std::atomic<int> done{0};
  for_every_allocation("submit", [&](const Fault &f) {
    Desc t(c);
    t.rw(x);
    for (const auto id : data) t.r(id);
    t.args.push_back({CONSORT_ARG_BYTES, sizeof big, {0, 0}, 0, reinterpret_cast<uint64_t>(big)});
    t.name("a task with a name of its own, and not a short one").on(1);
    t.then(Desc(c).rw(x).must(rt)).then(Desc().must(rt));
    t.done([](void *p, const consort_outcome *) { ++*static_cast<std::atomic<int> *>(p); }, &done);
    const consort_task_desc *d = t.desc();
    done = 0;
    const Answer a = faulty(f, [&] { return consort_submit(rt, d, nullptr); });
    good_or_no_memory(a);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(done, a.status >= 0 ? 1 : 0);
  });
  for (const auto id : data) EXPECT_OK(consort_unregister(rt, id));
}

TEST_F(AllocFail, ManyReadersOfOneDatum) {
  for_every_allocation("submit readers", [&](const Fault &f) {
    consort_hold hold;
    long mem = 0;
    const auto y = variable_of(rt, &mem);
    need(consort_acquire(rt, y, CONSORT_M_W, kLong, &hold), "acquire");
    Desc reader(c), writer(c);
    reader.r(y);
    writer.rw(y);
    const consort_task_desc *r = reader.desc(), *w = writer.desc();
    const Answer a = faulty(f, [&] {
      for (int i = 0; i < 100; ++i)
        if (const consort_status s = consort_submit(rt, r, nullptr); s < 0) return s;
      return consort_submit(rt, w, nullptr);
    });
    good_or_no_memory(a);
    EXPECT_OK(consort_release(rt, hold));
    EXPECT_OK(consort_unregister(rt, y));
  });
}

TEST_F(AllocFail, RunningTasksThatNeedMemory) {
  const consort_vector_args args{nullptr, 100, 8};
  const consort_data_desc d{sizeof d, 0, "vector", &args, sizeof args, "homeless"};
  for_every_allocation("wait", [&](const Fault &f) {
    consort_data_id home, scratch;
    need(consort_register(rt, &d, &home), "register");
    need(consort_register(rt, &d, &scratch), "register");
    const auto t = Desc(c).w(home).scratch(scratch).must(rt);
    const Answer a = faulty(f, [&] { return consort_task_wait(rt, t, kLong, 0); });
    good_or_no_memory(a);
    const consort_status end = consort_task_wait(rt, t, kLong, 0);
    EXPECT_TRUE(end == CONSORT_OK || end == CONSORT_E_NOMEM) << consort_error();
    (void)consort_wait_all(rt, kLong, 0);
    EXPECT_SAYS(end, consort_unregister(rt, home)) << "poisoned where the task failed";
    EXPECT_OK(consort_unregister(rt, scratch));
  });
}

TEST_F(AllocFail, RunningTasksThatFail) {
  const auto bad = codelet(rt, "bad", [](const consort_call *) {
    return consort_fail(CONSORT_E_IO, "a reason that is much too long for a small string to hold");
  });
  long mem = 0;
  const auto y = variable_of(rt, &mem, "a datum whose name is too long for a small string");
  for_every_allocation("wait", [&](const Fault &f) {
    const auto t = Desc(bad).w(y).must(rt), u = Desc(c).rw(y).must(rt);
    const Answer a = faulty(f, [&] { return consort_wait_all(rt, kLong, 0); });
    EXPECT_LT(a.status, 0) << "that there was no memory to say why is no reason to say that all was well";
    EXPECT_LT(consort_task_wait(rt, u, kLong, 0), 0) << "it read unwritten data";
    (void)consort_task_wait(rt, t, kLong, 0);
    (void)consort_wait_all(rt, kLong, 0);
    consort_hold hold;
    const consort_status s = consort_acquire(rt, y, CONSORT_M_W, kLong, &hold);
    EXPECT_OK(s);
    EXPECT_OK(consort_release(rt, hold));
  });
  for_every_allocation("collect", [&](const Fault &f) {
    const auto t = Desc(bad).must(rt);
    (void)consort_task_wait(rt, t, kLong, 0);
    const Answer a = faulty(f, [&] {
      consort_failure failure{};
      failure.size = sizeof failure;
      const consort_status w = consort_group_wait(rt, {0}, kLong, 0);
      const consort_status g = consort_group_failure(rt, {0}, &failure);
      return g < 0 ? g : w;
    });
    EXPECT_TRUE(a.status == CONSORT_E_IO || a.status == CONSORT_E_NOMEM) << a.text;
    (void)consort_wait_all(rt, kLong, 0);
  });
  for_every_allocation("task_wait", [&](const Fault &f) {
    const auto t = Desc(bad).must(rt);
    (void)consort_task_wait(rt, t, kLong, 0);
    const Answer a = faulty(f, [&] { return consort_task_wait(rt, t, kLong, 0); });
    EXPECT_TRUE(a.status == CONSORT_E_IO || a.status == CONSORT_E_NOMEM) << a.text;
    (void)consort_wait_all(rt, kLong, 0);
  });
}

// Tags, hooks, completion holds and repeats: after a failed allocation none is lost and none runs twice.
TEST_F(AllocFail, SubmitWithTagsHooksAndHolds) {
  struct Counts { int called = 0, dropped = 0; } seen;
  std::vector<consort_task_id> before;
  for (int i = 0; i < 20; ++i) before.push_back(Desc(c).rw(x).must(rt));
  uint64_t tag = 1000;
  for_every_allocation("submit in order", [&](const Fault &f) {
    tag += 10;
    const uint64_t others[] = {tag + 1, tag + 2};
    need(consort_tag_after(rt, tag, others, 2), "after");
    consort_bundle_id bundle{0};
    need(consort_bundle_create(rt, &bundle), "bundle");
    consort_task_more more = CONSORT_TASK_MORE_INIT;
    more.flags = CONSORT_MORE_TAG;
    more.tag = tag;
    more.end_after = before.data();
    more.nend_after = static_cast<uint32_t>(before.size());
    more.end_holds = 1;
    more.bundle = bundle;
    more.ready = more.begin = {[](void *p, consort_task_id) { ++static_cast<Counts *>(p)->called; }, &seen,
                               [](void *p) { ++static_cast<Counts *>(p)->dropped; }};
    Desc t(c);
    t.rw(x);
    char bytes[100] = {};
    t.args.push_back({CONSORT_ARG_BYTES, sizeof bytes, {0, 0}, 0, reinterpret_cast<uint64_t>(bytes)});
    t.d.more = &more;
    t.d.flags = CONSORT_TASK_REPEAT;
    const consort_task_desc *d = t.desc();
    consort_task_id id{0};
    seen = {};
    const Answer a = faulty(f, [&] { return consort_submit(rt, d, &id); });
    good_or_no_memory(a);
    if (a.status >= 0) {
      EXPECT_OK(consort_task_stop_repeating(rt, id));
      EXPECT_OK(consort_task_end_release(rt, id));
    }
    need(consort_tag_notify(rt, tag + 1), "notify");
    need(consort_tag_notify(rt, tag + 2), "notify");
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(seen.called, a.status >= 0 ? 2 : 0);
    EXPECT_EQ(seen.dropped, a.status >= 0 ? 2 : 0);
    EXPECT_OK(consort_bundle_close(rt, bundle));
    for (const uint64_t each : {tag, tag + 1, tag + 2}) EXPECT_OK(consort_tag_remove(rt, each));
  });
}

TEST_F(AllocFail, TagDeclarations) {
  uint64_t tag = 1;
  for_every_allocation("tag_after", [&](const Fault &f) {
    tag += 10;
    const uint64_t others[] = {tag + 1, tag + 2, tag + 3};
    const Answer a = faulty(f, [&] { return consort_tag_after(rt, tag, others, 3); });
    good_or_no_memory(a);
    EXPECT_OK(consort_tag_after(rt, tag, others, 3));
    EXPECT_SAYS(CONSORT_E_INVAL, consort_tag_after(rt, others[2], &tag, 1), "circle");
    for (uint64_t i = tag; i < tag + 4; ++i) EXPECT_OK(consort_tag_remove(rt, i));
  });
  for_every_allocation("tag_notify", [&](const Fault &f) {
    tag += 10;
    const Answer a = faulty(f, [&] { return consort_tag_notify(rt, tag); });
    good_or_no_memory(a);
    EXPECT_EQ(consort_tag_state(rt, tag), a.status >= 0 ? CONSORT_OK : CONSORT_AGAIN);
    EXPECT_OK(consort_tag_remove(rt, tag));
  });
  for_every_allocation("tag_wait", [&](const Fault &f) {
    tag += 10;
    const Answer a = faulty(f, [&] { return consort_tag_wait(rt, &tag, 1, 0, 0); });
    EXPECT_TRUE(a.status == CONSORT_E_TIMEOUT || a.status == CONSORT_E_NOMEM) << a.text;
    EXPECT_OK(consort_tag_remove(rt, tag));
  });
  for_every_allocation("bundle_create", [&](const Fault &f) {
    consort_bundle_id b{0};
    const Answer a = faulty(f, [&] { return consort_bundle_create(rt, &b); });
    good_or_no_memory(a);
    if (a.status < 0) return;
    EXPECT_OK(consort_bundle_close(rt, b));
  });
  for_every_allocation("acquire_later", [&](const Fault &f) {
    struct Grant { consort_runtime *rt; int calls; } g{rt, 0};
    const Answer a = faulty(f, [&] {
      return consort_acquire_later(rt, x, CONSORT_M_RW, [](void *p, consort_status s, const consort_hold *hold) {
        Grant &g = *static_cast<Grant *>(p);
        ++g.calls;
        if (s >= 0) (void)consort_release(g.rt, *hold);
      }, &g);
    });
    good_or_no_memory(a);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(g.calls, a.status >= 0 ? 1 : 0);
  });
  for_every_allocation("register_like and data_copy", [&](const Fault &f) {
    consort_data_id y{0};
    const Answer a = faulty(f, [&] {
      if (const consort_status s = consort_register_like(rt, x, "a datum whose name is too long for a small string", &y); s < 0) return s;
      if (const consort_status s = consort_data_copy(rt, y, x, {0}, nullptr); s < 0) return s;
      return consort_wait_all(rt, kLong, 0);
    });
    good_or_no_memory(a);
    (void)consort_wait_all(rt, kLong, 0);
    const bool poisoned = a.text.find("failed on worker") != std::string::npos;
    if (y.v) {
      EXPECT_SAYS(poisoned ? CONSORT_E_NOMEM : CONSORT_OK, consort_unregister(rt, y));
    }
  });
}

}  // namespace
}  // namespace consort_test

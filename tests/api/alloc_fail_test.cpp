// Every allocation that a call of the C API makes is made to fail in turn: the call answers E_NOMEM or does without,
// the runtime goes on working, nothing is lost.
//
// malloc and its kin are replaced in this program; the arming is the calling thread's own. The runtime is pumped by
// hand, so that what tasks allocate is allocated, and fails, on this thread too. Sanitizers replace malloc
// themselves: under them only the unarmed paths are run. What hwloc allocates is left alone: it ends the process
// with an assertion when memory runs out, and nobody above it can help that.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <consort/memory.h>

#include "api/harness.hpp"

#if CONSORT_SAN
#define REPLACED 0
#else
#define REPLACED 1
#endif

namespace {
thread_local long countdown = -1;  // -1: not armed; the allocation that finds 0 fails
thread_local bool fired = false;
std::atomic<long> alive{0};

uintptr_t spared_from = 0, spared_to = 0;  // hwloc's code

// hwloc comes with the plugin that looks at the machine: after a first start it is there.
bool find_hwloc() {
  void *warm[1];
  (void)backtrace(warm, 1);  // its first call allocates
  dl_iterate_phdr([](dl_phdr_info *info, size_t, void *) {
    if (!std::strstr(info->dlpi_name, "hwloc")) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
      spared_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      spared_to = spared_from + info->dlpi_phdr[i].p_memsz;
    }
    return 0;
  }, nullptr);
  return spared_to != 0;
}

bool spared() {
  void *frames[24];
  const long armed = std::exchange(countdown, -1);
  const int n = backtrace(frames, 24);
  countdown = armed;
  for (int i = 0; i < n; ++i)
    if (reinterpret_cast<uintptr_t>(frames[i]) - spared_from < spared_to - spared_from) return true;
  return false;
}

[[maybe_unused]] bool fails() {
  if (countdown < 0) return false;
  if (spared()) return false;
  if (countdown-- > 0) return false;
  fired = true;
  return true;  // one fails, those after it do not
}
}  // namespace

#if REPLACED
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t n) {
  void *p = fails() ? nullptr : __libc_malloc(n);
  if (p) alive.fetch_add(1, std::memory_order_relaxed);
  else errno = ENOMEM;
  return p;
}
void *calloc(size_t n, size_t m) {
  void *p = fails() ? nullptr : __libc_calloc(n, m);
  if (p) alive.fetch_add(1, std::memory_order_relaxed);
  else errno = ENOMEM;
  return p;
}
void *realloc(void *old, size_t n) {
  if (fails()) return errno = ENOMEM, nullptr;
  void *p = __libc_realloc(old, n);
  if (p && !old) alive.fetch_add(1, std::memory_order_relaxed);
  return p;
}
void *memalign(size_t align, size_t n) {
  void *p = fails() ? nullptr : __libc_memalign(align, n);
  if (p) alive.fetch_add(1, std::memory_order_relaxed);
  return p;
}
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n) {
  void *p = memalign(align, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
void free(void *p) {
  if (p) alive.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(p);
}
}
#endif

using namespace consort_test;

namespace {

// Runs f with its k-th allocation failing, k = 0, 1, …, until one run had fewer. f makes ready first, calls arm(),
// makes the call, calls disarm(), and judges.
struct Fault {
  long k;
  void arm() const {
    fired = false;
    countdown = REPLACED ? k : -1;
  }
  void disarm() const { countdown = -1; }
};
template <class F>
void for_every_allocation(const char *what, F f) {
  SCOPED_TRACE(what);
  for (long k = 0;; ++k) {
    SCOPED_TRACE(k);
    const Fault fault{k};
    fired = false;
    f(fault);
    fault.disarm();
    if (!fired) break;
    ASSERT_LT(k, 20000) << "no end of allocations";
    if (::testing::Test::HasFatalFailure()) return;
  }
}
// One call under a fault; its answer, taken after the arming ended.
template <class F>
Answer faulty(const Fault &fault, F call) {
  fault.arm();
  const consort_status s = call();
  fault.disarm();
  return Answer(s);
}
void good_or_no_memory(const Answer &a) {
  EXPECT_TRUE(a.status >= 0 || a.status == CONSORT_E_NOMEM) << consort_status_name(a.status) << ": " << a.text;
  if (a.status < 0) {
    EXPECT_FALSE(a.text.empty());
  }
  if (!fired) {
    EXPECT_GE(a.status, 0) << a.text;
  }
}

consort_status inc(const consort_call *c) { return ++*pointer<long>(*c, 0), CONSORT_OK; }

const Pairs kByHand = {{"workers", "2"}, {"cpu.topology", kFourCores}, {"pump", "manual"}, {"scheduler", "prio"}};

struct AllocFail : ::testing::Test {
  std::unique_ptr<Rt> own = std::make_unique<Rt>(kByHand);
  consort_runtime *rt = *own;
  long v = 0;
  consort_data_id x = variable_of(rt, &v, "steady");
  consort_codelet_id c = codelet(rt, "inc", inc);

  // What went wrong before does no harm now.
  void works() {
    const long before = v;
    for (int i = 0; i < 3; ++i) ASSERT_OK(Desc(c).rw(x).to(rt));
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    ASSERT_EQ(v, before + 3);
  }
  void TearDown() override {
    if (own) works();
  }
};

TEST(AllocFailStart, EveryAllocation) {
  for (int i = 0; i < 3; ++i) Rt warm(kByHand);
  ASSERT_TRUE(find_hwloc());
  const long before = alive;
  int refused = 0;
  for_every_allocation("start", [&](const Fault &f) {
    consort_runtime *rt = nullptr;
    const Answer a = faulty(f, [&] { return start(kByHand, &rt); });
    if (a.status < 0) {
      EXPECT_EQ(rt, nullptr);
      EXPECT_FALSE(a.text.empty());
      ++refused;
      return;
    }
    ASSERT_NE(rt, nullptr);
    EXPECT_OK(consort_stop(rt));
  });
  if (REPLACED) {
    EXPECT_GT(refused, 10);
    EXPECT_LE(alive - before, 32) << "allocations that nobody gives back";
  }
}

TEST_F(AllocFail, CodeletAdd) {
  for_every_allocation("codelet_add", [&](const Fault &f) {
    const consort_impl impl = {"cpu",   inc,     nullptr, "an implementation with a long name of its own",
                               nullptr, nullptr, nullptr, 0};
    const uint32_t mode = CONSORT_M_RW;
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = "a codelet with a name that is too long for any small string";
    d.impls = &impl;
    d.nimpls = 1;
    d.nmodes = 1;
    d.modes = &mode;
    consort_codelet_id id{0};
    const Answer a = faulty(f, [&] { return consort_codelet_add(rt, &d, &id); });
    good_or_no_memory(a);
    if (a.status < 0) return;
    EXPECT_OK(Desc(id).rw(x).to(rt));
    EXPECT_OK(consort_codelet_remove(rt, id));
  });
}

TEST_F(AllocFail, CodeletRemove) {
  for_every_allocation("codelet_remove", [&](const Fault &f) {
    const auto id = codelet(rt, "brief", inc);
    need(Desc(id).rw(x).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_codelet_remove(rt, id); });
    good_or_no_memory(a);
    if (a.status < 0) {
      EXPECT_OK(consort_codelet_remove(rt, id));
    }
  });
}

TEST_F(AllocFail, FirstUseOfAnInterface) {
  for_every_allocation("register", [&](const Fault &f) {
    Rt fresh(kByHand);
    const consort_matrix_args args{nullptr, 3, 3, 0, 8};
    const consort_data_desc d{sizeof d, 0, "matrix", &args, sizeof args, nullptr};
    consort_data_id id{0};
    const Answer a = faulty(f, [&] { return consort_register(fresh, &d, &id); });
    EXPECT_TRUE(fired || a.status >= 0) << a.text;  // the loader of the system may put it in its own words
    if (a.status < 0) {
      EXPECT_FALSE(a.text.empty());
      EXPECT_OK(consort_register(fresh, &d, &id)) << "the failure is remembered";
    }
  });
}

TEST_F(AllocFail, RegisterAndUnregister) {
  std::vector<long> mem(10);
  EXPECT_OK(consort_unregister(rt, vector_of(rt, mem.data(), 10, 8)));
  const consort_vector_args at_home{mem.data(), 10, 8}, homeless{nullptr, 10, 8};
  for (const auto *args : {&at_home, &homeless})
    for (const char *name : {static_cast<const char *>(nullptr), "a datum with a name that no small string can hold"}) {
      const consort_data_desc d{sizeof d, 0, "vector", args, sizeof *args, name};
      for_every_allocation("register", [&](const Fault &f) {
        consort_data_id id{0};
        const Answer a = faulty(f, [&] { return consort_register(rt, &d, &id); });
        good_or_no_memory(a);
        if (a.status >= 0) {
          EXPECT_OK(consort_unregister(rt, id));
        }
      });
      for (const bool later : {false, true})
        for_every_allocation("unregister", [&](const Fault &f) {
          consort_data_id id{0};
          need(consort_register(rt, &d, &id), "register");
          need(Desc(c).w(id).to(rt), "submit");
          const auto end = [&] { return later ? consort_unregister_later(rt, id) : consort_unregister(rt, id); };
          const Answer a = faulty(f, end);
          good_or_no_memory(a);
          if (a.status < 0) {
            // The task may have failed for want of memory; the datum is poisoned then, and unregistered all the same.
            const bool gone = a.text.find("failed on worker") != std::string::npos;
            EXPECT_SAYS(gone ? CONSORT_E_STALE : CONSORT_OK, end()) << "the second time there is memory";
          }
          EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, id), "stale");
          (void)consort_wait_all(rt, kLong, 0);
        });
    }
}

// Of memory that is a device's: what was taken half is given back, or the next would be refused.
TEST(AllocFailHome, RegisterIn) {
  std::vector<long> there(100), other(100);
  Pairs pairs = kByHand;
  pairs.push_back({"drivers", "cpu,sim"});
  Rt rt(pairs);
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(rt, &info), "info");
  const uint32_t device = info.nspaces - 1;
  const consort_vector_args args{there.data(), 100, sizeof(long)}, others{other.data(), 100, sizeof(long)};
  const consort_data_desc d{sizeof d, 0, "vector", &args, sizeof args, "a datum with a name that no small string can hold"};
  const consort_data_desc steady{sizeof d, 0, "vector", &others, sizeof others, "steady"};
  consort_data_id id{0}, kept{0};
  ASSERT_OK(consort_register_in(rt, &steady, device, &kept));
  for_every_allocation("register_in", [&](const Fault &f) {
    const Answer a = faulty(f, [&] { return consort_register_in(rt, &d, device, &id); });
    good_or_no_memory(a);
    if (a.status < 0) need(consort_register_in(rt, &d, device, &id), "the second time there is memory");
    EXPECT_OK(consort_unregister(rt, id));
  });
  ASSERT_OK(consort_unregister(rt, kept));
}

TEST_F(AllocFail, SubmitPlain) {
  for_every_allocation("submit", [&](const Fault &f) {
    const long before = v;
    int sent = 0;
    Desc t(c);
    t.rw(x);
    const consort_task_desc *d = t.desc();
    const Answer a = faulty(f, [&] {
      consort_status s = CONSORT_OK;
      for (int i = 0; i < 200; ++i) {  // more than fit into what one thread has at hand
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

TEST_F(AllocFail, SubmitWithAllThatIsRare) {
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
    EXPECT_LT(consort_task_wait(rt, u, kLong, 0), 0) << "it read what was never written";
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

// Tags, hooks, ends that are held, further turns: whatever an allocation's failure leaves behind, none is lost or called twice.
TEST_F(AllocFail, SubmitInOrder) {
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

TEST_F(AllocFail, Order) {
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

TEST_F(AllocFail, AcquireReleaseInvalidate) {
  for_every_allocation("acquire", [&](const Fault &f) {
    need(Desc(c).rw(x).to(rt), "submit");
    consort_hold hold;
    const Answer a = faulty(f, [&] { return consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold); });
    good_or_no_memory(a);
    if (a.status >= 0) {
      EXPECT_OK(consort_release(rt, hold));
    }
  });
  for_every_allocation("release", [&](const Fault &f) {
    consort_hold hold;
    need(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold), "acquire");
    need(Desc(c).rw(x).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_release(rt, hold); });
    good_or_no_memory(a);
    if (a.status < 0) {
      EXPECT_OK(consort_release(rt, hold));
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  });
  long mem = 0;
  const auto y = variable_of(rt, &mem);
  for_every_allocation("invalidate", [&](const Fault &f) {
    need(Desc(c).w(y).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_invalidate(rt, y); });
    good_or_no_memory(a);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  });
}

TEST_F(AllocFail, Groups) {
  const consort_group_desc d{sizeof d, 0, "a group whose name is too long for a small string", nullptr, nullptr};
  for_every_allocation("group", [&](const Fault &f) {
    consort_group_id g{0};
    int fd = -1;
    const Answer made = faulty(f, [&] { return consort_group_create(rt, &d, &g); });
    good_or_no_memory(made);
    if (made.status < 0) return;
    const Answer eventfd = faulty(f, [&] { return consort_group_fd(rt, g, &fd); });
    good_or_no_memory(eventfd);
    need(Desc(c).rw(x).in(g).to(rt), "submit");
    const Answer waited = faulty(f, [&] { return consort_group_wait(rt, g, kLong, 0); });
    good_or_no_memory(waited);
    const Answer cancelled = faulty(f, [&] { return consort_group_cancel(rt, g); });
    good_or_no_memory(cancelled);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    const Answer destroyed = faulty(f, [&] { return consort_group_destroy(rt, g); });
    good_or_no_memory(destroyed);
    if (destroyed.status < 0) {
      EXPECT_OK(consort_group_destroy(rt, g));
    }
  });
}

TEST_F(AllocFail, Looking) {
  for_every_allocation("look", [&](const Fault &f) {
    consort_info i{};
    i.size = sizeof i;
    consort_worker_info w{};
    w.size = sizeof w;
    good_or_no_memory(faulty(f, [&] { return consort_get_info(rt, &i); }));
    good_or_no_memory(faulty(f, [&] { return consort_get_worker(rt, 1, &w); }));
    good_or_no_memory(faulty(f, [&] { return consort_step(rt, 0); }));
    char text[200];
    good_or_no_memory(faulty(f, [&] { return (void)consort_explain(rt, {0}, text, sizeof text), CONSORT_OK; }));
  });
}

TEST(AllocFailThread, AThreadsFirstCall) {
  Rt rt(kByHand);
  const auto c = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  for (long k = 0; k < 40; ++k)
    std::thread([&] {
      const Fault fault{k};
      const consort_task_desc d = [&] { consort_task_desc t = CONSORT_TASK_INIT; t.codelet = c; return t; }();
      const Answer a = faulty(fault, [&] { return consort_submit(rt, &d, nullptr); });
      good_or_no_memory(a);
      if (a.status < 0) {
        EXPECT_OK(consort_submit(rt, &d, nullptr));
      }
    }).join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(AllocFailStop, EveryAllocation) {
  for_every_allocation("stop", [&](const Fault &f) {
    consort_runtime *rt = nullptr;
    need(start(kByHand, &rt), "start");
    long v = 0;
    const auto c = codelet(rt, "inc", inc);
    for (int i = 0; i < 5; ++i) need(Desc(c).rw(variable_of(rt, &v)).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_stop(rt); });
    good_or_no_memory(a);
    if (a.status < 0 && consort_stop(rt) != CONSORT_E_STOPPED) ADD_FAILURE() << "neither stopped nor to be stopped";
    EXPECT_EQ(v, 5);
  });
}

}  // namespace

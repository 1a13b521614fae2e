// harness.hpp — shared by the tests of the C API: a runtime that ends with its test, checks of status and text, gates,
// small codelets. A watchdog ends the program with a message when something hangs.
//
// Header only, for test programs of one source file. Nothing here looks inside the kernel.
#pragma once
#include <consort/consort.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace consort_test {

using namespace std::chrono_literals;

inline bool full() { return std::getenv("CONSORT_FULL") && *std::getenv("CONSORT_FULL") == '1'; }

// Set by ./run test, which takes minutes: stress tests do a part of what they do in CI.
inline bool brief() { return std::getenv("STRESS_BRIEF") != nullptr; }

inline constexpr int kSlow = CONSORT_SAN ? 5 : 1;  // sanitizers: so many times slower, roughly

// -- the watchdog -----------------------------------------------------------------------------------------------

struct Watch {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<consort_runtime *> runtimes;  // told about when time is up
  bool over = false;
  std::thread thread;
};
inline Watch &watch() {
  static auto *w = new Watch;  // never destroyed: the thread outlives main's statics
  return *w;
}

class Watchdog : public ::testing::Environment {
 public:
  void SetUp() override {
    // The environment is read here, not over there: a suite may set variables while that thread starts.
    const char *given = std::getenv("TEST_LIMIT");
    const auto limit = std::chrono::seconds(given ? std::atoi(given) : full() ? 3500 : 280);  // below ctest's
    const bool ask_gdb = std::getenv("TEST_GDB") != nullptr;
    watch().thread = std::thread([limit, ask_gdb] {
      std::unique_lock lock(watch().mutex);
      if (watch().changed.wait_for(lock, limit, [] { return watch().over; })) return;
      const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
      std::fprintf(stderr, "\nwatchdog: %lld s are over in %s.%s: something hangs\n",
                   static_cast<long long>(limit.count()), test ? test->test_suite_name() : "?",
                   test ? test->name() : "?");
      for (consort_runtime *rt : watch().runtimes) {
        char text[4096];
        consort_explain(rt, consort_task_id{0}, text, sizeof text);
        std::fprintf(stderr, "watchdog: %s\n", text);
      }
      std::fflush(nullptr);
      if (ask_gdb) {
        char command[128];
        std::snprintf(command, sizeof command, "gdb -batch -p %d -ex 'thread apply all bt 25' 2>&1 >&2", getpid());
        (void)!system(command);
      }
      std::_Exit(124);
    });
  }
  void TearDown() override {
    {
      std::lock_guard lock(watch().mutex);
      watch().over = true;
    }
    watch().changed.notify_all();
    watch().thread.join();
  }
};
inline ::testing::Environment *const watchdog = ::testing::AddGlobalTestEnvironment(new Watchdog);

// -- checks -----------------------------------------------------------------------------------------------------

// A call's answer, taken together with its text at once: the text lasts until the thread's next call.
struct Answer {
  Answer(consort_status s) : status(s), text(s < 0 ? consort_error() : "") {}
  consort_status status;
  std::string text;
};
inline ::testing::AssertionResult answered(consort_status want, const Answer &a,
                                           std::initializer_list<std::string> parts) {
  if (a.status != want)
    return ::testing::AssertionFailure() << "answered " << consort_status_name(a.status) << " (\"" << a.text
                                         << "\"), should be " << consort_status_name(want);
  if (want < 0 && a.text.empty())
    return ::testing::AssertionFailure() << "answered " << consort_status_name(want) << " without a word";
  for (const std::string &part : parts)
    if (a.text.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "the text \"" << a.text << "\" does not say \"" << part << "\"";
  return ::testing::AssertionSuccess();
}
// EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, x), "stale"): the status, and words of the text.
#define EXPECT_SAYS(want, call, ...) \
  EXPECT_TRUE(consort_test::answered(want, consort_test::Answer(call), {__VA_ARGS__}))
#define ASSERT_SAYS(want, call, ...) \
  ASSERT_TRUE(consort_test::answered(want, consort_test::Answer(call), {__VA_ARGS__}))
#define EXPECT_OK(call) EXPECT_SAYS(CONSORT_OK, call)
#define ASSERT_OK(call) ASSERT_SAYS(CONSORT_OK, call)

// For code outside the test's own function: a helper that cannot go on.
inline void need(consort_status s, const char *what) {
  if (s >= 0) return;
  std::fprintf(stderr, "\n%s: %s: %s\n", what, consort_status_name(s), consort_error());
  std::fflush(nullptr);
  std::abort();
}

inline constexpr int64_t kLong = 60'000'000'000;  // ns: a wait that would end long before

// -- runtimes ---------------------------------------------------------------------------------------------------

using Pairs = std::vector<consort_setting>;
inline constexpr const char *kFourCores =
    "pack:1 core:4 pu:1";  // a machine that is not there: any number of workers up to 4

inline consort_status start(const Pairs &pairs, consort_runtime **out) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  return consort_start(&s, out);
}

class Rt {
 public:
  explicit Rt(const Pairs &pairs = {{"workers", "2"}, {"cpu.topology", kFourCores}}) {
    need(start(pairs, &rt_), "start");
    watched();
  }
  explicit Rt(consort_runtime *started) : rt_(started) { watched(); }
  ~Rt() { (void)stop(); }
  Rt(const Rt &) = delete;
  Rt &operator=(const Rt &) = delete;
  operator consort_runtime *() const { return rt_; }
  consort_status stop() {
    if (!rt_) return CONSORT_OK;
    {
      std::lock_guard lock(watch().mutex);
      std::erase(watch().runtimes, rt_);
    }
    return consort_stop(std::exchange(rt_, nullptr));
  }

 private:
  void watched() {
    std::lock_guard lock(watch().mutex);
    watch().runtimes.push_back(rt_);
  }
  consort_runtime *rt_ = nullptr;
};
inline bool is_running(consort_runtime *rt) {
  std::lock_guard lock(watch().mutex);
  return std::find(watch().runtimes.begin(), watch().runtimes.end(), rt) != watch().runtimes.end();
}

// -- codelets and tasks -----------------------------------------------------------------------------------------

// Of several implementations.
inline consort_codelet_id codelet_of(consort_runtime *rt, const char *name, std::span<const consort_impl> impls,
                                     uint32_t flags = 0, uint32_t nmodes = CONSORT_NONE) {
  consort_codelet d = CONSORT_CODELET_INIT;
  d.flags = flags;
  d.name = name;
  d.impls = impls.data();
  d.nimpls = static_cast<uint32_t>(impls.size());
  d.nmodes = nmodes;
  consort_codelet_id id{0};
  need(consort_codelet_add(rt, &d, &id), "codelet");
  return id;
}
inline consort_codelet_id codelet(consort_runtime *rt, const char *name, consort_call_fn *fn,
                                  uint32_t nmodes = CONSORT_NONE, void *user = nullptr) {
  const consort_impl impl = {"cpu", fn, user, nullptr, nullptr, nullptr, nullptr, 0};
  return codelet_of(rt, name, {&impl, 1}, 0, nmodes);
}

// Codelets out of function objects: body(rt, "name", [&](const consort_call &c) { … }). They live until all tasks of
// the living runtimes have run, also tasks that the test did not wait for.
using Body = std::function<consort_status(const consort_call &)>;
inline consort_status run_body(const consort_call *c) { return (*static_cast<const Body *>(c->user))(*c); }
class Bodies {
 public:
  ~Bodies() {
    for (consort_runtime *rt : used_by_)
      if (is_running(rt)) consort_wait_all(rt, kLong, 0);
    for (Body *b : all_) delete b;
  }
  consort_codelet_id operator()(consort_runtime *rt, const char *name, Body body, uint32_t nmodes = CONSORT_NONE) {
    all_.push_back(new Body(std::move(body)));
    if (std::find(used_by_.begin(), used_by_.end(), rt) == used_by_.end()) used_by_.push_back(rt);
    return codelet(rt, name, run_body, nmodes, all_.back());
  }

 private:
  std::vector<Body *> all_;
  std::vector<consort_runtime *> used_by_;
};

template <class T>
T *pointer(const consort_call &c, uint32_t i) {  // of a vector, matrix or variable: their views begin with the address
  return static_cast<T *>(consort_ptr(*static_cast<const consort_addr *>(c.views[i])));
}
template <class T>
consort_arg scalar(T value) {
  consort_arg a{CONSORT_ARG_SCALAR, sizeof value, {0, 0}, 0, 0};
  std::memcpy(&a.scalar, &value, sizeof value);
  return a;
}
template <class T>
T value(const consort_call &c, uint32_t i) {
  T v;
  std::memcpy(&v, &c.args[i].scalar, sizeof v);
  return v;
}

// One submission, its parts kept together.
struct Desc {
  consort_task_desc d = CONSORT_TASK_INIT;
  std::vector<consort_use> uses;
  std::vector<consort_arg> args;
  std::vector<consort_task_id> after;

  explicit Desc(consort_codelet_id c = {0}) { d.codelet = c; }
  Desc &use(consort_data_id x, uint32_t mode) { return uses.push_back({x, mode, 0}), *this; }
  Desc &r(consort_data_id x) { return use(x, CONSORT_M_R); }
  Desc &w(consort_data_id x) { return use(x, CONSORT_M_W); }
  Desc &rw(consort_data_id x) { return use(x, CONSORT_M_RW); }
  Desc &scratch(consort_data_id x) { return use(x, CONSORT_M_SCRATCH); }
  template <class T>
  Desc &arg(T v) { return args.push_back(scalar(v)), *this; }
  Desc &then(consort_task_id t) { return after.push_back(t), *this; }
  Desc &name(const char *n) { return d.name = n, *this; }
  Desc &priority(int32_t p) { return d.priority = p, *this; }
  Desc &on(uint32_t worker) { return d.worker = worker, *this; }
  Desc &in(consort_group_id g) { return d.group = g, *this; }
  Desc &done(consort_done_fn *fn, void *arg) { return d.done = fn, d.done_arg = arg, *this; }

  const consort_task_desc *desc() {
    d.uses = uses.data();
    d.nuses = static_cast<uint32_t>(uses.size());
    d.args = args.data();
    d.nargs = static_cast<uint32_t>(args.size());
    d.after = after.data();
    d.nafter = static_cast<uint32_t>(after.size());
    return &d;
  }
  consort_status to(consort_runtime *rt, consort_task_id *out = nullptr) { return consort_submit(rt, desc(), out); }
  consort_task_id must(consort_runtime *rt) {
    consort_task_id t{0};
    need(to(rt, &t), "submit");
    return t;
  }
};

// A task that others can name before it is submitted.
struct Tagged : Desc {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  Tagged(consort_codelet_id c, uint64_t tag) : Desc(c) {
    more.flags = CONSORT_MORE_TAG;
    more.tag = tag;
    d.more = &more;
  }
};

inline consort_data_id vector_of(consort_runtime *rt, void *p, uint64_t n, uint64_t elem, const char *name = nullptr) {
  const consort_vector_args a{p, n, elem};
  const consort_data_desc d{sizeof d, 0, "vector", &a, sizeof a, name};
  consort_data_id id{0};
  need(consort_register(rt, &d, &id), "register vector");
  return id;
}
template <class T>
consort_data_id variable_of(consort_runtime *rt, T *p, const char *name = nullptr) {
  const consort_variable_args a{p, sizeof(T)};
  const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, name};
  consort_data_id id{0};
  need(consort_register(rt, &d, &id), "register variable");
  return id;
}
inline consort_data_id token_of(consort_runtime *rt, const char *name = nullptr) {
  const consort_data_desc d{sizeof d, 0, "void", nullptr, 0, name};
  consort_data_id id{0};
  need(consort_register(rt, &d, &id), "register void");
  return id;
}

// A door that tasks stand before until it is opened. Closed for half a minute, it ends the program.
class Gate {
 public:
  void open() { open_.store(true); }
  bool is_open() const { return open_.load(); }
  void pass() {
    waiting_.fetch_add(1);
    const auto start = std::chrono::steady_clock::now();
    while (!open_.load()) {
      if (std::chrono::steady_clock::now() - start > 60s * kSlow) {
        std::fprintf(stderr, "\na gate stays closed: something hangs\n");
        std::abort();
      }
      std::this_thread::sleep_for(50us);
    }
  }
  int waiting() const { return waiting_.load(); }

 private:
  std::atomic<bool> open_{false};
  std::atomic<int> waiting_{0};
};
template <class F>
bool eventually(F f, std::chrono::milliseconds limit = 20000ms * kSlow) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!f()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(100us);
  }
  return true;
}

}  // namespace consort_test

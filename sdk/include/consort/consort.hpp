// consort/consort.hpp — Consort in C++20: a header over consort.h that adds types, ownership and exceptions.
//
//   consort::Runtime rt;
//   auto x = rt.vector(v);
//   const consort::Codelet scale{"scale", consort::cpu([](std::span<float> x, float a) { … })};
//   rt.submit(scale, consort::rw(x), 3.0f);
//   auto view = x.read();
//
// A failing call throws consort::Error; destructors never throw. Any thread may use any object; one thread at a
// time moves or ends it. Objects may outlive their runtime: then they do nothing (calls throw E_STOPPED).
// All lies in an inline namespace, so that no symbol of a program is taken for one of a library with names like these.
#ifndef CONSORT_CONSORT_HPP
#define CONSORT_CONSORT_HPP
#if __cplusplus < 202002L
#error "consort/consort.hpp needs C++20: compile with -std=c++20; in CMake link Consort::consort, which asks for it"
#else
#include <consort/cpp/codelet.hpp>
#include <consort/cpp/context.hpp>
#include <consort/cpp/error.hpp>
#include <consort/cpp/failure.hpp>
#include <consort/cpp/filters.hpp>
#include <consort/cpp/flags.hpp>
#include <consort/cpp/kernel.hpp>
#include <consort/cpp/layout.hpp>
#include <consort/cpp/order.hpp>
#include <consort/cpp/parts.hpp>
#include <consort/cpp/reduction.hpp>
#include <consort/cpp/replay.hpp>
#include <consort/cpp/settings.hpp>
#include <consort/cpp/submitter.hpp>
#include <consort/cpp/task.hpp>
#include <consort/cpp/use.hpp>
#include <consort/settings.h>

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace consort::inline face {

// One runtime: its workers, its data and its tasks. A move-only owner; the destructor waits for every task and stops
// it.
class Runtime : public detail::Submitter {
 public:
  // Starts it with the settings of file and environment, with these over them, or with pairs of keys and values. Throws
  // Error.
  Runtime() { start(Settings{}); }
  explicit Runtime(const Settings &settings) { start(settings); }
  Runtime(std::initializer_list<consort_setting> pairs) {  // Runtime rt{{"workers", "2"}, {"scheduler", "prio"}};
    Settings settings;
    for (const consort_setting &p : pairs) settings.set(p.key, p.value);
    start(settings);
  }
  Runtime(Runtime &&) noexcept = default;
  Runtime &operator=(Runtime &&other) noexcept {
    if (this != &other) {
      end_and_log();
      control_ = std::move(other.control_);
      owned_ = std::move(other.owned_);
    }
    return *this;
  }
  // Waits for every task. A failure that no call has told goes to the log, on stderr by default; stop() throws it. A
  // stop that is refused (inside a task or a callback, or where this thread holds data) leaves the runtime as it is: call
  // stop() again elsewhere. A destructor that is refused says so in the log, and the runtime goes on until the process ends.
  ~Runtime() { end_and_log(); }
  // Waits for every task and stops. Throws the first failure that no call has told; the runtime is gone all the same.
  void stop() { detail::check(end()); }

  consort_runtime *c() const noexcept { return control_.live(); }  // for consort.h

  // How contributions of redux(x) are made and united, element by element: each begins as `neutral`, and op(a, b) makes one of
  // two: rt.reduction(x, 0.0, std::plus<>{}). On cores; Data::set_reduction() takes codelets, for other units and other unions.
  template <class V, class T, class Op>
  void reduction(const Data<V> &x, const T &neutral, Op op) { detail::reduce(control_, x, neutral, op); }
  template <class X, class T, class Op>
    requires(!detail::Datum<X>)
  void reduction(const X &, const T &, const Op &) {
    static_assert(detail::never<X>, "reduction(x, ...): x is no datum; register it first, auto x = rt.vector(v)");
  }

  // f(call) or f(), once on each worker of a class (nullptr: of all), side by side; waits for all of them. Not from a task or
  // a callback. f answers void or a consort_status; what it throws fails that call, and this throws the first failure.
  template <class F>
    requires(std::is_invocable_v<F &, const consort_call &> || std::is_invocable_v<F &>)
  void run_on_each(F &&f, const char *klass = nullptr) {
    const auto call = [](const consort_call *c) -> consort_status {
      try {
        return detail::on_worker(*static_cast<std::remove_reference_t<F> *>(c->user), *c);
      } catch (...) {
        return detail::fail_as_thrown();
      }
    };
    void *const user = const_cast<void *>(static_cast<const void *>(std::addressof(f)));
    detail::check(consort_run_on_each(control_.need(), klass, call, user));
  }

  // Tasks to be waited for together. done(done_arg, id) is called each time the last pending one ends.
  Group group(const char *name = nullptr, void (*done)(void *arg, consort_group_id) = nullptr,
              void *done_arg = nullptr) {
    const consort_group_desc d{sizeof d, 0, name, done, done_arg};
    consort_group_id id{};
    detail::check(consort_group_create(control_.need(), &d, &id));
    return Group(control_, id);
  }
  // The default group's tasks. Throws the first failure since the last wait, which this collects.
  void wait(Flags<Wait> how = {}) { detail::check(consort_group_wait(control_.need(), {}, CONSORT_FOREVER, how.bits())); }
  // True: the default group's tasks have ended. False: time ran out.
  bool wait_for(Timeout timeout, Flags<Wait> how = {}) {
    return detail::in_time(consort_group_wait(control_.need(), {}, timeout.ns(), how.bits()));
  }
  // Waits for the tasks of every group. Throws the first failure that no wait has told.
  void wait_all(Flags<Wait> how = {}) { detail::check(consort_wait_all(control_.need(), CONSORT_FOREVER, how.bits())); }
  // What the default group's last wait threw, with the numbers of the task and the worker; false: nothing.
  Failure last_failure() const { return detail::last_failure(control_.need(), {}); }
  // True: all have ended. False: time ran out.
  bool wait_all_for(Timeout timeout, Flags<Wait> how = {}) {
    return detail::in_time(consort_wait_all(control_.need(), timeout.ns(), how.bits()));
  }

  // Another policy from here on, while tasks run.
  void set_scheduler(const std::string &name) {
    detail::check(consort_runtime_set_scheduler(control_.need(), name.c_str()));
  }
  // Whether tasks that start from here on are timed (the setting `profile`). Returns the value before.
  bool set_profile(bool on) {
    int32_t was = 0;
    detail::check(consort_runtime_set_profile(control_.need(), on, &was));
    return was != 0;
  }
  // Whether data registered from here on begin with the usual order (Data::set_ordered()). Returns the value before.
  bool set_ordered(bool ordered) {
    int32_t was = 0;
    detail::check(consort_runtime_set_ordered(control_.need(), ordered, &was));
    return was != 0;
  }

  // Until no task is ready or running: those left wait for a tag, a hold, or one another.
  void wait_no_ready() { detail::check(consort_wait_no_ready(control_.need(), CONSORT_FOREVER, 0)); }
  // True: no task is ready or running. False: time ran out.
  bool wait_no_ready_for(Timeout timeout) { return detail::in_time(consort_wait_no_ready(control_.need(), timeout.ns(), 0)); }

  // -- order that data do not say --
  Tag tag(uint64_t number) const noexcept { return {control_, number}; }  // Makes nothing.
  // A new bundle: a hint that its tasks had better run on one worker.
  Bundle bundle() {
    consort_bundle_id id{};
    detail::check(consort_bundle_create(control_.need(), &id));
    return {control_, id};
  }
  Task current_task() const noexcept { return {control_.live(), consort_current_task(control_.live())}; }  // whose body or callback runs here
  uint32_t current_worker() const noexcept { return consort_current_worker(control_.live()); }  // CONSORT_NONE: none

  // -- a sequence that comes again: f() submits it --

  // Records what f submits on this thread; with Recorded::and_run it runs as well. What f throws is thrown on, and
  // there is no recording.
  template <class F>
  Recording record(F &&f, Recorded how = Recorded::only) {
    consort_runtime *rt = control_.need();
    detail::check(consort_record_begin(rt, how == Recorded::only ? CONSORT_RECORD_ONLY : 0));
    consort_recording_id id{};
    try {
      f();
    } catch (...) {
      if (consort_record_end(rt, &id) >= 0) consort_recording_destroy(rt, id);
      throw;
    }
    detail::check(consort_record_end(rt, &id));
    return {control_, id};
  }

  // -- looking --

  // Counts of this moment.
  consort_info info() const {
    consort_info i{};
    i.size = sizeof i;
    detail::check(consort_get_info(control_.need(), &i));
    return i;
  }
  // The worker of that number, from 0. Throws Error (E_INVAL) where there is none.
  consort_worker_info worker(uint32_t id) const {
    consort_worker_info i{};
    i.size = sizeof i;
    detail::check(consort_get_worker(control_.need(), id, &i));
    return i;
  }
  // All there are, smaller ones first (consort/teams.h).
  std::vector<consort_team_info> teams() const {
    uint32_t n = 0;
    detail::check(consort_team_count(control_.need(), &n));
    std::vector<consort_team_info> all(n, consort_team_info{sizeof(consort_team_info), 0, nullptr, nullptr, nullptr, 0, 0});
    for (uint32_t i = 0; i < n; ++i) detail::check(consort_get_team(control_.need(), info().nworkers + i, &all[i]));
    return all;
  }
  // How many tasks of a codelet that is `counted` each worker has run.
  template <class S>
  std::vector<uint64_t> counts(const Codelet<S> &codelet) const {
    std::vector<uint64_t> per_worker(info().nworkers);
    detail::check(consort_codelet_stats(control_.need(), codelet.id(control_), per_worker.data(),
                                        static_cast<uint32_t>(per_worker.size())));
    return per_worker;
  }
  // What a memory space holds, and how often it made room. Throws Error (E_INVAL) where there is none of that number.
  consort_space_use space_use(uint32_t space) const {
    consort_space_use u = CONSORT_SPACE_USE_INIT;
    detail::check(consort_get_space_use(control_.need(), space, &u));
    return u;
  }
  // What went over the link between two spaces; all 0 where there is no direct path.
  consort_link_use link_use(uint32_t from, uint32_t to) const {
    consort_link_use u = CONSORT_LINK_USE_INIT;
    detail::check(consort_get_link_use(control_.need(), from, to, &u));
    return u;
  }
  // A text that says what a task waits for; without a task: what the runtime is doing.
  std::string explain(const Task &task = {}) const {
    std::string text(consort_explain(control_.need(), task.id(), nullptr, 0) + 256, '\0');
    const uint64_t n = consort_explain(control_.need(), task.id(), text.data(), text.size());
    text.resize(n < text.size() ? n : text.size() - 1);
    return text;
  }
  // Calls f(event) at each task's start and end, from several threads at once. Set it before the first submission. f is
  // held by reference, must outlive the runtime, and must not throw. nullptr: no calls.
  template <class F>
    requires std::is_invocable_v<F &, const consort_trace_event &>
  void trace(F &f) {
    const auto tell = [](void *user, const consort_trace_event *e) { (*static_cast<F *>(user))(*e); };
    detail::check(consort_trace(control_.need(), tell, const_cast<void *>(static_cast<const void *>(std::addressof(f)))));
  }
  void trace(std::nullptr_t) { detail::check(consort_trace(control_.need(), nullptr, nullptr)); }
  // With pump = "manual": one bit of progress of one worker. True: something was done.
  bool step(uint32_t worker) {
    return detail::check(consort_step(control_.need(), worker)) == CONSORT_OK;
  }

 private:
  void start(const Settings &s) {
    std::vector<consort_setting> pairs;
    pairs.reserve(s.pairs_.size());
    for (const auto &p : s.pairs_) pairs.push_back({p.key.c_str(), p.value.c_str()});
    consort_settings d = CONSORT_SETTINGS_INIT;
    d.file = s.file_.empty() ? nullptr : s.file_.c_str();
    d.text = s.text_.empty() ? nullptr : s.text_.c_str();
    d.set = pairs.data();
    d.nset = static_cast<uint32_t>(pairs.size());
    d.log = s.log_;
    d.log_user = s.log_user_;
    d.modules = s.modules_.data();
    d.nmodules = static_cast<uint32_t>(s.modules_.size());
    d.admit = s.admit_;
    d.admit_user = s.admit_user_;
    auto *control = new detail::Control;
    control_ = detail::Ref(control);
    consort_runtime *rt = nullptr;
    detail::check(consort_start(&d, &rt));
    control->runtime.store(rt, std::memory_order_release);
    owned_.control = control;
    owned_.log = s.log_;
    owned_.log_user = s.log_user_;
  }
  void end_and_log() noexcept {
    const consort_status status = end();
    if (status >= 0) return;
    char line[2048];
    std::snprintf(line, sizeof line,
                  owned_.control ? "~Runtime() was refused with %s, and its runtime goes on without an owner: %s"
                                 : "~Runtime() ends with %s that no call has told (stop() throws it): %s",
                  consort_status_name(status), consort_error());
    if (owned_.log) owned_.log(owned_.log_user, 0, line);
    else std::fprintf(stderr, "consort error: %s\n", line);
  }
  consort_status end() noexcept {
    if (!owned_.control) return CONSORT_OK;
    consort_runtime *rt = owned_.control->runtime.load(std::memory_order_relaxed);  // its owner wrote it
    const consort_status status = consort_stop(rt);
    if (status < 0 && is_running(rt, status)) return status;  // refused: the handle stays good
    detail::Control *control = std::exchange(owned_.control, nullptr);
    control->runtime.store(nullptr, std::memory_order_release);
    control->drop_kept();
    return status;
  }
  // After a stop that answered `failed`: a runtime that has ended may answer the same, for one of its tasks failed so.
  static bool is_running(consort_runtime *rt, consort_status failed) noexcept {
    char text[2048];
    std::snprintf(text, sizeof text, "%s", consort_error());
    consort_info info{};
    info.size = sizeof info;
    const bool running = consort_get_info(rt, &info) >= 0;
    consort_fail(failed, text);
    return running;
  }

  detail::Owned owned_;
};

inline Context::Context(Runtime &rt, const std::vector<uint32_t> &workers, const ContextOptions &options)
    : Context(rt.c(), workers, options, {}) {}

}  // namespace consort::inline face
#endif
#endif

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
#include <consort/cpp/claims.hpp>
#include <consort/cpp/codelet.hpp>
#include <consort/cpp/context.hpp>
#include <consort/cpp/data.hpp>
#include <consort/cpp/error.hpp>
#include <consort/cpp/layout.hpp>
#include <consort/cpp/order.hpp>
#include <consort/cpp/replay.hpp>
#include <consort/cpp/settings.hpp>
#include <consort/cpp/submission.hpp>
#include <consort/cpp/task.hpp>

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace consort::inline face {

// One runtime: its workers, its data and its tasks. A move-only owner; the destructor waits for every task and stops
// it.
class Runtime {
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

  // -- data: registered in place, or without a home, allocated where first written. The name is for errors --

  // Registers the elements of a contiguous range in place. With a size instead: no home.
  template <class Range>
    requires requires(Range &&range) { std::span(std::forward<Range>(range)); }
  auto vector(Range &&range, const char *name = nullptr) {
    const std::span s(std::forward<Range>(range));
    return add_vector(s.data(), s.size(), name);
  }
  template <class T>
  Data<std::span<T>> vector(std::size_t n, const char *name = nullptr) {
    return add_vector(static_cast<T *>(nullptr), n, name);
  }
  // Registers a matrix in place: nx elements a line, ny lines, ld from line to line. Without an address: no home.
  template <class T>
  Data<Matrix<T>> matrix(Matrix<T> m, const char *name = nullptr) {
    return add_matrix(m.data(), m.nx(), m.ny(), m.ld(), name);
  }
  template <class T>
  Data<Matrix<T>> matrix(T *data, std::size_t nx, std::size_t ny, std::size_t ld = 0, const char *name = nullptr) {
    return add_matrix(data, nx, ny, ld, name);
  }
  template <class T>
  Data<Matrix<T>> matrix(std::size_t nx, std::size_t ny, const char *name = nullptr) {
    return add_matrix(static_cast<T *>(nullptr), nx, ny, 0, name);
  }
  // Registers a box of nx x ny x nz elements in place; without an address: no home.
  template <class T>
  Data<Block<T>> block(Block<T> b, const char *name = nullptr) {
    const consort_block_args a{detail::Element<T>::address(b.data()), b.nx(), b.ny(), b.nz(), b.ldy(), b.ldz(),
                               sizeof(T)};
    return add<Block<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Block<T>> block(T *data, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t ldy = 0,
                       std::size_t ldz = 0, const char *name = nullptr) {
    return block(Block<T>(data, nx, ny, nz, ldy, ldz), name);
  }
  template <class T>
  Data<Block<T>> block(std::size_t nx, std::size_t ny, std::size_t nz, const char *name = nullptr) {
    return block(Block<T>(nullptr, nx, ny, nz), name);
  }
  // Registers nt boxes in place; without an address: no home.
  template <class T>
  Data<Tensor<T>> tensor(Tensor<T> t, const char *name = nullptr) {
    const consort_tensor_args a{detail::Element<T>::address(t.data()), t.nx(), t.ny(), t.nz(), t.nt(), t.ldy(),
                                t.ldz(), t.ldt(), sizeof(T)};
    return add<Tensor<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Tensor<T>> tensor(T *data, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t nt,
                         const char *name = nullptr) {
    return tensor(Tensor<T>(data, nx, ny, nz, nt), name);
  }
  template <class T>
  Data<Tensor<T>> tensor(std::size_t nx, std::size_t ny, std::size_t nz, std::size_t nt, const char *name = nullptr) {
    return tensor(Tensor<T>(nullptr, nx, ny, nz, nt), name);
  }
  // Registers one to eight dimensions in place; without an address: no home.
  template <class T>
  Data<Ndim<T>> ndim(Ndim<T> x, const char *name = nullptr) {
    consort_ndim_args a{detail::Element<T>::address(x.data()), x.dims(), {}, {}, sizeof(T)};
    for (std::size_t d = 0; d < x.sizes().size(); ++d) a.n[d] = x.n(d), a.step[d] = x.step(d);
    return add<Ndim<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Ndim<T>> ndim(T *data, std::initializer_list<std::size_t> n, std::initializer_list<std::size_t> step = {},
                     const char *name = nullptr) {
    return ndim(Ndim<T>(data, n, step), name);
  }
  template <class T>
  Data<Ndim<T>> ndim(std::initializer_list<std::size_t> n, const char *name = nullptr) {
    return ndim(Ndim<T>(nullptr, n), name);
  }
  // Registers one value in place, to be read and written, or read alone if it is const; without a value: no home.
  template <class T>
    requires(!std::is_const_v<T>)
  Data<T &> variable(T &value, const char *name = nullptr) { return add_variable<T>(&value, name); }
  template <class T>
  Data<const T &> variable(const T &value, const char *name = nullptr) { return add_variable<const T>(&value, name); }
  template <class T>
  Data<T &> variable(const char *name = nullptr) { return add_variable<T>(nullptr, name); }
  // Of memory that the application has in another space than the host's, at the address that the space's driver knows (memory.h):
  // rt.register_in<std::span<float>>(space, buffer, {n}). Packed; what has gaps is registered through the C API, and adopted.
  template <class V>
  Data<V> register_in(uint32_t space, void *address, std::initializer_list<std::size_t> sizes, const char *name = nullptr) {
    static_assert(detail::Layout<V>::is_data, "register_in<V>(): V is std::span<T>, consort::Matrix<T>, Block<T>, Tensor<T>, Ndim<T> or T&");
    if (!detail::Sizes<V>::fit(sizes.size())) detail::raise(CONSORT_E_INVAL, "register_in: give one size for each dimension of the datum");
    auto args = detail::Sizes<V>::args(sizes.begin(), sizes.size());
    args.ptr = address;
    const consort_data_desc d{sizeof d, 0, detail::Layout<V>::interface, &args, sizeof args, name};
    consort_data_id id{};
    detail::check(consort_register_in(control_.need(), &d, space, &id));
    return Data<V>(control_, id);
  }
  // A datum without contents, which only orders the tasks that name it.
  Token token(const char *name = nullptr) { return add<void>(nullptr, 0, name); }
  // Of the same layout and sizes, without a home.
  template <class V>
  Data<V> like(const Data<V> &other, const char *name = nullptr) {
    consort_data_id id{};
    detail::check(consort_register_like(control_.need(), other.id(), name, &id));
    return Data<V>(control_, id);
  }
  // A task that copies the contents of src.
  template <class V, class W>
    requires(std::is_same_v<typename detail::Layout<V>::Const, typename detail::Layout<W>::Const>)
  Task copy(Data<V> &dst, const Data<W> &src, InGroup group = {}) {
    static_assert(!detail::Layout<V>::is_const, "copy(): the destination was registered as const, nobody may write it");
    consort_task_id id{};
    consort_runtime *rt = control_.need();
    detail::check(consort_data_copy(rt, dst.id(), src.id(), group.id(), &id));
    return {rt, id};
  }
  // Owns a datum that was registered through the C API. That its layout is V's is the caller's word.
  template <class V>
  Data<V> adopt(consort_data_id registered) {
    return Data<V>(control_, registered);
  }
  // What was registered at this address, whoever owns it; null: nothing. Looks at every datum: for debugging and glue.
  consort_data_id find_data(const void *address) const {
    consort_data_id id{};
    const consort_status status = consort_find_data(control_.need(), address, &id);
    if (status != CONSORT_E_INVAL || !address) detail::check(status);
    return id;
  }

  // -- tasks: what a codelet's parameters say, in their order; tokens anywhere among them --

  // Submits a task and returns at once: data by r(x), w(x), rw(x) and the like, arguments by value, in the order of the
  // codelet's parameters. Waits only while the window of pending tasks is full. Throws Error; the task is not submitted
  // then.
  template <class S, class... A>
  Task submit(const Codelet<S> &codelet, const A &...given) { return route<Task>(nullptr, codelet, given...); }
  template <class S, class... A>
  Task submit(const Options &options, const Codelet<S> &codelet, const A &...given) {
    return route<Task>(&options, codelet, given...);
  }
  // A function where a codelet belongs.
  template <class F, class... A>
    requires(!detail::CodeletType<F> && !detail::is_options<F>)
  Task submit(const F &, const A &...) {
    static_assert(detail::never<F>, "submit() takes a codelet: const consort::Codelet c{\"name\", consort::cpu(f)}; then submit(c, ...)");
    return {};
  }
  template <class F, class... A>
    requires(!detail::CodeletType<F>)
  Task submit(const Options &, const F &, const A &...) {
    static_assert(detail::never<F>, "submit() takes a codelet: const consort::Codelet c{\"name\", consort::cpu(f)}; then submit({...}, c, ...)");
    return {};
  }
  // Where an option is misspelt the compiler names this candidate: no braces make its first parameter.
  template <class S, class... A>
  Task submit(detail::misspelt_option_see_consort_Options, const Codelet<S> &, const A &...) = delete;
  // What submit() would send, to be sent with others.
  template <class S, class... A>
  Submission prepare(const Codelet<S> &codelet, const A &...given) {
    return route<Submission>(nullptr, codelet, given...);
  }
  template <class S, class... A>
  Submission prepare(const Options &options, const Codelet<S> &codelet, const A &...given) {
    return route<Submission>(&options, codelet, given...);
  }
  // In their order. The first that fails ends it and is thrown; those before it are submitted, and in `sent`.
  void submit_list(std::span<const Submission> list, std::vector<Task> &sent) { Submission::send(control_, list, sent); }
  std::vector<Task> submit_list(std::span<const Submission> list) {
    std::vector<Task> sent;
    return submit_list(list, sent), sent;
  }
  std::vector<Task> submit_list(std::initializer_list<Submission> list) {
    return submit_list(std::span(list.begin(), list.size()));
  }
  // A task that does nothing: done when all before it on these data are, and `after`.
  template <class V, uint32_t M, class... U>
  Task sync_point(Use<V, M> first, U... more) {
    return send<Task>(nullptr, {}, claim<true>(first), claim<true>(more)...);
  }
  template <class... U>
  Task sync_point(const Options &options, U... uses) { return send<Task>(&options, {}, claim<true>(uses)...); }

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
  void wait(uint32_t flags = 0) { detail::check(consort_group_wait(control_.need(), {}, CONSORT_FOREVER, flags)); }
  // True: the default group's tasks have ended. False: time ran out.
  bool wait_for(Timeout timeout, uint32_t flags = 0) {
    return detail::in_time(consort_group_wait(control_.need(), {}, timeout.ns(), flags));
  }
  // Waits for the tasks of every group. Throws the first failure that no wait has told.
  void wait_all(uint32_t flags = 0) { detail::check(consort_wait_all(control_.need(), CONSORT_FOREVER, flags)); }
  // True: all have ended. False: time ran out.
  bool wait_all_for(Timeout timeout, uint32_t flags = 0) {
    return detail::in_time(consort_wait_all(control_.need(), timeout.ns(), flags));
  }

  // Another policy from here on, while tasks run.
  void set_scheduler(const std::string &name) {
    detail::check(consort_runtime_set_scheduler(control_.need(), name.c_str()));
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
  // f(event), told of each task's start and end, by several threads at once; before the first submission only. It is referred
  // to, and must outlive the runtime; it must not throw. nullptr: nobody is told.
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
    std::exchange(owned_.control, nullptr)->runtime.store(nullptr, std::memory_order_release);
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

  template <class T>
  Data<std::span<T>> add_vector(T *data, std::size_t n, const char *name) {
    const consort_vector_args a{detail::Element<T>::address(data), n, sizeof(T)};
    return add<std::span<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Matrix<T>> add_matrix(T *data, std::size_t nx, std::size_t ny, std::size_t ld, const char *name) {
    const consort_matrix_args a{detail::Element<T>::address(data), nx, ny, ld, sizeof(T)};
    return add<Matrix<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<T &> add_variable(T *value, const char *name) {
    const consort_variable_args a{detail::Element<T>::address(value), sizeof(T)};
    return add<T &>(&a, sizeof a, name);
  }
  template <class V>
  Data<V> add(const void *args, uint64_t bytes, const char *name) {
    const consort_data_desc d{sizeof d, 0, detail::Layout<V>::interface, args, bytes, name};
    consort_data_id id{};
    detail::check(consort_register(control_.need(), &d, &id));
    return Data<V>(control_, id);
  }

  // A use or value as it is given → as its parameter wants it.
  template <bool Passed, class V, uint32_t M>
  detail::Claim<Passed> claim(const Use<V, M> &use) const {
    if (use.home != control_.get()) [[unlikely]]
      detail::raise(CONSORT_E_INVAL,
                    "a datum of another runtime (or of none) is given to submit(); register it with the runtime that "
                    "runs the task");
    return {use.data, M};
  }
  template <class Table, std::size_t Nth, class A>
  auto bind(const A &given) const {
    if constexpr (detail::is_token_use<A>) return claim<false>(given);
    else if constexpr (std::is_same_v<A, detail::NoUse>) return detail::Value<int>{0};
    else {
      using P = typename Table::template At<Table::given(Nth)>;
      if constexpr (detail::is_use<A>) return bind_use<P>(given);
      else {
        constexpr bool argument = detail::Param<P>::kind == detail::Kind::argument;
        static_assert(argument || !detail::Datum<A>,
                      "the codelet takes a datum here, with how it is used: give r(x), w(x), rw(x) or scratch(x)");
        static_assert(argument || detail::Datum<A>,
                      "the codelet takes a datum here: register the memory, auto x = rt.vector(v), and give r(x), w(x), rw(x) or scratch(x)");
        static_assert(!argument || std::is_convertible_v<const A &, P>,
                      "the argument does not convert to what the codelet takes here");
        if constexpr (argument && std::is_convertible_v<const A &, P>) return detail::Value<P>{static_cast<P>(given)};
        else return detail::Value<int>{0};
      }
    }
  }
  template <class P, class V, uint32_t M>
  detail::Claim<true> bind_use(const Use<V, M> &use) const {
    static_assert(detail::Param<P>::kind == detail::Kind::data, "the codelet takes an argument here, not a datum");
    if constexpr (detail::Param<P>::kind == detail::Kind::data) {
      static_assert(std::is_same_v<typename detail::Layout<P>::Const, typename detail::Layout<V>::Const>,
                    "the codelet takes a datum of another layout or element here: a vector of double is none of float");
      static_assert(detail::Layout<P>::is_const || M != CONSORT_M_R,
                    "r(x) is given to a codelet that writes: make its parameter const, or give rw(x)");
      static_assert(!detail::Layout<P>::is_const || M == CONSORT_M_R, "the codelet only reads this datum: give r(x)");
    }
    return claim<true>(use);
  }
  template <class A>
  auto bind_untyped(const A &given) const {
    if constexpr (detail::is_use<A>) return claim<true>(given);
    else {
      static_assert(std::is_trivially_copyable_v<A>, "an argument is copied as bytes: it must be trivially copyable; a datum is "
                                                     "given as r(x), w(x) or rw(x) of auto x = rt.vector(v)");
      if constexpr (std::is_trivially_copyable_v<A>) return detail::Value<A>{given};
      else return detail::Value<int>{0};
    }
  }

  // Out: a Task, submitted, or a Submission, to be kept.
  template <class Out, class S, class... A>
  Out route(const Options *options, const Codelet<S> &codelet, const A &...given) {
    if constexpr (std::is_same_v<S, Untyped>) return send<Out>(options, codelet.id(control_), bind_untyped(given)...);
    else return route_typed<Out>(options, codelet, std::index_sequence_for<A...>{}, given...);
  }
  template <class Out, class S, std::size_t... J, class... A>
  Out route_typed(const Options *options, const Codelet<S> &codelet, std::index_sequence<J...>, const A &...given) {
    using Table = detail::ParamTable<S>;
    constexpr bool token[] = {detail::is_token_use<A>..., false};
    constexpr auto nth = [](const bool *tokens, std::size_t j) {
      std::size_t before = 0;
      for (std::size_t i = 0; i < j; ++i) before += !tokens[i];
      return before;
    };
    static_assert(nth(token, sizeof...(A)) == Table::ndata + Table::nargs,
                  "submit() gives more or fewer data and arguments than the codelet's function takes");
    if constexpr (nth(token, sizeof...(A)) == Table::ndata + Table::nargs)
      return send<Out>(options, codelet.id(control_), bind<Table, nth(token, J)>(given)...);
    else return {};
  }
  template <class Out, class... W>
  Out send(const Options *options, consort_codelet_id codelet, const W &...things) {
    constexpr uint32_t most_uses = (detail::claims<W> + ... + 0u), most_args = sizeof...(W) - most_uses;
    consort_use uses[most_uses + 1];
    consort_arg args[most_args + 1];
    uint32_t nuses = 0, nargs = 0;
    (detail::put_use<true>(uses, nuses, things), ...);
    (detail::put_use<false>(uses, nuses, things), ...);
    (detail::put_arg(args, nargs, things), ...);
    if constexpr (std::is_same_v<Out, Submission>) {
      Submission s;
      s.home_ = control_.get();
      s.codelet_ = codelet;
      if (options) s.options_ = *options;
      s.keep(uses, nuses, args, nargs);
      return s;
    } else {
      return send_now(options, codelet, most_uses ? uses : nullptr, nuses, most_args ? args : nullptr, nargs);
    }
  }
  [[gnu::always_inline]] Task send_now(const Options *options, consort_codelet_id codelet, const consort_use *uses, uint32_t nuses,
                                       const consort_arg *args, uint32_t nargs) {
    consort_task_desc d;
    d.size = CONSORT_TASK_BRIEF;
    d.flags = 0;
    d.codelet = codelet;
    d.uses = uses;
    d.args = args;
    d.nuses = nuses;
    d.nargs = nargs;
    d.priority = 0;
    d.worker = CONSORT_NONE;
    d.group = {};
    if (options) detail::fill(d, *options);
    consort_task_id id{};
    consort_runtime *rt = control_.need();
    if (options && options->in_order()) return send_in_order(rt, d, *options);
    detail::check(consort_submit(rt, &d, &id));
    return {rt, id};
  }
  [[gnu::noinline]] static Task send_in_order(consort_runtime *rt, consort_task_desc &d, const Options &o) {
    detail::InOrder in_order;
    in_order.take(rt, o);
    in_order.put(d, o);
    consort_task_id id{};
    detail::check(consort_submit(rt, &d, &id));
    in_order.sent = true;
    return {rt, id};
  }

  detail::Ref control_;
  detail::Owned owned_;
};

inline Context::Context(Runtime &rt, const std::vector<uint32_t> &workers, const ContextOptions &options)
    : Context(rt.c(), workers, options, {}) {}

}  // namespace consort::inline face
#endif
#endif

// The C API: programs of calls (api_program.hpp). Nothing may crash or hang, and a refusal has a text.
#include "api_program.hpp"

#include <stdexcept>

extern "C" {
#define MODULES(F) F(sim) F(variable) F(vector) F(matrix) F(void) F(eager) F(prio) F(lws) F(ws) F(random) F(dmda_policy)
#define DECLARE(id) const consort_module *consort_plugin_entry_##id(const consort_host *);
MODULES(DECLARE)
#undef DECLARE
}

namespace fuzz {

consort_entry_fn *const *api_modules(uint32_t *n) {
  static consort_entry_fn *const all[] = {
#define ENTRY(id) consort_plugin_entry_##id,
      MODULES(ENTRY)
#undef ENTRY
  };
  return *n = static_cast<uint32_t>(std::size(all)), all;
}

consort_status ApiProgram::call(const consort_call *c) {
  const Use &use = *static_cast<const Use *>(c->user);
  ApiProgram &p = *use.program;
  switch (use.body) {
    case kAdd: return CONSORT_OK;
    case kFails: return consort_fail(CONSORT_E_IO, "it fails");
    case kThrows: throw std::runtime_error("it throws");
    case kSubmits:
    case kWaits: {
      consort_task_desc t = CONSORT_TASK_INIT;
      t.codelet = p.codelets_[kAdd];
      consort_task_id child{};
      if (consort_submit(p.rt_, &t, &child) < 0 || use.body == kSubmits) return CONSORT_OK;
      return consort_task_wait(p.rt_, child, CONSORT_FOREVER, 0);
    }
  }
  return CONSORT_OK;
}

// With FUZZ_TRACE in the environment each call's place, status and text are told on stderr.
void ApiProgram::check(consort_status s, std::source_location at) {
  static const bool traced = std::getenv("FUZZ_TRACE");
  if (traced) std::fprintf(stderr, "%s:%u: %s %s\n", at.function_name(), at.line(), consort_status_name(s), s < 0 ? consort_error() : "");
  if (s < 0) expect(*consort_error() != 0, "a refusal has a text", consort_status_name(s));
}

const char *ApiProgram::scheduler() {
  static constexpr const char *kNames[] = {"eager", "prio", "lws", "ws", "random", "dmda", "nosuch"};
  return kNames[in_.below(std::size(kNames))];
}

bool ApiProgram::start() {
  const uint8_t how = in_.byte();
  calm_ = how & 1;
  const std::string seed = std::to_string(how >> 2), name = scheduler();
  nested_ = name != "dmda";
  const consort_setting set[] = {{"scheduler", name.c_str()}, {"drivers", "sim"},      {"pump", "manual"}, {"time", "virtual"},
                                 {"sim.cores", "2"},          {"sim.memory", "4K"},    {"seed", seed.c_str()}, {"keep_models", "no"},
                                 {"links", "told"},           {"sim.host_memory", "1G"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = set;
  s.nset = static_cast<uint32_t>(std::size(set));
  s.log = log;
  s.modules = api_modules(&s.nmodules);
  const consort_status started = consort_start(&s, &rt_);
  check(started);
  expect(started >= 0 || name == "nosuch", "the runtime starts", consort_error());
  return started >= 0;
}

void ApiProgram::codelets() {
  static constexpr const char *kNames[] = {"add", "fails", "throws", "submits", "waits"};
  for (uint32_t i = 0; i < kCodelets; ++i) {
    uses_[i] = {this, static_cast<Body>(i)};
    const consort_impl impls[] = {{"cpu", call, &uses_[i], nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", call, &uses_[i], nullptr, nullptr, nullptr, nullptr, 0}};
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = kNames[i];
    c.impls = impls;
    c.nimpls = i < kThrows ? 2 : 1;
    c.flags = i == kAdd ? CONSORT_CL_STATS : 0;
    codelets_.push_back({});
    expect(consort_codelet_add(rt_, &c, &codelets_.back()) >= 0, "a codelet is added", consort_error());
  }
}

void ApiProgram::submit(bool repeat) {
  static constexpr uint32_t kModes[] = {CONSORT_M_R, CONSORT_M_W, CONSORT_M_RW, CONSORT_M_RW | CONSORT_M_COMMUTE,
                                        CONSORT_M_SCRATCH, CONSORT_M_REDUX, CONSORT_M_REDUX | CONSORT_M_FIXED_TREE, CONSORT_M_R};
  consort_task_desc t = CONSORT_TASK_INIT;
  consort_use uses[4];
  consort_task_id after[2];
  consort_arg args[2] = {};
  struct consort_task_more more = CONSORT_TASK_MORE_INIT;
  const uint32_t body = in_.below(8);
  t.codelet = body < kCodelets ? codelets_[body == kWaits && (!nested_ || !calm_) ? kAdd : body] : body == 7 ? consort_codelet_id{} : codelets_[kAdd];
  if (in_.byte() == 255) t.codelet = any(codelets_);
  t.nuses = in_.below(4);
  for (uint32_t i = 0; i < t.nuses; ++i) uses[i] = {any(data_), kModes[in_.below(8)], 0};
  t.uses = uses;
  const uint8_t rare = in_.byte();
  if (rare & 1) t.priority = static_cast<int8_t>(in_.byte());
  if (rare & 2) t.worker = some_worker();
  if (rare & 4) t.group = any(groups_);
  if (rare & 8) {
    t.nafter = in_.below(3);
    for (uint32_t i = 0; i < t.nafter; ++i) after[i] = any(tasks_);
    t.after = after;
  }
  if (rare & 16) {
    t.nargs = in_.below(3);
    for (uint32_t i = 0; i < t.nargs; ++i) {
      args[i].kind = CONSORT_ARG_SCALAR;
      args[i].bytes = in_.below(10);
      args[i].scalar = in_.byte();
    }
    t.args = args;
  }
  if (rare & 32) t.flags = repeat && !calm_ ? CONSORT_TASK_REPEAT : CONSORT_TASK_UNORDERED;
  if (rare & 64 && !calm_) {
    more.flags = in_.flag() ? CONSORT_MORE_TAG : 0;
    more.tag = tag();
    more.end_holds = in_.below(4) == 0;
    more.bundle = any(bundles_);
    t.more = &more;
  }
  if (rare & 128) t.size = in_.below(4) ? CONSORT_TASK_BRIEF : in_.byte();
  consort_task_id id{};
  const consort_status s = consort_submit(rt_, &t, &id);
  check(s);
  if (s < 0) return;
  if (std::getenv("FUZZ_TRACE"))
    std::fprintf(stderr, "task of %u bytes: worker %d, flags %x, group %llx, %u after, %u uses, more %d: tag %d, %u holds\n", t.size, static_cast<int>(t.worker),
                 t.flags, static_cast<unsigned long long>(t.group.v), t.nafter, t.nuses, t.more != nullptr, static_cast<int>(more.flags), more.end_holds);
  if (t.size >= offsetof(consort_task_desc, more) + sizeof t.more && t.more && more.end_holds) held_.push_back(id);
  if (tasks_.size() < 64) tasks_.push_back(id);
}

void ApiProgram::data_call() {
  consort_data_id id{};
  switch (in_.below(9)) {
    case 0:
    case 1: {
      const uint32_t n = in_.below(kFloats + 1);
      const bool home = in_.flag();
      if (data_.size() >= 24) return;
      if (home) memory_.push_back(std::make_unique<float[]>(kFloats));
      const consort_status s = in_.flag() ? consort_register_vector(rt_, home ? memory_.back().get() : nullptr, n, sizeof(float), &id)
                                          : consort_register_matrix(rt_, home ? memory_.back().get() : nullptr, n / 8, 8, 0, sizeof(float), &id);
      check(s);
      if (s >= 0) data_.push_back(id);
      return;
    }
    case 2: return check(calm_ && !recording_ ? consort_unregister(rt_, any(data_)) : consort_unregister_later(rt_, any(data_)));
    case 3: return check(consort_unregister_later(rt_, any(data_)));
    case 4: return check(consort_invalidate(rt_, any(data_)));
    case 5: {
      const consort_data_id d = any(data_);
      return check(consort_data_set_reduction(rt_, d, codelets_[kAdd], codelets_[in_.below(kCodelets)]));
    }
    case 6: {
      const consort_data_id d = any(data_);
      return check(consort_data_set_ordered(rt_, d, in_.flag()));
    }
    case 7: {
      const consort_data_id d = any(data_);
      return check(consort_data_copy(rt_, d, any(data_), {0}, nullptr));
    }
    default: {
      const consort_status s = consort_register_like(rt_, any(data_), in_.flag() ? "like" : nullptr, &id);
      check(s);
      if (s >= 0 && data_.size() < 24) data_.push_back(id);
    }
  }
}

void ApiProgram::partition_call() {
  static constexpr const char *kFilters[] = {"blocks", "rows", "tiles", "list", "cyclic", "halves", "overlap", "slices", "nosuch"};
  if (in_.below(4) == 0) return check(consort_plan_destroy(rt_, any(plans_)));
  struct {
    uint32_t words[4];
    uint64_t sizes[4];
  } params{{in_.below(6), in_.below(3), in_.below(3), in_.below(2)}, {in_.byte(), in_.byte(), in_.byte(), in_.byte()}};
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = kFilters[in_.below(std::size(kFilters))];
  d.params = &params;
  d.params_bytes = in_.below(sizeof params + 1);
  d.flags = in_.below(3) == 0;
  consort_plan_id plan{};
  const consort_status s = consort_plan_create(rt_, any(data_), &d, &plan);
  check(s);
  if (s < 0) return;
  plans_.push_back(plan);
  consort_data_id parts[6];
  const int64_t n = consort_plan_parts(rt_, plan, parts, 6);
  for (int64_t i = 0; i < std::min<int64_t>(n, 6) && data_.size() < 40; ++i) data_.push_back(parts[i]);
}

void ApiProgram::task_call() {
  const consort_task_id t = any(tasks_);
  switch (in_.below(6)) {
    case 0: return check(consort_task_cancel(rt_, t));
    case 1: return check(consort_task_state(rt_, t));
    case 2: return check(consort_task_stop_repeating(rt_, t));
    case 3: {
      if (calm_) return;
      const consort_status s = consort_task_end_hold(rt_, t);
      check(s);
      if (s >= 0) held_.push_back(t);
      return;
    }
    case 4: {
      if (held_.empty()) return check(consort_task_end_release(rt_, t));
      check(consort_task_end_release(rt_, held_.back()));
      return held_.pop_back();
    }
    default: {
      char text[200];
      (void)consort_explain(rt_, t, text, sizeof text);
    }
  }
}

void ApiProgram::group_call() {
  switch (in_.below(5)) {
    case 0: {
      consort_group_id g{};
      const consort_status s = consort_group_create(rt_, nullptr, &g);
      check(s);
      if (s >= 0 && groups_.size() < 8) groups_.push_back(g);
      return;
    }
    case 1: {
      const consort_group_id g = any(groups_);
      return check(consort_group_wait(rt_, g, recording_ ? 0 : timeout(), 0));
    }
    case 2: return check(consort_group_cancel(rt_, any(groups_)));
    case 3: return check(consort_group_destroy(rt_, any(groups_)));
    default: {
      consort_failure f{};
      f.size = sizeof f;
      check(consort_group_failure(rt_, any(groups_), &f));
    }
  }
}

void ApiProgram::tag_call() {
  if (calm_) return;
  const uint64_t t = tag(), others[] = {tag(), tag()};
  switch (in_.below(6)) {
    case 0: return check(consort_tag_after(rt_, t, others, in_.below(3)));
    case 1: return check(consort_tag_notify(rt_, t));
    case 2: return check(consort_tag_restart(rt_, t));
    case 3: return check(consort_tag_remove(rt_, t));
    case 4: return check(consort_tag_wait(rt_, others, in_.below(3), timeout(), 0));
    default: return check(consort_tag_state(rt_, t));
  }
}

void ApiProgram::replay_call() {
  const consort_recording_id r = any(recordings_);
  switch (in_.below(7)) {
    case 0: {
      const consort_status s = consort_record_begin(rt_, in_.flag());
      check(s);
      recording_ = recording_ || s >= 0;
      return;
    }
    case 1: {
      consort_recording_id made{};
      const consort_status s = consort_record_end(rt_, &made);
      check(s);
      recording_ = false;
      if (s >= 0 && recordings_.size() < 8) recordings_.push_back(made);
      return;
    }
    case 2:
    case 3: {
      consort_task_id whole{};
      const consort_status s = consort_replay(rt_, r, any(groups_), &whole);
      check(s);
      if (s >= 0 && tasks_.size() < 64) tasks_.push_back(whole);
      return;
    }
    case 4: {
      const consort_data_id old = any(data_);
      return check(consort_recording_set_data(rt_, r, old, any(data_)));
    }
    case 5: {
      consort_arg a{};
      a.kind = CONSORT_ARG_SCALAR, a.bytes = in_.below(9), a.scalar = in_.byte();
      const uint32_t task = in_.below(4);
      check(consort_recording_set_arg(rt_, r, task, in_.below(3), &a));
      return check(consort_recording_set_priority(rt_, r, task, in_.byte()));
    }
    default: return check(calm_ && !recording_ ? consort_recording_destroy(rt_, r) : CONSORT_OK);
  }
}

void ApiProgram::context_call() {
  if (calm_) return;
  const uint32_t workers[] = {in_.below(4), in_.below(4)};
  const consort_context_id c = any(contexts_);
  const uint32_t n = in_.below(3);
  switch (in_.below(8)) {
    case 0: {
      const std::string name = scheduler();
      consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
      d.scheduler = in_.flag() ? name.c_str() : nullptr;
      d.workers = workers, d.nworkers = n, d.parent = c;
      consort_context_id made{};
      const consort_status s = consort_context_create(rt_, &d, &made);
      check(s);
      if (s >= 0 && contexts_.size() < 8) contexts_.push_back(made);
      return;
    }
    case 1: return check(consort_context_destroy(rt_, c));
    case 2: return check(consort_context_add(rt_, c, workers, n));
    case 3: return check(consort_context_remove(rt_, c, workers, n));
    case 4: return check(consort_context_move(rt_, c, any(contexts_), workers, n));
    case 5: return check(consort_context_set_scheduler(rt_, c, scheduler()));
    case 6: return check(consort_context_enter(rt_, c));
    default: return check(consort_context_leave(rt_));
  }
}

void ApiProgram::memory_call() {
  const consort_data_id d = any(data_);
  const uint32_t space = in_.below(4);
  switch (in_.below(7)) {
    case 0: {
      consort_prefetch_id w{};
      const consort_status s = consort_prefetch(rt_, d, space, in_.byte(), in_.below(3), &w);
      check(s);
      if (s >= 0 && wishes_.size() < 16) wishes_.push_back(w);
      return;
    }
    case 1: return check(consort_prefetch_cancel(rt_, any(wishes_)));
    case 2: return check(consort_wont_use(rt_, d));
    case 3: return check(consort_evict(rt_, d, space));
    case 4: return check(consort_data_set_write_through(rt_, d, in_.byte()));
    case 5: {
      uint32_t bits = 0;
      return check(consort_data_in(rt_, d, space, &bits));
    }
    default: {
      const uint32_t mode = in_.below(4);
      consort_hold h{};
      if (in_.flag() && !holds_.empty()) {
        check(consort_release(rt_, holds_.back()));
        return holds_.pop_back();
      }
      const consort_status s = consort_acquire(rt_, d, mode, recording_ ? 0 : timeout(), &h);
      check(s);
      if (s != CONSORT_OK) return;
      if (calm_) check(consort_release(rt_, h));
      else holds_.push_back(h);
    }
  }
}

void ApiProgram::wait_call() {
  if (recording_ && calm_) return;
  switch (in_.below(5)) {
    case 0: {
      const consort_task_id t = any(tasks_);
      return check(consort_task_wait(rt_, t, timeout(), in_.below(3)));
    }
    case 1: return check(consort_wait_all(rt_, timeout(), in_.flag()));
    case 2: return check(consort_wait_no_ready(rt_, calm_ ? CONSORT_FOREVER : 1000, 0));
    default:
      for (uint32_t n = in_.below(20); n > 0; --n) check(consort_step(rt_, in_.below(5)));
  }
}

void ApiProgram::look_call() {
  switch (in_.below(6)) {
    case 0: return check(consort_runtime_set_scheduler(rt_, nested_ && calm_ ? "prio" : scheduler()));
    case 1: {
      consort_bundle_id b{};
      if (in_.flag()) return check(consort_bundle_close(rt_, any(bundles_)));
      const consort_status s = consort_bundle_create(rt_, &b);
      check(s);
      if (s >= 0 && bundles_.size() < 8) bundles_.push_back(b);
      return;
    }
    case 2: {
      uint64_t counts[8];
      return check(consort_codelet_stats(rt_, any(codelets_), counts, in_.below(9)));
    }
    case 3: {
      consort_worker_info w{};
      w.size = sizeof w;
      return check(consort_get_worker(rt_, in_.byte(), &w));
    }
    case 4: {
      consort_link_info l{};
      l.size = sizeof l;
      const uint32_t from = in_.below(5);
      return check(consort_get_link(rt_, from, in_.below(5), &l));
    }
    default: {
      consort_info i{};
      i.size = in_.byte();
      return check(consort_get_info(rt_, &i));
    }
  }
}

// Lets go of all that would keep a task from ending.
void ApiProgram::end() {
  consort_recording_id made{};
  if (recording_) (void)consort_record_end(rt_, &made);
  for (const consort_hold &h : holds_) check(consort_release(rt_, h));
  for (const consort_task_id t : held_) (void)consort_task_end_release(rt_, t);
  (void)consort_stop(rt_);
}

void ApiProgram::run() {
  if (!start()) return;
  codelets();
  for (uint32_t i = 0; i < kMostCalls && !in_.empty(); ++i) {
    switch (in_.below(16)) {
      case 0: case 1: case 2: case 3: submit(false); break;
      case 4: submit(true); break;
      case 5: case 6: data_call(); break;
      case 7: partition_call(); break;
      case 8: task_call(); break;
      case 9: group_call(); break;
      case 10: tag_call(); break;
      case 11: replay_call(); break;
      case 12: context_call(); break;
      case 13: memory_call(); break;
      case 14: wait_call(); break;
      default: look_call();
    }
  }
  end();
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::ApiProgram(data, size).run();
  return 0;
}

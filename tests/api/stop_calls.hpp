// stop_calls.hpp — every call of the C API that takes a runtime, ready to be made by several threads on the same objects.
#pragma once
#include <consort/clock.h>
#include <consort/contexts.h>
#include <consort/checkpoint.h>
#include <consort/distributed.h>
#include <consort/formats.h>
#include <consort/layouts.h>
#include <consort/libraries.h>
#include <consort/memory.h>
#include <consort/model.h>
#include <consort/order.h>
#include <consort/partition.h>
#include <consort/pinned.h>
#include <consort/replay.h>
#include <consort/reports.h>
#include <consort/settings.h>
#include <consort/submitters.h>
#include <consort/teams.h>

#include "api/harness.hpp"

namespace consort_test {

// A runtime with one object of each kind.
struct Scene {
  consort_runtime *rt = nullptr;
  consort_codelet_id codelet{0}, inc{0};
  consort_data_id token{0}, vector{0}, other{0};
  consort_group_id group{0};
  consort_task_id done{0};
  consort_recording_id recording{0};
  consort_plan_id plan{0};
  consort_context_id context{0};
  int numbers[64] = {}, others[64] = {};

  static consort_status nop(const consort_call *) { return CONSORT_OK; }
  static consort_status add_one(const consort_call *c) { return ++*pointer<int>(*c, 0), CONSORT_OK; }

  explicit Scene(const Pairs &more = {}) {
    Pairs pairs = {{"workers", "2"}, {"cpu.topology", kFourCores}, {"keep_models", "no"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    need(start(pairs, &rt), "start");
    codelet = consort_test::codelet(rt, "nop", nop);
    inc = consort_test::codelet(rt, "inc", add_one, 1);
    token = token_of(rt, "token");
    vector = vector_of(rt, numbers, std::size(numbers), sizeof numbers[0], "vector");
    other = vector_of(rt, others, std::size(others), sizeof others[0], "other");
    need(consort_group_create(rt, nullptr, &group), "group");
    done = Desc(codelet).must(rt);
    need(consort_task_wait(rt, done, kLong, 0), "wait");
    need(consort_record_begin(rt, 0), "begin");
    for (int i = 0; i < 3; ++i) Desc(inc).rw(vector).must(rt);
    need(consort_record_end(rt, &recording), "end");
    need(make_plan(&plan), "plan");
    consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
    const uint32_t first = 1;
    d.workers = &first;
    d.nworkers = 1;
    need(consort_context_create(rt, &d, &context), "context");
  }
  consort_status make_plan(consort_plan_id *out) {
    const consort_split split = {2, 0};
    consort_plan_desc p = CONSORT_PLAN_INIT;
    p.filter = "blocks";
    p.params = &split;
    p.params_bytes = sizeof split;
    return consort_plan_create(rt, other, &p, out);
  }
  consort_status submit(consort_codelet_id c) { return Desc(c).to(rt); }
};

struct StopCall {
  const char *name;
  consort_status (*make)(Scene &);
};

// Makes and takes back: the first answer that is an error, else the last.
template <class... F>
consort_status first_error(F... f) {
  consort_status s = CONSORT_OK;
  (void)((s = f(), s >= 0) && ...);
  return s;
}

template <class T>
T sized() {
  T t{};
  t.size = sizeof t;
  return t;
}

#define CONSORT_STOP_CALL(name, ...) {name, [](Scene &s) -> consort_status { (void)s; __VA_ARGS__ }}

// A call of a job, or of a submitter: how it is refused depends on what other threads do with the job or the number.
inline consort_status joined(consort_status s) { return s == CONSORT_E_STOPPED ? s : CONSORT_OK; }

inline const std::vector<StopCall> &stop_calls() {
  static const std::vector<StopCall> all = {
      // -- tasks --
      CONSORT_STOP_CALL("submit", return s.submit(s.codelet);),
      CONSORT_STOP_CALL("submit_on_data", return Desc(s.inc).rw(s.vector).to(s.rt);),
      CONSORT_STOP_CALL("submit_list", Desc d(s.codelet); const consort_task_desc *list[] = {d.desc(), d.desc()};
                        return consort_submit_list(s.rt, list, 2, nullptr, nullptr);),
      CONSORT_STOP_CALL("task_wait", consort_task_id t{0}; const consort_status sent = Desc(s.codelet).to(s.rt, &t);
                        return sent < 0 ? sent : consort_task_wait(s.rt, t, kLong, 0);),
      CONSORT_STOP_CALL("submitter", const consort_status in = consort_submitter_enter(s.rt, 0, 1);
                        return joined(in < 0 ? in : consort_submitter_leave(s.rt));),
      CONSORT_STOP_CALL("task_cancel", return consort_task_cancel(s.rt, s.done);),
      CONSORT_STOP_CALL("task_state", return consort_task_state(s.rt, s.done);),
      CONSORT_STOP_CALL("wait_all", const consort_status sent = s.submit(s.codelet);
                        return sent < 0 ? sent : consort_wait_all(s.rt, kLong, 0);),
      CONSORT_STOP_CALL("wait_all_without_help", const consort_status sent = s.submit(s.codelet);
                        return sent < 0 ? sent : consort_wait_all(s.rt, kLong, CONSORT_WAIT_NO_HELP);),
      CONSORT_STOP_CALL("wait_no_ready", const consort_status sent = s.submit(s.codelet);
                        return sent < 0 ? sent : consort_wait_no_ready(s.rt, kLong, 0);),
      CONSORT_STOP_CALL("task_end", Desc d(s.codelet); consort_task_more more = CONSORT_TASK_MORE_INIT; more.end_holds = 1;
                        d.d.more = &more; consort_task_id t{0}; const consort_status sent = d.to(s.rt, &t);
                        if (sent < 0) return sent;
                        (void)consort_task_end_hold(s.rt, t); (void)consort_task_end_release(s.rt, t);
                        return consort_task_end_release(s.rt, t);),
      CONSORT_STOP_CALL("task_stop_repeating", return consort_task_stop_repeating(s.rt, s.done);),
      CONSORT_STOP_CALL("current", (void)consort_current_task(s.rt); (void)consort_current_worker(s.rt);
                        return consort_task_state(s.rt, s.done);),
      CONSORT_STOP_CALL("run_on_each", return consort_run_on_each(s.rt, "cpu", Scene::nop, nullptr);),
      // -- codelets --
      CONSORT_STOP_CALL("codelet", const consort_impl impl = {"cpu", Scene::nop, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
                        consort_codelet d = CONSORT_CODELET_INIT; d.name = "short-lived"; d.impls = &impl; d.nimpls = 1;
                        consort_codelet_id id{0};
                        return first_error([&] { return consort_codelet_add(s.rt, &d, &id); },
                                           [&] { return s.submit(id); },
                                           [&] { return consort_codelet_remove(s.rt, id); });),
      CONSORT_STOP_CALL("codelet_stats", uint64_t n[2]; return consort_codelet_stats(s.rt, s.codelet, n, 2);),
      CONSORT_STOP_CALL("codelet_set_model", const consort_model m = CONSORT_MODEL_INIT;
                        return consort_codelet_set_model(s.rt, s.inc, CONSORT_MODEL_TIME, &m);),
      CONSORT_STOP_CALL("expected", Desc d(s.inc); d.rw(s.vector); double x = 0;
                        return consort_expected(s.rt, d.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, &x);),
      CONSORT_STOP_CALL("model_feed", Desc d(s.inc); d.rw(s.vector);
                        return consort_model_feed(s.rt, d.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, 1000);),
      CONSORT_STOP_CALL("model_rows", return consort_model_rows(s.rt, {0}, [](void *, const consort_model_row *) {}, nullptr);),
      CONSORT_STOP_CALL("model_curves",
                        return consort_model_curves(s.rt, {0}, [](void *, const consort_model_curve *) {}, nullptr);),
      // -- data --
      CONSORT_STOP_CALL("register", int x = 0; const consort_variable_args a{&x, sizeof x};
                        const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, nullptr}; consort_data_id id{0};
                        return first_error([&] { return consort_register(s.rt, &d, &id); },
                                           [&] { return Desc(s.inc).rw(id).to(s.rt); },
                                           [&] { return consort_unregister(s.rt, id); });),
      CONSORT_STOP_CALL("unregister_wait", int x = 0; const consort_variable_args a{&x, sizeof x};
                        const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, nullptr}; consort_data_id id{0};
                        return first_error([&] { return consort_register(s.rt, &d, &id); },
                                           [&] { return Desc(s.inc).rw(id).to(s.rt); },
                                           [&] { return consort_unregister_wait(s.rt, id, CONSORT_WAIT_KEEP_FAILURE); });),
      CONSORT_STOP_CALL("library_start", return consort_library_start(s.rt, "cpu", "none");),
      CONSORT_STOP_CALL("register_in", const consort_data_desc d{sizeof d, 0, "void", nullptr, 0, nullptr};
                        consort_data_id id{0};
                        return first_error([&] { return consort_register_in(s.rt, &d, 0, &id); },
                                           [&] { return consort_unregister_later(s.rt, id); });),
      CONSORT_STOP_CALL("register_like", consort_data_id id{0};
                        return first_error([&] { return consort_register_like(s.rt, s.vector, nullptr, &id); },
                                           [&] { return consort_unregister_later(s.rt, id); });),
      CONSORT_STOP_CALL("invalidate", return consort_invalidate(s.rt, s.token);),
      CONSORT_STOP_CALL("acquire", consort_hold h{};
                        return first_error([&] { return consort_acquire(s.rt, s.vector, CONSORT_M_RW, kLong, &h); },
                                           [&] { return consort_release(s.rt, h); });),
      CONSORT_STOP_CALL("acquire_later", return consort_acquire_later(s.rt, s.token, CONSORT_M_RW,
                        [](void *rt, consort_status granted, const consort_hold *h) {
                          if (granted >= 0) (void)consort_release(static_cast<consort_runtime *>(rt), *h);
                        }, s.rt);),
      CONSORT_STOP_CALL("data_copy", return consort_data_copy(s.rt, s.vector, s.other, {0}, nullptr);),
      CONSORT_STOP_CALL("find_data", consort_data_id id{0}; return consort_find_data(s.rt, s.numbers, &id);),
      CONSORT_STOP_CALL("data_set_ordered", return consort_data_set_ordered(s.rt, s.token, 1);),
      CONSORT_STOP_CALL("data_set_reduction", return consort_data_set_reduction(s.rt, s.token, s.inc, s.codelet);),
      CONSORT_STOP_CALL("data_add_format", const consort_format_desc d = CONSORT_FORMAT_INIT;
                        const consort_status got = consort_data_add_format(s.rt, s.token, &d);
                        return got == CONSORT_E_INVAL ? consort_task_state(s.rt, s.done) : got;),
      CONSORT_STOP_CALL("prefetch", consort_prefetch_id id{0};
                        return first_error([&] { return consort_prefetch(s.rt, s.vector, 0, 0, 0, &id); },
                                           [&] { return (void)consort_prefetch_cancel(s.rt, id), CONSORT_OK; });),
      CONSORT_STOP_CALL("wont_use", return consort_wont_use(s.rt, s.vector);),
      CONSORT_STOP_CALL("evict", return consort_evict(s.rt, s.vector, 0);),
      CONSORT_STOP_CALL("data_set_write_through", return consort_data_set_write_through(s.rt, s.vector, 0);),
      CONSORT_STOP_CALL("data_in", uint32_t bits = 0; return consort_data_in(s.rt, s.vector, 0, &bits);),
      CONSORT_STOP_CALL("plan", consort_plan_id p{0}; consort_data_id parts[2];
                        return first_error([&] { return s.make_plan(&p); },
                                           [&] { return static_cast<consort_status>(consort_plan_parts(s.rt, p, parts, 2)); },
                                           [&] { return Desc(s.inc).rw(parts[0]).to(s.rt); },
                                           [&] { return consort_plan_destroy(s.rt, p); });),
      CONSORT_STOP_CALL("malloc", void *p = nullptr;
                        return first_error([&] { return consort_malloc(s.rt, 64, 0, &p); },
                                           [&] { return consort_free(s.rt, p); });),
      CONSORT_STOP_CALL("pin", char bytes[64]; uint32_t n = 0;
                        return first_error([&] { return consort_pin(s.rt, bytes, sizeof bytes, &n); },
                                           [&] { return consort_unpin(s.rt, bytes); });),
      // -- groups, tags, bundles --
      CONSORT_STOP_CALL("group", consort_group_id g{0};
                        return first_error([&] { return consort_group_create(s.rt, nullptr, &g); },
                                           [&] { return Desc(s.codelet).in(g).to(s.rt); },
                                           [&] { return consort_group_wait(s.rt, g, kLong, 0); },
                                           [&] { return consort_group_destroy(s.rt, g); });),
      CONSORT_STOP_CALL("group_wait", const consort_status sent = Desc(s.codelet).in(s.group).to(s.rt);
                        return sent < 0 ? sent : consort_group_wait(s.rt, s.group, kLong, 0);),
      CONSORT_STOP_CALL("group_cancel", consort_group_id g{0};
                        return first_error([&] { return consort_group_create(s.rt, nullptr, &g); },
                                           [&] { return consort_group_cancel(s.rt, g); },
                                           [&] { return consort_group_destroy(s.rt, g); });),
      CONSORT_STOP_CALL("group_fd", int fd = -1; return consort_group_fd(s.rt, s.group, &fd);),
      CONSORT_STOP_CALL("group_failure", auto f = sized<consort_failure>(); return consort_group_failure(s.rt, s.group, &f);),
      CONSORT_STOP_CALL("tag_after", const uint64_t first = 1; return consort_tag_after(s.rt, 2, &first, 1);),
      CONSORT_STOP_CALL("tag_notify", return consort_tag_notify(s.rt, 3);),
      CONSORT_STOP_CALL("tag_restart", return consort_tag_restart(s.rt, 4);),
      CONSORT_STOP_CALL("tag_remove", const consort_status got = consort_tag_remove(s.rt, 5);
                        return got == CONSORT_E_INVAL ? CONSORT_OK : got;),
      CONSORT_STOP_CALL("tag_state", return consort_tag_state(s.rt, 1);),
      CONSORT_STOP_CALL("tag_wait", const uint64_t never = 99; return consort_tag_wait(s.rt, &never, 1, kLong, 0);),
      CONSORT_STOP_CALL("bundle", consort_bundle_id b{0};
                        return first_error([&] { return consort_bundle_create(s.rt, &b); },
                                           [&] { return consort_bundle_close(s.rt, b); });),
      // -- recordings --
      CONSORT_STOP_CALL("record", consort_recording_id r{0};
                        return first_error([&] { return consort_record_begin(s.rt, CONSORT_RECORD_ONLY); },
                                           [&] {
                                             (void)Desc(s.inc).rw(s.vector).to(s.rt);  // it may be refused
                                             const consort_status got = consort_record_end(s.rt, &r);
                                             return got == CONSORT_E_INVAL ? CONSORT_E_STOPPED : got;
                                           },
                                           [&] { return consort_recording_destroy(s.rt, r); });),
      CONSORT_STOP_CALL("replay", return consort_replay(s.rt, s.recording, {0}, nullptr);),
      CONSORT_STOP_CALL("recording_get_info", auto i = sized<consort_recording_info>();
                        return consort_recording_get_info(s.rt, s.recording, &i);),
      CONSORT_STOP_CALL("recording_set_data", return consort_recording_set_data(s.rt, s.recording, s.vector, s.vector);),
      CONSORT_STOP_CALL("recording_set_priority", return consort_recording_set_priority(s.rt, s.recording, 0, 1);),
      CONSORT_STOP_CALL("recording_set_arg", const consort_arg a = scalar(1);
                        const consort_status got = consort_recording_set_arg(s.rt, s.recording, 0, 0, &a);
                        return got == CONSORT_E_INVAL ? CONSORT_OK : got;),
      CONSORT_STOP_CALL("get_repeats", auto r = sized<consort_repeats>(); return consort_get_repeats(s.rt, &r);),
      // -- contexts --
      CONSORT_STOP_CALL("context", consort_context_id c{0}; consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
                        return first_error([&] { return consort_context_create(s.rt, &d, &c); },
                                           [&] { return consort_context_destroy(s.rt, c); });),
      CONSORT_STOP_CALL("context_move", const uint32_t w = 1;
                        (void)consort_context_remove(s.rt, s.context, &w, 1);
                        const consort_status got = consort_context_add(s.rt, s.context, &w, 1);
                        (void)consort_context_move(s.rt, {0}, s.context, &w, 1);
                        return got == CONSORT_E_INVAL || got == CONSORT_E_STALE ? CONSORT_OK : got;),
      CONSORT_STOP_CALL("context_set_scheduler", return consort_context_set_scheduler(s.rt, s.context, "eager");),
      CONSORT_STOP_CALL("context_submit", const consort_status in = consort_context_enter(s.rt, s.context);
                        if (in < 0) return in == CONSORT_E_STALE ? s.submit(s.codelet) : in;
                        (void)s.submit(s.codelet); (void)consort_context_leave(s.rt);
                        return consort_context_wait(s.rt, s.context, kLong, 0);),
      CONSORT_STOP_CALL("context_looks", consort_context_id c{0}; uint32_t n = 0; auto i = sized<consort_context_info>();
                        (void)consort_context_current(s.rt, &c); (void)consort_get_context(s.rt, {0}, &i);
                        (void)consort_context_workers(s.rt, {0}, nullptr, 0, &n); (void)consort_context_of_worker(s.rt, 0, &c);
                        return consort_context_list(s.rt, nullptr, 0, &n);),
      // -- a job of one rank --
      CONSORT_STOP_CALL("job_looks", (void)consort_job_join(s.rt, nullptr);
                        auto i = sized<consort_job_info>(); uint32_t owner = 0;
                        (void)consort_job_get(s.rt, &i); (void)consort_job_rank(s.rt, 0, nullptr);
                        (void)consort_data_owner(s.rt, s.vector, &owner, nullptr);
                        (void)consort_job_abort(s.rt, "a test");
                        return joined(consort_job_barrier(s.rt, kLong));),
      CONSORT_STOP_CALL("job_data", (void)consort_job_join(s.rt, nullptr);
                        (void)consort_data_distribute(s.rt, s.vector, 7, 0); (void)consort_data_migrate(s.rt, s.vector, 0);
                        (void)consort_data_fetch(s.rt, s.vector, 0); (void)consort_data_flush(s.rt, s.vector);
                        (void)consort_data_scatter(s.rt, &s.vector, 1, 0); (void)consort_data_gather(s.rt, &s.vector, 1, 0);
                        (void)consort_data_reduce(s.rt, &s.vector, 1, s.codelet);
                        return joined(consort_data_broadcast(s.rt, s.vector));),
      CONSORT_STOP_CALL("job_submit", (void)consort_job_join(s.rt, nullptr); Desc d(s.inc); d.rw(s.vector);
                        return joined(consort_job_submit(s.rt, d.desc(), nullptr, nullptr));),
      CONSORT_STOP_CALL("job_messages", (void)consort_job_join(s.rt, nullptr);
                        consort_message m = CONSORT_MESSAGE_INIT; m.data = s.vector; m.rank = 9;  // refused: no such rank
                        (void)consort_send(s.rt, &m, nullptr); return joined(consort_receive(s.rt, &m, nullptr));),
      CONSORT_STOP_CALL("job_checkpoints", (void)consort_job_join(s.rt, nullptr); auto i = sized<consort_checkpoint_info>();
                        (void)consort_checkpoint_found(s.rt, &i);  // refused: no folder is set
                        consort_checkpoint_desc c = CONSORT_CHECKPOINT_INIT; (void)consort_checkpoint_save(s.rt, &c, nullptr);
                        return joined(consort_checkpoint_restore(s.rt, nullptr, 0));),
      // -- the rest --
      CONSORT_STOP_CALL("set_scheduler", static std::atomic<uint32_t> turn{0}; static const char *const names[] = {"eager", "lws"};
                        return consort_runtime_set_scheduler(s.rt, names[turn.fetch_add(1) % 2]);),
      CONSORT_STOP_CALL("set_profile", static std::atomic<uint32_t> turn{0};
                        return consort_runtime_set_profile(s.rt, turn.fetch_add(1) % 2, nullptr);),
      CONSORT_STOP_CALL("set_ordered", int32_t was; return consort_runtime_set_ordered(s.rt, 1, &was);),
      CONSORT_STOP_CALL("get_info", auto i = sized<consort_info>(); return consort_get_info(s.rt, &i);),
      CONSORT_STOP_CALL("get_worker", auto i = sized<consort_worker_info>(); return consort_get_worker(s.rt, 0, &i);),
      CONSORT_STOP_CALL("get_space", auto i = sized<consort_space_info>(); auto u = sized<consort_space_use>();
                        (void)consort_get_space(s.rt, 0, &i); return consort_get_space_use(s.rt, 0, &u);),
      CONSORT_STOP_CALL("get_link", auto i = sized<consort_link_info>(); auto u = sized<consort_link_use>();
                        (void)consort_get_link(s.rt, 0, 0, &i); return consort_get_link_use(s.rt, 0, 0, &u);),
      CONSORT_STOP_CALL("teams", uint32_t n = 0; auto i = sized<consort_team_info>(); (void)consort_get_team(s.rt, 9, &i);
                        (void)consort_team_can_run(s.rt, 0, s.codelet); return consort_team_count(s.rt, &n);),
      CONSORT_STOP_CALL("explain", char text[256]; (void)consort_explain(s.rt, {0}, text, sizeof text);
                        return consort_task_state(s.rt, s.done);),
      CONSORT_STOP_CALL("now", uint64_t ns = 0; return consort_now(s.rt, &ns);),
      CONSORT_STOP_CALL("step", return consort_step(s.rt, 0);),
      CONSORT_STOP_CALL("trace", return consort_trace(s.rt, nullptr, nullptr);),
      CONSORT_STOP_CALL("reports", const auto line = [](void *, const char *) {};
                        (void)consort_report_now(s.rt, "bound", line, nullptr); return consort_report_begin(s.rt);),
      CONSORT_STOP_CALL("get_progress", auto p = sized<consort_progress>(); return consort_get_progress(s.rt, &p);),
      CONSORT_STOP_CALL("trace_select", return consort_trace_select(s.rt, CONSORT_TRACE_TASKS);),
  };
  return all;
}
#undef CONSORT_STOP_CALL

}  // namespace consort_test

// Each count of the public C API that goes with a pointer: a count above 0 with NULL is refused with a message. So is a
// description whose sizes, modes or counts contradict one another.
#include <consort/contexts.h>
#include <consort/model.h>
#include <consort/reports.h>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

consort_status fine(const consort_call *) { return CONSORT_OK; }

struct Machine {
  Rt rt{{{"pump", "manual"}, {"workers", "2"}, {"cpu.topology", kFourCores}}};
  int x = 0;
  consort_data_id data = variable_of(rt, &x);
  consort_codelet_id codelet = consort_test::codelet(rt, "c", fine);
  consort_codelet_id counted = [this] {
    const consort_impl i = {"cpu", fine, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    return codelet_of(rt, "counted", {&i, 1}, CONSORT_CL_STATS);
  }();
};

consort_settings settings(uint32_t nset, uint32_t nmodules) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.nset = nset;
  s.nmodules = nmodules;
  return s;
}
consort_codelet good_codelet() {
  static const consort_impl impl = {"cpu", fine, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, 0};
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "c", d.impls = &impl, d.nimpls = 1;
  return d;
}

// A call with a count above 0 and no list. The answer is a status below 0.
struct Pair {
  const char *name;
  int64_t (*call)(Machine &);
};

// The answer, and its words, over the calls that clean up.
template <class CleanUp>
int64_t kept(int64_t answer, CleanUp clean_up) {
  const std::string said = consort_error();
  clean_up();
  return answer < 0 ? consort_fail(static_cast<consort_status>(answer), said.c_str()) : answer;
}

// `call` on a context of one worker, with a count of 1 and no list.
int64_t without_workers(Machine &s, uint32_t worker,
                        consort_status (*call)(consort_runtime *, consort_context_id, const uint32_t *, uint32_t)) {
  consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
  d.workers = &worker, d.nworkers = 1;
  consort_context_id c{};
  need(consort_context_create(s.rt, &d, &c), "context");
  return kept(call(s.rt, c, nullptr, 1), [&] { need(consort_context_destroy(s.rt, c), "destroy"); });
}

const Pair kPairs[] = {
    {"consort_start: set", [](Machine &) -> int64_t {
       consort_runtime *out;
       const auto s = settings(2, 0);
       return consort_start(&s, &out);
     }},
    {"consort_start: modules", [](Machine &) -> int64_t {
       consort_runtime *out;
       const auto s = settings(0, 2);
       return consort_start(&s, &out);
     }},
    {"consort_list_plugins: set", [](Machine &) -> int64_t {
       const auto s = settings(2, 0);
       return consort_list_plugins(&s, 0, [](void *, const consort_plugin_row *) {}, nullptr);
     }},
    {"consort_list_plugins: modules", [](Machine &) -> int64_t {
       const auto s = settings(0, 2);
       return consort_list_plugins(&s, 0, [](void *, const consort_plugin_row *) {}, nullptr);
     }},
    {"consort_list_config: set", [](Machine &) -> int64_t {
       const auto s = settings(2, 0);
       return consort_list_config(&s, [](void *, const consort_config_row *) {}, nullptr);
     }},
    {"consort_list_models: set", [](Machine &) -> int64_t {
       const auto s = settings(2, 0);
       return consort_list_models(&s, [](void *, const consort_model_file *) {}, nullptr, nullptr);
     }},
    {"consort_report_file: set", [](Machine &) -> int64_t {
       const auto s = settings(2, 0);
       return consort_report_file(&s, "summary", "/dev/null", [](void *, const char *) {}, nullptr);
     }},
    {"consort_keep_model: set", [](Machine &) -> int64_t {
       const auto s = settings(2, 0);
       return consort_keep_model(&s, "m", CONSORT_MODEL_TIME, nullptr, 0, nullptr, 0);
     }},
    {"consort_keep_model: rows", [](Machine &) -> int64_t {
       return consort_keep_model(nullptr, "m", CONSORT_MODEL_TIME, nullptr, 3, nullptr, 0);
     }},
    {"consort_codelet_add: impls", [](Machine &s) -> int64_t {
       consort_codelet d = good_codelet();
       d.impls = nullptr, d.nimpls = 2;
       consort_codelet_id out;
       return consort_codelet_add(s.rt, &d, &out);
     }},
    {"consort_codelet_add: args of a kernel", [](Machine &s) -> int64_t {
       consort_portable how = CONSORT_PORTABLE_INIT;
       how.nargs = 2;
       const consort_impl impl = {"cpu", nullptr, &how, nullptr, "cl", "text", "entry", 0};
       consort_codelet d = good_codelet();
       d.impls = &impl;
       consort_codelet_id out;
       return consort_codelet_add(s.rt, &d, &out);
     }},
    {"consort_codelet_stats: per_worker",
     [](Machine &s) -> int64_t { return consort_codelet_stats(s.rt, s.counted, nullptr, 2); }},
    {"consort_register: args", [](Machine &s) -> int64_t {
       const consort_data_desc d{sizeof d, 0, "vector", nullptr, sizeof(consort_vector_args), nullptr};
       consort_data_id out;
       return consort_register(s.rt, &d, &out);
     }},
    {"consort_submit: uses", [](Machine &s) -> int64_t {
       consort_task_desc d = CONSORT_TASK_INIT;
       d.codelet = s.codelet, d.nuses = 1;
       return consort_submit(s.rt, &d, nullptr);
     }},
    {"consort_submit: uses, brief", [](Machine &s) -> int64_t {
       consort_task_desc d = CONSORT_TASK_INIT;
       d.size = CONSORT_TASK_BRIEF, d.codelet = s.codelet, d.nuses = 1;
       return consort_submit(s.rt, &d, nullptr);
     }},
    {"consort_submit: args", [](Machine &s) -> int64_t {
       consort_task_desc d = CONSORT_TASK_INIT;
       d.codelet = s.codelet, d.nargs = 1;
       return consort_submit(s.rt, &d, nullptr);
     }},
    {"consort_submit: after", [](Machine &s) -> int64_t {
       consort_task_desc d = CONSORT_TASK_INIT;
       d.codelet = s.codelet, d.nafter = 1;
       return consort_submit(s.rt, &d, nullptr);
     }},
    {"consort_submit: end_after", [](Machine &s) -> int64_t {
       consort_task_more more = CONSORT_TASK_MORE_INIT;
       more.nend_after = 1;
       consort_task_desc d = CONSORT_TASK_INIT;
       d.codelet = s.codelet, d.more = &more;
       return consort_submit(s.rt, &d, nullptr);
     }},
    {"consort_submit_list: tasks",
     [](Machine &s) -> int64_t { return consort_submit_list(s.rt, nullptr, 2, nullptr, nullptr); }},
    {"consort_submit_list: a task of the list", [](Machine &s) -> int64_t {
       const consort_task_desc *none = nullptr;
       return consort_submit_list(s.rt, &none, 1, nullptr, nullptr);
     }},
    {"consort_tag_after: others", [](Machine &s) -> int64_t { return consort_tag_after(s.rt, 1, nullptr, 2); }},
    {"consort_tag_wait: tags", [](Machine &s) -> int64_t { return consort_tag_wait(s.rt, nullptr, 2, 0, 0); }},
    {"consort_expected: uses", [](Machine &s) -> int64_t {
       consort_task_desc d = CONSORT_TASK_INIT;
       d.codelet = s.codelet, d.nuses = 1;
       double out;
       return consort_expected(s.rt, &d, 0, 0, CONSORT_MODEL_TIME, &out);
     }},
    {"consort_model_feed: uses", [](Machine &s) -> int64_t {
       consort_task_desc d = CONSORT_TASK_INIT;
       d.codelet = s.codelet, d.nuses = 1;
       return consort_model_feed(s.rt, &d, 0, 0, CONSORT_MODEL_TIME, 1);
     }},
    {"consort_codelet_set_model: factors", [](Machine &s) -> int64_t {
       consort_model m = CONSORT_MODEL_INIT;
       m.kind = CONSORT_MODEL_COMMON, m.nfactors = 2;
       m.cost = [](void *, const consort_model_ask *) { return 1.0; };
       return consort_codelet_set_model(s.rt, s.codelet, CONSORT_MODEL_TIME, &m);
     }},
    {"consort_codelet_set_model: exponents", [](Machine &s) -> int64_t {
       consort_model m = CONSORT_MODEL_INIT;
       m.kind = CONSORT_MODEL_TERMS, m.nterms = 2, m.nmeasures = 1;
       m.measure = [](void *, const consort_model_ask *, double *) {};
       return consort_codelet_set_model(s.rt, s.codelet, CONSORT_MODEL_TIME, &m);
     }},
    {"consort_fit: x and y", [](Machine &) -> int64_t {
       consort_model_curve out;
       return consort_fit(CONSORT_MODEL_LINEAR, nullptr, nullptr, 3, &out);
     }},
    {"consort_context_create: workers", [](Machine &s) -> int64_t {
       consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
       d.workers = nullptr, d.nworkers = 1;
       consort_context_id out;
       return consort_context_create(s.rt, &d, &out);
     }},
    {"consort_context_add: workers", [](Machine &s) { return without_workers(s, 0, consort_context_add); }},
    {"consort_context_remove: workers", [](Machine &s) { return without_workers(s, 1, consort_context_remove); }},
    {"consort_context_move: workers", [](Machine &s) -> int64_t { return consort_context_move(s.rt, {0}, {0}, nullptr, 1); }},
    {"consort_context_workers: out", [](Machine &s) -> int64_t {
       uint32_t n;
       return consort_context_workers(s.rt, {0}, nullptr, 2, &n);
     }},
    {"consort_context_list: out", [](Machine &s) -> int64_t {
       uint32_t n;
       return consort_context_list(s.rt, nullptr, 2, &n);
     }},
    {"consort_plan_create: params", [](Machine &s) -> int64_t {
       consort_plan_desc d = CONSORT_PLAN_INIT;
       d.filter = "blocks", d.params_bytes = sizeof(consort_split);
       consort_plan_id out;
       return consort_plan_create(s.rt, s.data, &d, &out);
     }},
    {"consort_plan_parts: out", [](Machine &s) -> int64_t {
       std::vector<int> v(4);
       const consort_data_id x = vector_of(s.rt, v.data(), 4, sizeof(int));
       const consort_split half{2, 0};
       consort_plan_desc d = CONSORT_PLAN_INIT;
       d.filter = "blocks", d.params = &half, d.params_bytes = sizeof half;
       consort_plan_id plan;
       need(consort_plan_create(s.rt, x, &d, &plan), "plan");
       return kept(consort_plan_parts(s.rt, plan, nullptr, 2), [&] { need(consort_unregister(s.rt, x), "unregister"); });
     }},
};

TEST(ArgumentCounts, RefusesACountWithANullPointer) {
  Machine machine;
  for (const Pair &p : kPairs) {
    SCOPED_TRACE(p.name);
    const int64_t answer = p.call(machine);
    EXPECT_LT(answer, 0);
    EXPECT_NE(std::string(consort_error()), "") << "refused without a word";
  }
  EXPECT_OK(Desc(machine.codelet).rw(machine.data).to(machine.rt)) << "the runtime works as before";
  EXPECT_OK(consort_wait_all(machine.rt, kLong, 0));
}

TEST(ArgumentCounts, ExplainAcceptsNoBuffer) {
  Machine machine;
  EXPECT_GT(consort_explain(machine.rt, {0}, nullptr, 100), 0u);
}

struct Odd {
  const char *name;
  void (*change)(consort_codelet &);
  const char *says;
};

const uint32_t kNoMode[] = {0}, kUnknownBit[] = {CONSORT_M_R | 1u << 30}, kTwoModes[] = {CONSORT_M_R, CONSORT_M_R | CONSORT_M_REDUX},
               kRead[] = {CONSORT_M_R}, kHint[] = {CONSORT_M_R | CONSORT_M_LOCALITY};

const Odd kOdd[] = {
    {"size 0", [](consort_codelet &d) { d.size = 0; }, "size is 0"},
    {"size without can_execute", [](consort_codelet &d) { d.size = 16; }, "size is 16"},
    {"size of an uninitialised word", [](consort_codelet &d) { d.size = 0xdeadbeef; }, "size is 3735928559"},
    {"33 implementations", [](consort_codelet &d) { d.nimpls = 33; }, "33 implementations"},
    {"more data than a task has", [](consort_codelet &d) { d.nmodes = 1 << 20; }, "nmodes 1048576"},
    {"modes of any number", [](consort_codelet &d) { d.modes = kRead; }, "nmodes is CONSORT_NONE"},
    {"no mode", [](consort_codelet &d) { d.nmodes = 1, d.modes = kNoMode; }, "modes[0] 0x0"},
    {"a bit that is no mode's", [](consort_codelet &d) { d.nmodes = 1, d.modes = kUnknownBit; }, "modes[0] 0x40000001"},
    {"modes that exclude each other", [](consort_codelet &d) { d.nmodes = 2, d.modes = kTwoModes; }, "modes[1]"},
    {"a hint, which no submission is checked for", [](consort_codelet &d) { d.nmodes = 1, d.modes = kHint; }, "modes[0]"},
    {"unknown flags", [](consort_codelet &d) { d.flags = 1u << 31; }, "flags"},
};

TEST(ArgumentCounts, RefusesInconsistentCodelets) {
  Machine machine;
  for (const Odd &o : kOdd) {
    SCOPED_TRACE(o.name);
    consort_codelet d = good_codelet();
    o.change(d);
    consort_codelet_id out;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(machine.rt, &d, &out), o.says);
  }
  consort_codelet number = good_codelet();
  number.nmodes = 1;  // checked for their number alone
  consort_codelet_id out;
  EXPECT_OK(consort_codelet_add(machine.rt, &number, &out));
}

}  // namespace

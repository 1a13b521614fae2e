// codelets.cpp — consort.h, order.h: statistics of codelets, and a function run on each worker.
#include "api/entry.hpp"
#include "base/suggestion.hpp"

using namespace consort;

namespace {

// Submits one bound task for each worker of the class, in a group of its own. Tasks already submitted are awaited, also
// on an error.
consort_status run_on_each(consort_runtime *shell, Runtime &rt, const char *klass, consort_call_fn *fn, void *user) {
  std::vector<consort_impl> impls;
  for (uint32_t bit = 0; bit < rt.topology->classes().size(); ++bit) {
    const char *const c = rt.topology->classes()[bit];
    if (klass && std::string_view(c) != klass) continue;
    impls.push_back({c, fn, user, nullptr, nullptr, nullptr, nullptr, 0});
    const std::string &runs = rt.topology->runs(bit);
    if (!runs.empty()) impls.push_back({runs.c_str(), fn, user, nullptr, nullptr, nullptr, nullptr, 0});
  }
  if (impls.empty()) {
    const std::vector<std::string> classes(rt.topology->classes().begin(), rt.topology->classes().end());
    return set_error(CONSORT_E_INVAL,
                     "no worker here is of class \"" + std::string(klass) + "\"" + did_you_mean(klass, classes));
  }
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "on each worker";
  desc.impls = impls.data();
  desc.nimpls = static_cast<uint32_t>(impls.size());
  consort_codelet_id codelet{};
  consort_group_id group{};
  if (const consort_status s = consort_codelet_add(shell, &desc, &codelet); s < 0) return s;
  consort_status status = consort_group_create(shell, nullptr, &group);
  std::string text = status < 0 ? error_text() : "";
  if (status >= 0) {
    consort_task_desc task = CONSORT_TASK_INIT;
    task.codelet = codelet;
    task.group = group;
    for (const auto &w : rt.workers) {
      if (klass && std::string_view(w->unit.desc.klass) != klass) continue;
      task.worker = w->id;
      if ((status = consort_submit(shell, &task, nullptr)) >= 0) continue;
      text = error_text();
      break;
    }
    const consort_status ended = consort_group_wait(shell, group, CONSORT_FOREVER, 0);
    if (status >= 0 && ended < 0) status = ended, text = error_text();
    consort_group_destroy(shell, group);
  }
  consort_codelet_remove(shell, codelet);
  return status < 0 ? set_error(status, text) : CONSORT_OK;
}

}  // namespace

extern "C" {

consort_status consort_codelet_stats(consort_runtime *shell, consort_codelet_id id, uint64_t *per_worker, uint32_t n) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  const Codelet *c = rt->codelets.find(id);
  if (!c || !c->live.load(std::memory_order_acquire))
    return rt->codelets.ever_gave(id)
               ? set_error(CONSORT_E_STALE, "the codelet was removed: its handle is stale")
               : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
  if (!c->ran)
    return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' does not count its tasks: add it with CONSORT_CL_STATS",
                      c->name.c_str());
  if (!per_worker || n < rt->workers.size())
    return set_errorf(CONSORT_E_INVAL,
                      per_worker ? "there are %zu workers, per_worker has room for %u" : "per_worker is NULL",
                      rt->workers.size(), n);
  for (uint32_t w = 0; w < n; ++w)
    per_worker[w] = w < rt->workers.size() ? c->ran[w].load(std::memory_order_relaxed) : 0;
  return CONSORT_OK;
}

consort_status consort_run_on_each(consort_runtime *shell, const char *klass, consort_call_fn *fn, void *user) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!fn) return set_error(CONSORT_E_INVAL, "fn is NULL: what shall run on each worker?");
  if (const consort_status s = refuse_inside(*rt, "consort_run_on_each()"); s < 0) return s;
  return guarded([&] { return run_on_each(shell, *rt, klass, fn, user); });
}

}  // extern "C"

// reports.cpp — reports.h: the record of a run, and reports about it.
#include <consort/reports.h>
#include <consort/shared/plain_file.hpp>
#include <consort/shared/trace_text.hpp>

#include "api/entry.hpp"
#include "observe/reports.hpp"
#include "observe/tracer.hpp"

using namespace consort;

namespace {

consort_status refuse_busy(const Runtime &rt) noexcept {
  if (!rt.tracer)
    return set_error(CONSORT_E_UNSUPPORTED, "nothing is recorded: start the runtime with the setting `reports` or `trace`");
  const uint64_t finished = rt.finished();
  if (finished != rt.submitted())
    return set_error(CONSORT_E_BUSY, "tasks are pending: the record is looked at while nothing runs; wait for all first");
  return CONSORT_OK;
}

Result<std::string> contents_of(const char *path) {
  constexpr uint64_t kMost = uint64_t{4} << 30;
  const auto failed = [&](const std::string &why) { return error(CONSORT_E_IO, std::string(path) + " " + why); };
  const shared::PlainFile file(path, kMost);
  if (!file) return failed(file.why());
  std::string text, why;
  if (!file.read(&text, &why)) return failed(why);
  if (!shared::TraceReader::is_binary(text)) return text;  // the form before version 0.3, or no trace
  const std::string binary = std::move(text);
  if (!shared::TraceText::write(binary, &text, &why)) return failed("is not a sound trace: " + why);
  return text;
}

Result<void> report_file(const consort_settings *settings, const char *report, const char *path, consort_line_fn *line,
                         void *user) {
  auto record = contents_of(path);
  if (!record) return record.error();
  auto config = Config::load(settings);
  if (!config) return config.error();
  const bool sink = settings && CONSORT_HAS(settings, consort_settings, log_user),
             linked = settings && CONSORT_HAS(settings, consort_settings, nmodules),
             asked = settings && CONSORT_HAS(settings, consort_settings, admit_user);
  auto registry = Registry::open(*config, {}, sink ? settings->log : nullptr, sink ? settings->log_user : nullptr,
                                 linked ? settings->modules : nullptr, linked ? settings->nmodules : 0,
                        asked ? Registry::Admission{settings->admit, settings->admit_user} : Registry::Admission{nullptr, nullptr});
  if (!registry) return registry.error();
  auto plugin = (*registry)->load(CONSORT_KIND_REPORT, report);
  if (!plugin) return plugin.error();
  return ask_report(**plugin, *record, line, user);
}

}  // namespace

extern "C" {

consort_status consort_trace_select(consort_runtime *shell, uint32_t categories) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (categories & ~uint32_t{CONSORT_TRACE_ALL})
    return set_errorf(CONSORT_E_INVAL, "categories %#x of a trace are unknown: CONSORT_TRACE_*", categories & ~uint32_t{CONSORT_TRACE_ALL});
  if (!rt->tracer)
    return set_error(CONSORT_E_UNSUPPORTED, "nothing is recorded: start the runtime with the setting `reports` or `trace`");
  {
    const std::lock_guard lock(rt->paths_mutex);
    rt->traced = categories;
  }
  rt->choose_paths();
  return CONSORT_OK;
}

consort_status consort_get_progress(consort_runtime *shell, consort_progress *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_progress)");
  return guarded([&] {
    const uint32_t size = out->size;
    *out = rt->progress.now();
    out->size = size;
    return CONSORT_OK;
  });
}

consort_status consort_report_begin(consort_runtime *shell) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = refuse_busy(*rt); s < 0) return s;
  rt->tracer->clear();
  return CONSORT_OK;
}

consort_status consort_report_now(consort_runtime *shell, const char *report, consort_line_fn *line, void *user) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!report || !line) return set_error(CONSORT_E_INVAL, "report or line is NULL");
  return guarded([&] {
    const Plugin *p = rt->reports.find(report);
    if (!p)
      return set_errorf(CONSORT_E_UNSUPPORTED, "report \"%s\" was not asked for at the start: name it in the setting `reports`",
                        report);
    if (const consort_status s = refuse_busy(*rt); s < 0) return s;
    auto told = ask_report(*p, rt->tracer->text(), line, user);
    return told ? CONSORT_OK : set_error(told.error());
  });
}

consort_status consort_report_file(const consort_settings *settings, const char *report, const char *path,
                                   consort_line_fn *line, void *user) {
  if (!report || !path || !line) return set_error(CONSORT_E_INVAL, "report, path or line is NULL");
  return guarded([&]() -> consort_status {
    // after the plugins have ended, since they may overwrite the error text
    auto told = report_file(settings, report, path, line, user);
    clear_error();
    return told ? CONSORT_OK : set_error(told.error());
  });
}

}  // extern "C"

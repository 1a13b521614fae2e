#include "observe/reports.hpp"

#include <algorithm>
#include <cstdio>

#include "base/last_error.hpp"
#include "observe/observation.hpp"
#include "observe/tracer.hpp"
#include "plugin/status.hpp"

namespace consort {

Result<void> Reports::open(Registry &registry, const Config &config) {
  for (const std::string &name : config.list("reports")) {
    if (find(name)) continue;
    auto plugin = registry.load(CONSORT_KIND_REPORT, name);
    if (!plugin) return error(plugin.error().status, config.origin("reports") + ": " + plugin.error().text);
    all_.push_back(*plugin);
  }
  return {};
}

bool Reports::want_graph() const noexcept {
  return std::any_of(all_.begin(), all_.end(), [](const Plugin *p) { return p->report()->flags & CONSORT_RO_GRAPH; });
}

Plugin *Reports::find(std::string_view name) const noexcept {
  const auto at = std::find_if(all_.begin(), all_.end(), [&](const Plugin *p) { return name == p->manifest->name; });
  return at == all_.end() ? nullptr : *at;
}

Result<void> ask_report(const Plugin &p, const std::string &record, consort_line_fn *line, void *user) {
  const std::string label = "report \"" + std::string(p.manifest->name) + "\": ";
  const consort_report_sink sink{user, line};
  clear_error();
  consort_status s = CONSORT_E_INTERNAL;
  try {
    s = plugin_status(p.report()->report(p.self, record.c_str(), record.size(), &sink), p.manifest->name, "report()");
  } catch (const std::exception &e) {
    return error(CONSORT_E_INTERNAL, label + "an exception left report(): " + e.what());
  }
  if (s >= 0) return {};
  const char *text = error_text();
  return error(s, label + (*text ? text : "it failed without a word: it should call host->fail"));
}

void Reports::tell_all(Observation &rt) const noexcept try {
  if (all_.empty() || !rt.tracer) return;
  const std::string record = rt.tracer->text();
  for (const Plugin *p : all_) {
    struct To {
      Observation &rt;
      const char *name;
    } to{rt, p->manifest->name};
    auto told = ask_report(*p, record, [](void *user, const char *line) {
      const To &to = *static_cast<To *>(user);
      const std::string text = std::string(to.name) + ": " + line;
      // requested by a setting, so the level is ignored
      if (to.rt.log_to.sink) to.rt.log_to.sink(to.rt.log_to.user, kLogInfo, text.c_str());
      else std::fprintf(stderr, "consort: %s\n", text.c_str());
    }, &to);
    if (!told) rt.log(kLogError, told.error().text);
  }
} catch (const std::bad_alloc &) {
  rt.log(kLogError, "no report is made: no memory for the record");
}

}  // namespace consort

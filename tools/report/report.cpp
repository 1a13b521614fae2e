#include "report.hpp"

#include <consort/reports.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "../commands.hpp"
#include "../terminal.hpp"

namespace tool {
namespace {

// The report "bound", if the trace has the graph and is small enough to be read twice. null: no bound.
Json bound_of(Settings &settings, const std::string &path, const Trace &t) {
  constexpr size_t kMost = 100000;
  if (t.tasks.empty() || t.tasks.size() > kMost || t.unlogged) return nullptr;
  std::vector<consort_setting> extra = {{"bound.json", "true"}, {"bound.kind", "deps"}, {"bound.seconds", "2"}};
  consort_settings s;
  Json all;
  if (!settings.resolve(&s, extra)) return nullptr;
  const consort_status told = consort_report_file(&s, "bound", path.c_str(), [](void *user, const char *line) {
    if (Json said = Json::parse(line, nullptr, false); said.is_object() && said.contains("bound_ns")) *static_cast<Json *>(user) = std::move(said);
  }, &all);
  return told < 0 ? Json() : all;
}

void print_wrapped(const std::string &text, const char *indent) {
  constexpr size_t kColumns = 96;
  std::string line = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + word.size() > kColumns && line.find_first_not_of(' ') != line.npos) {
      std::puts(line.c_str());
      line = indent;
    }
    line += (line.find_first_not_of(' ') == line.npos ? "" : " ") + word;
    at = end + 1;
  }
  std::puts(line.c_str());
}

void print_idle(const Analysis &a) {
  const double busy = a.summary.work / std::max(1.0, a.idle.worker_time);
  std::printf("\nWorkers were busy %s of their time", share_words(busy).c_str());
  for (size_t i = 0; i < kReasons; ++i)
    if (const double share = a.idle.share(static_cast<Reason>(i)); share >= 0.005)
      std::printf("; %s: %s", reason_words(static_cast<Reason>(i)), share_words(share).c_str());
  std::printf(".\n");
}

}  // namespace

void print_report(const Analysis &a, const RunFindings &findings, const Json &bound) {
  const Trace &t = a.trace;
  std::printf("%s, %s in %s of %s time, scheduler %s\n", count_words(static_cast<double>(t.runs.size()), "task", "tasks").c_str(),
              count_words(static_cast<double>(t.copies.size()), "copy", "copies").c_str(), time_words(a.summary.span).c_str(),
              printable(t.clock).c_str(), printable(t.scheduler).c_str());
  if (findings.empty()) std::printf("\n%s\n", t.runs.empty() ? "No task ran." : "Nothing conspicuous was found.");
  for (size_t i = 0; i < findings.size(); ++i) {
    const RunFinding &f = findings[i];
    std::printf("\n%s\n", bold(std::to_string(i + 1) + ". " + printable(f.title) + " (" + f.rule + ")").c_str());
    print_wrapped(printable(f.evidence), "   ");
    print_wrapped("> " + f.remedy, "   ");
  }
  if (!t.runs.empty()) print_idle(a);
  if (a.path.longest_chain > 0)
    std::printf("The longest chain of tasks that wait for each other takes %s (%s).\n", time_words(a.path.longest_chain).c_str(),
                count_words(static_cast<double>(a.path.chain.size()), "task", "tasks").c_str());
  if (bound.is_object())
    std::printf("No schedule takes less than %s; this one reached %s of the best possible speed.\n",
                time_words(bound["bound_ns"].get<double>()).c_str(), share_words(bound["share"].get<double>()).c_str());
  if (!a.history.graph && !t.runs.empty())
    std::printf("\nWhy workers were idle, chains and the bound need the graph: record with CONSORT_TRACE_GRAPH=true as well.\n");
  if (t.lost || t.unlogged)
    std::printf("\n%s dropped: the figures are of the rest. Raise the setting trace_buffer, or trace_events where they stay in memory.\n",
                count_words(static_cast<double>(t.lost + t.unlogged), "event was", "events were").c_str());
}

int run_report(Settings &settings, const ReportOptions &o) {
  Progress progress("reading " + o.record);
  const Trace t = read_trace(o.record);
  progress.now("looking at " + o.record);
  const Analysis a(t);
  const RunFindings findings = find_all(a);
  const Json bound = bound_of(settings, o.record, t);
  progress.clear();
  if (!o.out.empty()) {
    const std::string page = report_page(a, findings, bound, o.record);
    std::ofstream out(o.out, std::ios::binary);
    out.write(page.data(), static_cast<std::streamsize>(page.size())).flush();
    if (!out) throw std::runtime_error(o.out + " cannot be written");
    if (!o.json)
      std::printf("%s: %s, %s, %s\n", printable(o.out).c_str(), count_words(static_cast<double>(t.runs.size()), "task", "tasks").c_str(),
                  count_words(static_cast<double>(findings.size()), "finding", "findings").c_str(), bytes(page.size()).c_str());
  }
  if (o.json) print(report_json(a, findings, bound));
  else if (o.out.empty()) print_report(a, findings, bound);
  return 0;
}

}  // namespace tool

// reports.hpp — the reports of a runtime: plugins that evaluate its record, chosen by the setting `reports`.
//
// Owned by the runtime; the list is fixed at the start. Called while nothing runs, one at a time: [control].
#pragma once
#include <consort/reports.h>
#include <consort/report.h>

#include <string_view>
#include <vector>

#include "plugin/registry.hpp"

namespace consort {

struct Observation;

class Reports {
 public:
  Result<void> open(Registry &, const Config &);
  bool empty() const noexcept { return all_.empty(); }
  bool want_graph() const noexcept;
  Plugin *find(std::string_view name) const noexcept;  // nullptr: not in the list
  void tell_all(Observation &) const noexcept;             // at the end: writes all reports to the log, whatever its level

 private:
  std::vector<Plugin *> all_;                          // belong to the registry
};

// Runs one report on the text of a record.
Result<void> ask_report(const Plugin &, const std::string &record, consort_line_fn *, void *user);

}  // namespace consort

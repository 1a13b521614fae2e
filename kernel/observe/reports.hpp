// reports.hpp — the reports of a runtime (plugins that read its record): those that the setting `reports` names.
//
// Owned by the runtime; settled at the start. They are asked while nothing runs, one at a time: [control].
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
  Plugin *find(std::string_view name) const noexcept;  // nullptr: not among them
  void tell_all(Observation &) const noexcept;             // at the end: to the log, whatever its level

 private:
  std::vector<Plugin *> all_;                          // the registry's
};

// One of them about a record's text.
Result<void> ask_report(const Plugin &, const std::string &record, consort_line_fn *, void *user);

}  // namespace consort

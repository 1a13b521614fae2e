// report.hpp — `consort report`: a run's findings and figures, as text, as JSON, or as one HTML file.
#pragma once
#include <string>

#include "../json.hpp"
#include "finding.hpp"

namespace tool {

Json report_json(const Analysis &, const RunFindings &, const Json &bound);
// One self-contained HTML file; `name`: what the report is about. Throws if the page's own files are damaged.
std::string report_page(const Analysis &, const RunFindings &, const Json &bound, const std::string &name);
void print_report(const Analysis &, const RunFindings &, const Json &bound);

// The page's files, embedded by EmbedPage.cmake.
extern const char *const kPageHtml, *const kPageCss, *const kPageScript;

}  // namespace tool

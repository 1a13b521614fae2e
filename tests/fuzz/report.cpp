// Traces, as `consort report` analyses them and writes its page.
#include <cmath>
#include <stdexcept>

#include "fuzz.hpp"
#include "tools/report/comparison.hpp"
#include "tools/report/report.hpp"
#include "tools/report/task_story.hpp"

namespace tool {  // in place of the files of tools/report/page

extern const char *const kPageHtml, *const kPageCss, *const kPageScript;
const char *const kPageHtml = "<!DOCTYPE html><style>/*CSS*/</style><!--DATA--><script>/*SCRIPT*/</script>", *const kPageCss = "", *const kPageScript = "";

}  // namespace tool

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  file.set({reinterpret_cast<const char *>(data), size});
  try {
    const tool::Trace t(file.path());
    const tool::Analysis a(t);
    for (size_t i = 0; i < t.tasks.size(); ++i)
      for (const uint32_t *p = a.history.before.begin(i); p != a.history.before.end(i); ++p) fuzz::expect(*p < i, "a predecessor was submitted before");
    for (const tool::PathStep &s : a.path.steps) fuzz::expect(s.run < t.runs.size(), "a step of the critical path is a run");
    const tool::RunFindings findings = tool::find_all(a);
    for (const tool::RunFinding &f : findings) fuzz::expect(!f.title.empty() && std::isfinite(f.share) && f.share >= 0, "a finding is sound", f.rule);
    const tool::Comparison same(a, a);
    fuzz::expect(same.changes.empty() && same.come.empty() && same.gone.empty(), "a run is as long as itself");
    for (size_t i = 0; i < t.runs.size(); i += 1 + t.runs.size() / 8) {
      const tool::TaskStory story(a, tool::id_words(t.runs[i].task));
      fuzz::expect(story.id == t.runs[i].task && story.worker_busy >= 0 && story.data >= 0 && story.rest >= 0, "a story is sound");
    }
    const std::string page = tool::report_page(a, findings, nullptr, "trace");
    fuzz::expect(page.starts_with("<!DOCTYPE html>") && page.find("<!--DATA-->") == page.npos, "a page is whole");
  } catch (const std::runtime_error &e) {
    fuzz::expect(std::string_view(e.what()).starts_with(file.path()), "a refusal names the file", e.what());
  }
  return 0;
}

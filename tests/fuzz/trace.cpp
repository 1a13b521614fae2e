// Traces, as `consort trace show` reads and draws them.
#include <consort/shared/trace_text.hpp>

#include <stdexcept>

#include "fuzz.hpp"
#include "tools/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  const std::string_view all(reinterpret_cast<const char *>(data), size);
  file.set(all);
  const fuzz::Copy copy(all);
  std::string text, why;
  if (consort::shared::TraceText::write({copy.data(), size}, &text, &why)) fuzz::expect(text.starts_with("consort trace 1\n"), "a text begins as one", text);
  else fuzz::expect(!why.empty(), "a refusal has a text");
  try {
    const tool::Trace t(file.path());
    for (const auto &r : t.runs) fuzz::expect(r.worker < t.workers.size() && r.t0 <= r.t1 && !t.codelet(r.codelet).empty(), "a run is sound");
    for (const auto &c : t.copies) fuzz::expect(c.from < t.spaces.size() && c.to < t.spaces.size() && c.t0 <= c.t1, "a copy is sound");
    const std::string svg = tool::trace_svg(t);
    fuzz::expect(svg.starts_with("<svg") || svg.starts_with("<?xml"), "a drawing begins as one", svg);
    fuzz::expect(svg.find("nan") == svg.npos || t.runs.empty() || std::string_view(reinterpret_cast<const char *>(data), size).find("nan") != std::string_view::npos,
                 "coordinates are numbers");
  } catch (const std::runtime_error &e) {
    fuzz::expect(std::string_view(e.what()).starts_with(file.path()), "a refusal names the file", e.what());
  }
  return 0;
}

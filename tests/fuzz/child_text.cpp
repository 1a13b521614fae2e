// What a child process that loads plugins wrote: the steps in which it loads them, the lists of a catalog, an inventory.
// Input: one byte that selects the reader, then the text. What was read is written again and reads as the same.
#include <algorithm>

#include "fuzz.hpp"
#include "tools/catalog_text.hpp"
#include "tools/examined_text.hpp"
#include "tools/inventory_text.hpp"

namespace {

void examine_steps(std::string_view text, size_t files) {
  const tool::ExaminedText got = tool::examined_text(text, files);
  fuzz::expect(got.last.file < files, "a step is that of a file that was examined", text);
  fuzz::expect(text.find(got.body) != text.npos, "a body is part of the text", got.body);
  const tool::Step start{files - 1, tool::Phase::kLater}, end{files - 1, tool::Phase::kDestructor};
  const std::string whole = tool::written(start) + tool::kBodyMark + got.body + tool::kBodyMark + tool::written(end);
  const tool::ExaminedText again = tool::examined_text(whole, files);
  fuzz::expect(again.body == got.body, "a body is read as it was written", got.body);
  fuzz::expect(again.last.file == end.file && again.last.phase == end.phase, "steps stand outside of the body", got.body);
}

void take_catalog(std::string_view text) {
  const tool::Catalog got = tool::catalog_of(text);
  const std::string all = tool::written(got);
  const tool::Catalog again = tool::catalog_of(all);
  fuzz::expect(tool::written(again) == all && again.log.size() == got.log.size(), "a catalog is written as it is read", all);
  const size_t rows = got.plugins.size() + got.settings.size() + got.log.size() + !got.error.empty();
  fuzz::expect(text.empty() || rows > 0 || text.starts_with("parameter") || text.starts_with("error"), "what is no row is reported", text);
}

std::string lines_of(const tool::Inventory &all) {
  std::string text;
  for (const tool::LogLine &l : all.log) text += tool::line_of(l);
  for (const tool::Space &s : all.spaces) text += tool::line_of(s);
  for (const tool::Unit &u : all.units) text += tool::line_of(u);
  for (const tool::Link &l : all.links) text += tool::line_of(l);
  return text + tool::topology_line(all.topology) + tool::error_line(all.error);
}

void take_inventory(std::string_view text) {
  const tool::Inventory got = tool::inventory_of(text);
  for (const tool::Link &l : got.links) {
    const auto has = [&](uint32_t id) { return std::any_of(got.spaces.begin(), got.spaces.end(), [&](const tool::Space &s) { return s.id == id; }); };
    fuzz::expect(has(l.from) && has(l.to), "a link has spaces that exist", text);
  }
  const std::string all = lines_of(got);
  fuzz::expect(lines_of(tool::inventory_of(all)) == all, "an inventory is written as it is read", all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  const uint8_t which = in.byte();
  const fuzz::Copy copy(in.rest());
  const std::string_view text(copy.data(), copy.size());
  switch (which % 3) {
    case 0: examine_steps(text, 1 + which / 3); break;
    case 1: take_catalog(text); break;
    default: take_inventory(text);
  }
  return 0;
}

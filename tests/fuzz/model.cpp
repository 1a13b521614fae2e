// Files of models: head and measurements. Input: the text between the first line and the sum, which every file has.
#include "fuzz.hpp"
#include "kernel/model/model_file.hpp"
#include "kernel/model/sample_window.hpp"

#include <cmath>

using namespace consort;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz::Copy copy({reinterpret_cast<const char *>(data), size});
  std::string_view text(copy.data(), size);
  StoredModel m;
  auto head = m.read_about(text);
  if (!head) return fuzz::expect_refusal(head.error().status, head.error().text), 0;
  fuzz::expect(*head <= size, "the head lies in the text");
  if (auto body = m.read_body(text.substr(*head)); !body)
    return fuzz::expect_refusal(body.error().status, body.error().text), 0;
  for (const StoredCell &c : m.cells) {
    fuzz::expect(c.impl < m.impls.size() && !c.samples.empty() && c.samples.size() <= SampleWindow::kMost,
                 "a cell is sound");
    const SampleWindow::Figure f = figure_of(c.samples);
    fuzz::expect(f.median > 0 && std::isfinite(f.median) && f.spread >= 0, "figures are finite");
  }
  StoredModel again;
  const std::string about = m.about(), body = m.body();
  auto head_again = again.read_about(about);
  fuzz::expect(head_again && *head_again == about.size(), "a head that was written is read", about);
  auto body_again = again.read_body(body);
  fuzz::expect(bool(body_again), "a body that was written is read", body);
  fuzz::expect(again.cells.size() == m.cells.size(), "no measurement is lost", body);
  (void)m.is_brought();
  fuzz::expect(m.file_name().find('/') == std::string::npos, "the name of the file names no folder");
  return 0;
}

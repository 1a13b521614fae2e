// What `consort run --hosts` reads from its parts, and a part from its launcher: the greeting, frames, and their contents.
// Input: bytes of a stream, which comes in pieces. What was read is written again and equals what was read.
#include "tools/part_wire.hpp"

#include <stdexcept>

#include "fuzz.hpp"

namespace {

void look_at(const tool::Frame &f) {
  using tool::FrameKind;
  switch (f.kind) {
    case FrameKind::kStart: {
      const tool::PartStart s = tool::part_start_of(f.body);
      fuzz::expect(s.count > 0 && s.first + s.count <= s.ranks && !s.program.empty(), "a start has ranks and a program");
      const tool::PartStart again = tool::part_start_of(tool::encoded(s));
      fuzz::expect(again.program == s.program && again.environment == s.environment && again.job == s.job, "a start is written as it is read");
      break;
    }
    case FrameKind::kFile: {
      const tool::PartFile file = tool::part_file_of(f.body);
      fuzz::expect(file.name.find('/') == file.name.npos && file.name[0] != '.' && file.name != "secret",
                   "a file stays in the folder of the job", file.name);
      fuzz::expect(tool::encoded(file) == f.body, "a file is written as it is read");
      break;
    }
    case FrameKind::kEnd: fuzz::expect(tool::encoded(tool::rank_end_of(f.body)) == f.body, "an end is written as it is read"); break;
    case FrameKind::kTaken:
    case FrameKind::kSignal: fuzz::expect(tool::encoded(tool::number_of(f.body)) == f.body, "a number is written as it is read"); break;
    case FrameKind::kInput:
    case FrameKind::kOutput: break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) try {
  tool::FrameReader reader;
  bool has_greeted = size > 0 && data[0] % 2;
  for (size_t at = 0; at < size;) {
    const size_t n = std::min<size_t>(size - at, 1 + data[at] % 61);
    reader.add(reinterpret_cast<const char *>(data) + at, n);
    at += n;
    if (!has_greeted && !reader.skip_to_greeting()) continue;
    has_greeted = true;
    for (tool::Frame f; reader.next(&f);) look_at(f);
  }
  fuzz::expect(reader.rest().size() <= size, "no byte is added");
  return 0;
} catch (const std::runtime_error &e) {
  fuzz::expect(*e.what(), "a refusal has words");
  return 0;
}

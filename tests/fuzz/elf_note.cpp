// Shared objects: the kernel's reader of notes, and the one of `consort conform`.
#include "fuzz.hpp"
#include "kernel/plugin/elf_note.hpp"
#include "tools/conform/elf_file.hpp"

using namespace consort;

namespace {

void check(Result<std::vector<consort_note>> notes) {
  if (!notes) return fuzz::expect_refusal(notes.error().status, notes.error().text);
  fuzz::expect(!notes->empty() && notes->size() <= kNotesPerFile, "there are from 1 to 16 notes");
  for (const consort_note &n : *notes) {
    fuzz::expect(std::memchr(n.name, 0, sizeof n.name) && std::memchr(n.version, 0, sizeof n.version), "a note's texts end");
    if (const auto fine = check_note(n, "x.so"); !fine) fuzz::expect_refusal(fine.error().status, fine.error().text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz::Copy copy({reinterpret_cast<const char *>(data), size});
  check(read_notes(std::span(reinterpret_cast<const std::byte *>(copy.data()), size)));
  static fuzz::MemoryFile file;
  file.set({copy.data(), size});
  check(read_notes(file.path()));
  const conform::ElfFile elf(file.path());
  fuzz::expect(elf.error().find('\n') == std::string::npos, "a refusal is one line", elf.error());
  return 0;
}

// elf_note.hpp — who a plugin file says it is, read without loading it.
//
// Reads the notes of a shared object of this machine's kind: the file's first page, and more only if the notes
// lie elsewhere. It trusts nothing in the file: every offset and size is checked against the file's end before
// it is used, every count is bounded. [any] thread; it allocates little and keeps nothing.
#pragma once
#include <consort/plugin.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace consort {

inline constexpr size_t kNotesPerFile = 16;

// Names and versions in the answer end with a zero byte. The error says what is wrong with the file, in the form
// "is cut off: …". E_UNSUPPORTED: a sound shared object without a note of ours; E_IO: cannot be read.
Result<std::vector<consort_note>> read_notes(const std::string &path);
Result<std::vector<consort_note>> read_notes(std::span<const std::byte> file);

// May this host take a plugin that says this about itself? The error is one line that says what to do.
Result<void> check_note(const consort_note &, const std::string &path);

}  // namespace consort

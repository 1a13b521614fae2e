// elf_note.hpp — reads the name, kind and version of a plugin from its file without loading it.
//
// Reads the notes of a shared object for this architecture: the file's first page, and more only if the notes lie
// elsewhere. Nothing in the file is trusted: each offset and size is checked against the file's end before use, each
// count is bounded. [any] thread; allocates little and keeps nothing.
#pragma once
#include <consort/plugin.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace consort {

inline constexpr size_t kNotesPerFile = 16;

// Names and versions in the result are zero-terminated. The error text says what is wrong with the file: "is cut off:
// …". E_UNSUPPORTED: a valid shared object without a Consort note. E_IO: cannot be read.
// `devices`, if given, receives the notes that say where devices show in the file system.
Result<std::vector<consort_note>> read_notes(const std::string &path, std::vector<consort_devices_note> *devices = nullptr);
Result<std::vector<consort_note>> read_notes(std::span<const std::byte> file,
                                             std::vector<consort_devices_note> *devices = nullptr);

// Checks that this host can load a plugin with this note. The error is one line that says what to do.
Result<void> check_note(const consort_note &, const std::string &path);

}  // namespace consort

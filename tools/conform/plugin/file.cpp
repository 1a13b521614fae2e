// Properties of the file, before it is loaded.
#include <cstring>

#include "conform/case.hpp"
#include "conform/elf_file.hpp"

namespace conform {

CONFORM_CASE(P, 1, abi, exports_its_entry_alone) {
  const ElfFile file(t.subject().path);
  t.need(file.error().empty(), "%s", file.error().c_str());
  bool entry = false;
  for (const std::string &name : file.exported()) {
    if (name == "consort_plugin_entry") entry = true;
    else t.check(false, "exports %s, too", name.c_str());
  }
  t.check(entry, "does not export consort_plugin_entry");
}

CONFORM_CASE(P, 2, abi, needs_nothing_of_ours) {
  const ElfFile file(t.subject().path);
  t.need(file.error().empty(), "%s", file.error().c_str());
  for (const std::string &library : file.needed())
    t.check(!library.starts_with("libconsort"), "needs the library %s", library.c_str());
  for (const std::string &name : file.missing())
    t.check(!name.starts_with("consort_"), "needs a library with the symbol %s", name.c_str());
}

CONFORM_CASE(P, 3, abi, carries_a_note) {
  const ElfFile file(t.subject().path);
  t.need(file.error().empty(), "%s", file.error().c_str());
  t.need(!file.notes().empty(), "has no note of the owner Consort");
  for (const consort_note &note : file.notes()) {
    const size_t name = strnlen(note.name, sizeof note.name), version = strnlen(note.version, sizeof note.version);
    t.need(name > 0 && name < sizeof note.name, "a note has no name, or one without an end");
    t.check(version > 0 && version < sizeof note.version, "the note of %s has no version, or one without an end", note.name);
    t.check(note.kind >= CONSORT_KIND_DRIVER && note.kind <= CONSORT_KIND_LAYER, "the note of %s is of kind %u, which is none",
            note.name, note.kind);
    for (const char *c = note.name; *c; ++c)
      t.check((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' || *c == '-',
              "the name \"%s\" has other characters than letters, digits, _ and -", note.name);
    unsigned same = 0;
    for (const consort_note &other : file.notes()) same += other.kind == note.kind && !strncmp(other.name, note.name, 32);
    t.check(same == 1, "%u notes are of %s %s", same, kind_name(note.kind), note.name);
  }
}

CONFORM_CASE(P, 8, abi, opens_no_door) {
  const ElfFile file(t.subject().path);
  t.need(file.error().empty(), "%s", file.error().c_str());
  t.check(!file.has_executable_stack(), "asks for an executable stack");
  t.check(!file.has_text_relocations(), "has relocations in its code");
}

}  // namespace conform

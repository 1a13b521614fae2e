// Notes of files that are plugins, and of files that are not.
#include "plugin/elf_note.hpp"

#include <cstring>

#include <elf.h>
#include <sys/stat.h>

#include "loader_support.hpp"

namespace consort {
namespace {

std::span<const std::byte> bytes(const std::string &s) { return std::as_bytes(std::span(s)); }
std::string good() { return read_file(kFixtures + "good.so"); }

// good.so with one field of its note changed.
template <class T>
std::string with(size_t offset, T value) {
  std::string file = good();
  std::memcpy(file.data() + note_at(file) + offset, &value, sizeof value);
  return file;
}
std::string refusal(const std::string &file) {
  auto notes = read_notes(bytes(file));
  if (!notes) return notes.error().text;
  auto fine = check_note(notes->front(), "x.so");
  return fine ? "accepted" : fine.error().text;
}

TEST(ElfNote, ReadsTheNoteOfAPlugin) {
  for (const auto &notes : {read_notes(kFixtures + "good.so"), read_notes(bytes(good()))}) {
    ASSERT_TRUE(notes) << notes.error().text;
    ASSERT_EQ((*notes).size(), 1u);
    const consort_note &n = (*notes)[0];
    EXPECT_STREQ(n.name, "good");
    EXPECT_STREQ(n.version, "1.2.0");
    EXPECT_EQ(n.kind, CONSORT_KIND_SCHEDULER);
    EXPECT_EQ(n.flags, CONSORT_PF_VIRTUAL);
    EXPECT_EQ(n.sanitizer, CONSORT_SAN);
    EXPECT_TRUE(check_note(n, "x.so"));
  }
}

TEST(ElfNote, RefusesOtherVersions) {
  EXPECT_EQ(refusal(with<uint16_t>(offsetof(consort_note, host_minor), 7)),
            "plugin \"good\" (x.so) was built for host ABI 0.7, this host has 0.2: rebuild it with this host's SDK, "
            "install its build for this host, or leave it out of CONSORT_PLUGINS");
  EXPECT_EQ(refusal(with<uint16_t>(offsetof(consort_note, host_major), 3))
                .find("plugin \"good\" (x.so) was built for host ABI 3.2, this host has 0.2"),
            0u);
  EXPECT_EQ(refusal(with<uint16_t>(offsetof(consort_note, abi_minor), 9))
                .find("plugin \"good\" (x.so) was built for scheduler ABI 0.9, this host has 0.1"),
            0u);
  EXPECT_EQ(refusal(with<uint16_t>(offsetof(consort_note, abi_major), 1))
                .find("plugin \"good\" (x.so) was built for scheduler ABI 1.1, this host has 0.1"),
            0u);
}

TEST(ElfNote, RefusesOtherKindsSanitizersAndNames) {
  EXPECT_EQ(refusal(with<uint16_t>(offsetof(consort_note, kind), 77)),
            "plugin \"good\" (x.so) is of kind 77, which needs a newer host: update Consort, or leave it out of "
            "CONSORT_PLUGINS");
  const std::string wrong = refusal(with<uint32_t>(offsetof(consort_note, sanitizer), CONSORT_SAN == 2 ? 1 : 2));
  EXPECT_NE(wrong.find("sanitizer"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("build both alike"), std::string::npos) << wrong;
  EXPECT_NE(refusal(with<uint32_t>(offsetof(consort_note, sanitizer), 99)).find("does not know"), std::string::npos);
  EXPECT_NE(refusal(with<char>(offsetof(consort_note, name), '/')).find("other characters"), std::string::npos);
  EXPECT_NE(refusal(with<char>(offsetof(consort_note, name), 0)).find("other characters"), std::string::npos);
}

TEST(ElfNote, IgnoresForeignNotes) {
  for (const auto &file :
       {with<char>(offsetof(consort_note, owner), 'K'), with<uint32_t>(offsetof(consort_note, type), 2),
        with<uint32_t>(offsetof(consort_note, namesz), 7), with<uint32_t>(offsetof(consort_note, descsz), 8),
        with<uint32_t>(offsetof(consort_note, descsz), 0xfffffff0u),
        with<uint32_t>(offsetof(consort_note, namesz), 0xffffffffu), read_file(kFixtures + "foreign.so")}) {
    auto notes = read_notes(bytes(file));
    ASSERT_FALSE(notes);
    EXPECT_EQ(notes.error().status, CONSORT_E_UNSUPPORTED);
    EXPECT_EQ(notes.error().text,
              "has no note of a Consort plugin: write CONSORT_MODULE(...) once, and do not strip it");
  }
}

TEST(ElfNote, TerminatesNames) {
  std::string file = good();
  std::memset(file.data() + note_at(file) + offsetof(consort_note, name), 'n', 48);
  auto notes = read_notes(bytes(file));
  ASSERT_TRUE(notes);
  EXPECT_EQ(std::strlen((*notes)[0].name), 31u);
  EXPECT_EQ(std::strlen((*notes)[0].version), 15u);
}

TEST(ElfNote, RefusesFilesOfOtherMachines) {
  const auto changed = [](size_t offset, auto value) {
    std::string file = good();
    std::memcpy(file.data() + offset, &value, sizeof value);
    return refusal(file);
  };
  EXPECT_EQ(changed(0, 'x'), "is no ELF file");
  EXPECT_EQ(changed(EI_CLASS, char{ELFCLASS32}), "is not a 64-bit file: build it for this machine");
  EXPECT_EQ(changed(EI_DATA, char{__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB}),
            "has the other byte order: build it for this machine");
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_machine), Elf64_Half{EM_SPARCV9})
                .find("is for another machine (ELF machine 43, here "),
            0u);
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_type), Elf64_Half{ET_REL}), "is no shared object: link it as a module");
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_phnum), Elf64_Half{0}), "has a damaged program header table");
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_phnum), Elf64_Half{0xffff}), "has a damaged program header table");
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_phentsize), Elf64_Half{1}), "has a damaged program header table");
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_phoff), Elf64_Off{~0ull - 8}),
            "is cut off: its program header table lies beyond its end");
}

TEST(ElfNote, TruncatedFilesAreRefusedOrWhole) {
  const std::string file = good();
  const Folder folder;
  for (size_t n = 0; n < file.size(); n += 64) {
    const std::string part = file.substr(0, n);
    auto in_memory = read_notes(bytes(part));
    write_all(folder / "part.so", part);
    auto on_disk = read_notes(folder / "part.so");
    ASSERT_EQ(static_cast<bool>(in_memory), static_cast<bool>(on_disk)) << n;
    if (in_memory) {
      ASSERT_STREQ((*in_memory)[0].name, "good") << n;  // only unused section headers are cut off
    } else {
      ASSERT_EQ(in_memory.error().text, on_disk.error().text) << n;
    }
  }
}

TEST(ElfNote, FindsNotesFarIntoTheFile) {
  std::string file = good();  // the notes moved behind a megabyte of nothing
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  const size_t at = note_at(file);
  const std::string note = file.substr(at, sizeof(consort_note));
  file[at + offsetof(consort_note, owner)] = 'X';
  file.resize(1 << 20);
  const size_t moved = file.size();
  file += note;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr p;
    std::memcpy(&p, file.data() + header.e_phoff + i * sizeof p, sizeof p);
    if (p.p_type != PT_NOTE) continue;
    p.p_offset = moved, p.p_filesz = sizeof(consort_note), p.p_align = 4;
    std::memcpy(file.data() + header.e_phoff + i * sizeof p, &p, sizeof p);
  }
  const Folder folder;
  write_all(folder / "far.so", file);
  auto notes = read_notes(folder / "far.so");
  ASSERT_TRUE(notes) << notes.error().text;
  EXPECT_STREQ((*notes)[0].name, "good");
  EXPECT_LE(notes->size(), kNotesPerFile);
}

TEST(ElfNote, RefusesSpecialFiles) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe.so").c_str(), 0600), 0);
  EXPECT_EQ(read_notes(folder / "pipe.so").error().text, "is not a plain file");
  EXPECT_EQ(read_notes(folder.path()).error().text, "is not a plain file");
  EXPECT_EQ(read_notes(folder / "none.so").error().text, "cannot be read: No such file or directory");
  write_all(folder / "empty.so", "");
  EXPECT_EQ(read_notes(folder / "empty.so").error().text, "is no ELF file");
}

}  // namespace
}  // namespace consort

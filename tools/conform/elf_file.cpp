#include "elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <stdexcept>

#include "../plain_file.hpp"

namespace conform {

ElfFile::ElfFile(const std::string &path) {
  try {
    const std::string all = tool::read_plain(path, uint64_t{4} << 30);
    file_.assign(all.begin(), all.end());
  } catch (const std::runtime_error &e) {
    error_ = e.what();
    return;
  }
  const char *ident = at(0, sizeof(Elf64_Ehdr));
  if (!ident || std::memcmp(ident, ELFMAG, SELFMAG) != 0) error_ = path + " is no ELF file";
  else if (ident[EI_CLASS] != ELFCLASS64) error_ = path + " is no 64-bit file";
  else parse();
  if (error_.starts_with("is ")) error_ = path + " " + error_;
}

std::string ElfFile::text_at(uint64_t table, uint64_t table_bytes, uint64_t offset) const {
  const char *strings = at(table, table_bytes);
  if (!strings || offset >= table_bytes) return {};
  return {strings + offset, strnlen(strings + offset, table_bytes - offset)};
}

void ElfFile::read_notes(uint64_t offset, uint64_t bytes, uint64_t align) {
  const uint64_t step = align == 8 ? 8 : 4;
  const auto up = [&](uint64_t n) { return (n + step - 1) / step * step; };
  for (uint64_t used = 0; used + sizeof(Elf64_Nhdr) <= bytes;) {
    Elf64_Nhdr head;
    const char *p = at(offset + used, sizeof head);
    if (!p) return;
    std::memcpy(&head, p, sizeof head);
    const uint64_t whole = up(sizeof head + head.n_namesz) + up(head.n_descsz);
    consort_note note;
    if (head.n_namesz == sizeof note.owner && head.n_type == 1 && head.n_descsz == sizeof note - 20)
      if (const char *all = at(offset + used, sizeof note)) {
        std::memcpy(&note, all, sizeof note);
        if (std::memcmp(note.owner, "Consort", 8) == 0) notes_.push_back(note);
      }
    used += whole;
  }
}

void ElfFile::parse() {
  Elf64_Ehdr header;
  std::memcpy(&header, file_.data(), sizeof header);
  const char *segments = at(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (!segments || header.e_phentsize != sizeof(Elf64_Phdr)) {
    error_ = "is damaged: its program headers are not where it says";
    return;
  }
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr s;
    std::memcpy(&s, segments + i * sizeof s, sizeof s);
    if (s.p_type == PT_LOAD && (s.p_filesz > file_.size() || s.p_offset > file_.size() - s.p_filesz)) {
      error_ = "is cut short: it has " + std::to_string(file_.size()) + " bytes, and a part that begins at " +
               std::to_string(s.p_offset) + " has " + std::to_string(s.p_filesz);
      return;
    }
    if (s.p_type == PT_NOTE) read_notes(s.p_offset, s.p_filesz, s.p_align);
    if (s.p_type == PT_GNU_STACK && (s.p_flags & PF_X)) executable_stack_ = true;
  }
  const char *sections = at(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (!sections || header.e_shentsize != sizeof(Elf64_Shdr)) return;  // stripped of its sections: no names available
  const auto section = [&](uint32_t i) {
    Elf64_Shdr s{};
    if (i < header.e_shnum) std::memcpy(&s, sections + i * sizeof s, sizeof s);
    return s;
  };
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i), strings = section(s.sh_link);
    if (s.sh_type == SHT_DYNSYM) {
      for (uint64_t k = 1; k < s.sh_size / sizeof(Elf64_Sym); ++k) {
        const char *p = at(s.sh_offset + k * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
        if (!p) break;
        Elf64_Sym symbol;
        std::memcpy(&symbol, p, sizeof symbol);
        const std::string name = text_at(strings.sh_offset, strings.sh_size, symbol.st_name);
        const unsigned binding = ELF64_ST_BIND(symbol.st_info), seen = ELF64_ST_VISIBILITY(symbol.st_other);
        if (name.empty() || binding == STB_LOCAL) continue;
        if (symbol.st_shndx == SHN_UNDEF) {
          if (binding != STB_WEAK) missing_.push_back(name);
        } else if (seen == STV_DEFAULT || seen == STV_PROTECTED) {
          exported_.push_back(name);
        }
      }
    }
    if (s.sh_type == SHT_DYNAMIC) {
      for (uint64_t k = 0; k < s.sh_size / sizeof(Elf64_Dyn); ++k) {
        const char *p = at(s.sh_offset + k * sizeof(Elf64_Dyn), sizeof(Elf64_Dyn));
        if (!p) break;
        Elf64_Dyn entry;
        std::memcpy(&entry, p, sizeof entry);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) needed_.push_back(text_at(strings.sh_offset, strings.sh_size, entry.d_un.d_val));
        if (entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL))) text_relocations_ = true;
      }
    }
  }
}

}  // namespace conform

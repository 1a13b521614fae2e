// elf_file.hpp — properties of a shared object without loading it: notes, exported and undefined names, libraries.
//
// A damaged file, or one that is not ELF, yields empty results and an error().
#pragma once
#include <consort/plugin.h>

#include <cstdint>
#include <string>
#include <vector>

namespace conform {

class ElfFile {
 public:
  explicit ElfFile(const std::string &path);

  const std::string &error() const { return error_; }          // "": it could be read
  const std::vector<consort_note> &notes() const { return notes_; }
  const std::vector<std::string> &exported() const { return exported_; }  // dynamic symbols to which others may bind
  const std::vector<std::string> &missing() const { return missing_; }    // undefined symbols, without weak ones
  const std::vector<std::string> &needed() const { return needed_; }      // libraries
  bool has_executable_stack() const { return executable_stack_; }
  bool has_text_relocations() const { return text_relocations_; }

 private:
  void parse();
  void read_notes(uint64_t offset, uint64_t bytes, uint64_t align);
  const char *at(uint64_t offset, uint64_t bytes) const {        // nullptr: beyond the end of the file
    return offset <= file_.size() && bytes <= file_.size() - offset ? file_.data() + offset : nullptr;
  }
  std::string text_at(uint64_t table, uint64_t table_bytes, uint64_t offset) const;

  std::string file_, error_;
  std::vector<consort_note> notes_;
  std::vector<std::string> exported_, missing_, needed_;
  bool executable_stack_ = false, text_relocations_ = false;
};

}  // namespace conform

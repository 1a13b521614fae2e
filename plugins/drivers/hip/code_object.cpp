#include "code_object.hpp"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace hip {
namespace {

using std::string_view;

template <class T>
bool read_at(string_view from, uint64_t at, T *out) noexcept {
  if (at > from.size() || from.size() - at < sizeof *out) return false;
  std::memcpy(out, from.data() + at, sizeof *out);
  return true;
}
string_view part(string_view from, uint64_t at, uint64_t n) noexcept {
  return at > from.size() || n > from.size() - at ? string_view() : from.substr(at, n);
}

// A MessagePack reader that finds strings, numbers, maps and lists, and skips the rest. Truncated or too deeply nested input
// makes the reader bad; then it returns nothing more.
class Reader {
 public:
  explicit Reader(string_view text) : rest_(text) {}
  bool bad() const noexcept { return bad_; }

  bool map(uint64_t *n) noexcept { return group(0x80, 0xde, n); }
  bool list(uint64_t *n) noexcept { return group(0x90, 0xdc, n); }
  bool text(string_view *out) noexcept {
    const unsigned char c = next();
    uint64_t n = c & 0x1f;
    if (c >= 0xd9 && c <= 0xdb) n = number(1u << (c - 0xd9));
    else if (c >> 5 != 5) return fail();
    return bytes(n, out);
  }
  bool whole(uint64_t *out) noexcept {
    const unsigned char c = next();
    if (c < 0x80) return *out = c, !bad_;
    if (c < 0xcc || c > 0xcf) return fail();
    *out = number(1u << (c - 0xcc));
    return !bad_;
  }
  bool skip(int depth = 0) noexcept {
    constexpr int kDeepest = 32;
    if (rest_.empty() || depth > kDeepest) return fail();
    const auto c = static_cast<unsigned char>(rest_[0]);
    uint64_t n = 0;
    string_view ignored;
    if (c >> 4 == 8 || c == 0xde || c == 0xdf) {
      if (!map(&n)) return false;
      for (; n && !bad_; --n) skip(depth + 1), skip(depth + 1);
      return !bad_;
    }
    if (c >> 4 == 9 || c == 0xdc || c == 0xdd) {
      if (!list(&n)) return false;
      for (; n && !bad_; --n) skip(depth + 1);
      return !bad_;
    }
    if (c >> 5 == 5 || (c >= 0xd9 && c <= 0xdb)) return text(&ignored);
    next();
    if (c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3) return true;
    if (c >= 0xc4 && c <= 0xc6) return bytes(number(1u << (c - 0xc4)), &ignored);
    if (c >= 0xc7 && c <= 0xc9) return bytes(number(1u << (c - 0xc7)) + 1, &ignored);
    if (c == 0xca || c == 0xcb) return bytes(c == 0xca ? 4 : 8, &ignored);
    if (c >= 0xcc && c <= 0xd3) return bytes(1u << ((c - 0xcc) % 4), &ignored);
    if (c >= 0xd4 && c <= 0xd8) return bytes((1u << (c - 0xd4)) + 1, &ignored);
    return fail();
  }

 private:
  bool fail() noexcept { return bad_ = true, rest_ = {}, false; }
  unsigned char next() noexcept {
    if (rest_.empty()) return fail(), 0;
    const auto c = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    return c;
  }
  uint64_t number(unsigned n) noexcept {
    uint64_t v = 0;
    for (; n; --n) v = v << 8 | next();
    return v;
  }
  bool bytes(uint64_t n, string_view *out) noexcept {
    if (bad_ || n > rest_.size()) return fail();
    *out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return true;
  }
  // few: code with a count up to 15; many: code with a 16-bit count, the next code with 32 bits.
  bool group(unsigned few, unsigned many, uint64_t *n) noexcept {
    const unsigned c = next();
    if (c >> 4 == few >> 4) *n = c & 15;
    else if (c == many || c == many + 1) *n = number(c == many ? 2 : 4);
    else return fail();
    return !bad_;
  }

  string_view rest_;
  bool bad_ = false;
};

bool read_argument(Reader &r, Kernel *k) {
  uint64_t n = 0, size = 0;
  string_view kind;
  if (!r.map(&n)) return false;
  for (string_view key; n && r.text(&key); --n) {
    if (key == ".size") r.whole(&size);
    else if (key == ".value_kind") r.text(&kind);
    else r.skip();
  }
  if (r.bad()) return false;
  if (kind.substr(0, 7) != "hidden_") k->params.push_back(size);
  return true;
}

bool read_kernel(Reader &r, Kernel *k) {
  uint64_t n = 0;
  if (!r.map(&n)) return false;
  k->knows_params = true;  // a kernel without parameters may have no list
  for (string_view key; n && r.text(&key); --n) {
    if (key == ".name") {
      string_view name;
      if (r.text(&name)) k->name = name;
    } else if (key == ".args") {
      uint64_t args = 0;
      if (!r.list(&args)) return false;
      for (; args && read_argument(r, k); --args) {
      }
    } else {
      r.skip();
    }
  }
  return !r.bad();
}

std::vector<Kernel> read_metadata(string_view text) {
  std::vector<Kernel> kernels;
  Reader r(text);
  uint64_t n = 0;
  if (!r.map(&n)) return {};
  for (string_view key; n && r.text(&key); --n) {
    uint64_t count = 0;
    if (key != "amdhsa.kernels") {
      r.skip();
    } else if (r.list(&count)) {
      for (Kernel k; count && read_kernel(r, &k); --count, k = {}) kernels.push_back(k);
    }
  }
  return r.bad() ? std::vector<Kernel>() : kernels;
}

// Finds the metadata note of AMD's compilers by the program headers.
string_view metadata_of(string_view elf) noexcept {
  Elf64_Ehdr h;
  if (!read_at(elf, 0, &h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64) return {};
  constexpr unsigned kMostHeaders = 512;  // many headers may refer to the same long notes
  for (unsigned i = 0; i < h.e_phnum && i < kMostHeaders; ++i) {
    Elf64_Phdr p;
    if (!read_at(elf, h.e_phoff + uint64_t{i} * sizeof p, &p)) return {};
    if (p.p_type != PT_NOTE) continue;
    string_view notes = part(elf, p.p_offset, p.p_filesz);
    constexpr uint32_t kMetadata = 32;
    for (Elf64_Nhdr note; read_at(notes, 0, &note);) {
      const auto whole = [](uint64_t bytes) { return (bytes + 3) / 4 * 4; };
      const uint64_t name = sizeof note, text = name + whole(note.n_namesz), all = text + whole(note.n_descsz);
      if (note.n_type == kMetadata && part(notes, name, 6) == string_view("AMDGPU")) return part(notes, text, note.n_descsz);
      if (all >= notes.size()) break;
      notes.remove_prefix(all);
    }
  }
  return {};
}

}  // namespace

std::vector<Kernel> kernels_of(const std::string &image) {
  constexpr string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
  if (part(image, 0, kBundle.size()) != kBundle) return read_metadata(metadata_of(image));
  uint64_t n = 0, at = kBundle.size() + sizeof n;
  if (!read_at(image, kBundle.size(), &n)) return {};
  for (; n; --n) {
    uint64_t entry[3];  // offset, size, length of the name
    if (!read_at(image, at, &entry)) return {};
    if (entry[2] > image.size()) return {};  // the offset would wrap around
    const string_view name = part(image, at + sizeof entry, entry[2]);
    if (name.find("amdgcn") != string_view::npos) return read_metadata(metadata_of(part(image, entry[0], entry[1])));
    at += sizeof entry + entry[2];
  }
  return {};
}

}  // namespace hip

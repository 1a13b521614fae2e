#include "plugin/elf_note.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <elf.h>
#include <unistd.h>

#include <consort/driver.h>
#include <consort/interface.h>
#include <consort/layer.h>
#include <consort/report.h>
#include <consort/scheduler.h>
#include <consort/shared/plain_file.hpp>
#include <consort/transport.h>


namespace consort {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr Elf64_Half kMachine = EM_PPC64;
#elif defined(__s390x__)
constexpr Elf64_Half kMachine = EM_S390;
#elif defined(__loongarch__)
constexpr Elf64_Half kMachine = 258;
#else
#error "say which machine number ELF files of this architecture carry"
#endif
constexpr unsigned char kOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

constexpr size_t kPage = 4096, kMostHeaders = 512, kMostNotes = 1 << 20;
constexpr size_t kHead = 12;  // size of a note's head: two sizes and a type

// A file of `size` bytes of which the first are in memory; the rest is read if there is a descriptor.
struct Bytes {
  std::span<const std::byte> head;
  int fd;
  uint64_t size;

  bool read(uint64_t from, void *to, uint64_t n) const {
    if (from > size || n > size - from) return false;
    if (n == 0) return true;
    if (from + n <= head.size()) return std::memcpy(to, head.data() + from, n), true;
    auto *out = static_cast<std::byte *>(to);
    while (n && fd >= 0) {
      const ssize_t got = ::pread(fd, out, n, static_cast<off_t>(from));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;  // the file shrank meanwhile
      out += got, from += static_cast<uint64_t>(got), n -= static_cast<uint64_t>(got);
    }
    return n == 0;
  }
};

Error cut_off(const char *what) {
  return error(CONSORT_E_INVAL, std::string("is cut off: its ") + what + " lies beyond its end");
}

// Makes a text printable in a message: one line, zero-terminated.
template <size_t N>
void make_printable(char (&text)[N]) {
  text[N - 1] = 0;
  for (char *c = text; *c; ++c)
    if (*c < ' ' || *c > '~') *c = '?';
}

// One block of notes. Names and contents are padded to `align`: 4, or 8 with some linkers.
void collect(std::span<const std::byte> block, uint64_t align, std::vector<consort_note> *out,
             std::vector<consort_devices_note> *devices) {
  align = align == 8 ? 8 : 4;
  const auto padded = [&](uint64_t n) { return (n + align - 1) & ~(align - 1); };
  uint64_t at = 0;
  while (block.size() - at >= kHead && out->size() < kNotesPerFile) {
    consort_note note;
    std::memcpy(&note, block.data() + at, kHead);
    const uint64_t left = block.size() - at - kHead, name = padded(note.namesz);
    if (name > left || note.descsz > left - name) return;
    const bool ours = note.namesz == sizeof note.owner &&
                      std::memcmp(block.data() + at + kHead, "Consort", sizeof note.owner) == 0;
    const auto is = [&](uint32_t type, size_t bytes) {
      return ours && note.type == type && note.descsz >= bytes - kHead - sizeof note.owner;
    };
    if (is(2, sizeof(consort_devices_note)) && devices && devices->size() < kNotesPerFile) {
      consort_devices_note &d = devices->emplace_back();
      std::memcpy(&d, block.data() + at, sizeof d);
      make_printable(d.name);
      make_printable(d.paths);
    } else if (is(1, sizeof note)) {
      std::memcpy(&note, block.data() + at, sizeof note);
      make_printable(note.name);
      make_printable(note.version);
      out->push_back(note);
    }
    const uint64_t step = kHead + name + padded(note.descsz);
    if (step > block.size() - at) return;
    at += step;
  }
}

Result<std::vector<consort_note>> parse(const Bytes &file, std::vector<consort_devices_note> *devices) {
  Elf64_Ehdr header;
  unsigned char ident[EI_NIDENT];
  if (!file.read(0, ident, sizeof ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0)
    return error(CONSORT_E_INVAL, "is no ELF file");
  if (ident[EI_CLASS] != ELFCLASS64) return error(CONSORT_E_INVAL, "is not a 64-bit file: build it for this machine");
  if (ident[EI_DATA] != kOrder) return error(CONSORT_E_INVAL, "has the other byte order: build it for this machine");
  if (!file.read(0, &header, sizeof header)) return cut_off("header");
  if (header.e_machine != kMachine)
    return error(CONSORT_E_INVAL, "is for another machine (ELF machine " + std::to_string(header.e_machine) +
                                      ", here " + std::to_string(kMachine) + "): build it for this one");
  if (header.e_type != ET_DYN) return error(CONSORT_E_INVAL, "is no shared object: link it as a module");
  if (header.e_phnum == 0 || header.e_phnum > kMostHeaders || header.e_phentsize != sizeof(Elf64_Phdr))
    return error(CONSORT_E_INVAL, "has a damaged program header table");

  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!file.read(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr)))
    return cut_off("program header table");
  std::vector<consort_note> notes;
  std::vector<std::byte> block;
  for (const Elf64_Phdr &s : segments) {
    // Loadable contents must be complete, or the loader would fault on them.
    if (s.p_type == PT_LOAD && (s.p_offset > file.size || s.p_filesz > file.size - s.p_offset))
      return cut_off("contents");
    if (s.p_type != PT_NOTE || s.p_filesz > kMostNotes) continue;
    block.resize(s.p_filesz);
    if (!file.read(s.p_offset, block.data(), block.size())) return cut_off("note");
    collect(block, s.p_align, &notes, devices);
  }
  if (notes.empty())
    return error(CONSORT_E_UNSUPPORTED,
                 "has no note of a Consort plugin: write CONSORT_MODULE(...) once, and do not strip it");
  return notes;
}

std::string version_of(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

const char *sanitizer_name(uint32_t s) {
  constexpr const char *names[] = {"without a sanitizer", "with the address sanitizer", "with the thread sanitizer",
                                   "with the memory sanitizer"};
  return s < std::size(names) ? names[s] : "with a sanitizer that this host does not know";
}

}  // namespace

Result<std::vector<consort_note>> read_notes(std::span<const std::byte> file, std::vector<consort_devices_note> *devices) {
  return parse({file, -1, file.size()}, devices);
}

Result<std::vector<consort_note>> read_notes(const std::string &path, std::vector<consort_devices_note> *devices) {
  // reads one page of it, and what its headers name
  const shared::PlainFile file(path.c_str(), shared::PlainFile::kAnySize);
  if (!file) return error(CONSORT_E_IO, file.why());
  std::byte page[kPage];
  ssize_t n;
  do n = ::pread(file.fd(), page, sizeof page, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) return error(CONSORT_E_IO, std::string("cannot be read: ") + std::strerror(errno));
  return parse({{page, static_cast<size_t>(n)}, file.fd(), file.bytes()}, devices);
}

Result<void> check_note(const consort_note &note, const std::string &path) {
  const std::string label = "plugin \"" + std::string(note.name) + "\" (" + path + ") ";
  const auto refuse_version = [&](const char *what, unsigned major, unsigned minor, unsigned our_major,
                                  unsigned our_minor) {
    return error(
        CONSORT_E_ABI,
        label + "was built for " + what + " ABI " + version_of(major, minor) + ", this host has " +
            version_of(our_major, our_minor) +
            ": rebuild it with this host's SDK, install its build for this host, or leave it out of CONSORT_PLUGINS");
  };
  // A host minor older than the plugin's is accepted from major 1 on, unless the plugin requires the minor.
  const auto fits = [&](unsigned major, unsigned minor, unsigned our_major, unsigned our_minor) {
    return CONSORT_ABI_OK(our_major, our_minor, major, minor) &&
           !((note.flags & CONSORT_PF_NEEDS_MINOR) && minor > our_minor);
  };
  if (!fits(note.host_major, note.host_minor, CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR))
    return refuse_version("host", note.host_major, note.host_minor, CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR);
  struct Family { uint16_t kind, major, minor; const char *name; };
  constexpr Family families[] = {
      {CONSORT_KIND_DRIVER, CONSORT_DRIVER_MAJOR, CONSORT_DRIVER_MINOR, "driver"},
      {CONSORT_KIND_INTERFACE, CONSORT_INTERFACE_MAJOR, CONSORT_INTERFACE_MINOR, "interface"},
      {CONSORT_KIND_SCHEDULER, CONSORT_SCHEDULER_MAJOR, CONSORT_SCHEDULER_MINOR, "scheduler"},
      {CONSORT_KIND_TRANSPORT, CONSORT_TRANSPORT_MAJOR, CONSORT_TRANSPORT_MINOR, "transport"},
      {CONSORT_KIND_REPORT, CONSORT_REPORT_MAJOR, CONSORT_REPORT_MINOR, "report"},
      {CONSORT_KIND_LAYER, CONSORT_LAYER_MAJOR, CONSORT_LAYER_MINOR, "layer"}};
  const Family *family =
      std::find_if(std::begin(families), std::end(families), [&](const Family &f) { return f.kind == note.kind; });
  if (family == std::end(families))
    return error(CONSORT_E_ABI, label + "is of kind " + std::to_string(note.kind) +
                                    ", which needs a newer host: update Consort, or leave it out of CONSORT_PLUGINS");
  if (!fits(note.abi_major, note.abi_minor, family->major, family->minor))
    return refuse_version(family->name, note.abi_major, note.abi_minor, family->major, family->minor);
  if (note.sanitizer != CONSORT_SAN)
    return error(CONSORT_E_ABI, label + "is built " + sanitizer_name(note.sanitizer) + ", this host " +
                                    sanitizer_name(CONSORT_SAN) +
                                    ": build both alike, or leave it out of CONSORT_PLUGINS");
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (!note.name[0] || !std::all_of(note.name, note.name + std::strlen(note.name), letter))
    return error(
        CONSORT_E_ABI,
        "plugin file " + path + " gives itself a name of other characters than letters, digits, _ and -: rename it");
  return {};
}

}  // namespace consort

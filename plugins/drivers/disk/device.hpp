// device.hpp — a folder of a disk as a device: a space backed by a file, no units, links from and to the host's memory.
//
// Shared by the file drivers, which differ only in their queues. [control] calls come one at a time; `mutex`
// guards the allocated ranges, which submit() looks up; leaf. The settings are immutable after init().
#pragma once
#include <consort/driver.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "checksums.hpp"
#include "extents.hpp"
#include "file.hpp"
#include "pieces.hpp"

namespace disk {

struct Settings {
  std::vector<std::string> folders;
  std::string capacity;
  Direct direct = Direct::kOff;
  bool preallocate = true, checksum = true;
  uint64_t chunk = 1 << 20;
  uint32_t depth = 32;
};

struct Driver {
  const consort_host *host;
  const char *name;  // "disk_posix"
  Settings settings;

  consort_status fail(consort_status s, const std::string &text) const noexcept {
    try {
      return host->fail(host, s, (std::string(name) + ": " + text).c_str());
    } catch (...) {
      return host->fail(host, s, name);
    }
  }
  void log(int32_t level, const std::string &text) const {
    host->log(host, level, (std::string(name) + ": " + text).c_str());
  }
  std::string param(const char *key) const {
    const char *v = host->param(host, key);
    return v ? v : "";
  }
  // Reads the keys common to these drivers. False: reported.
  bool read();
};

// The common keys, followed by a driver's own.
template <size_t N>
constexpr std::array<consort_param, N + 6> with_own(const std::array<consort_param, N> &own) {
  std::array<consort_param, N + 6> all{};
  all[0] = {"path", "list", "", nullptr, "folders, one space each; empty: $TMPDIR, or /var/tmp"};
  all[1] = {"capacity", "string", "80%", nullptr, "of each space: bytes, 512M, 64G, or a share of the free space at the start"};
  all[2] = {"preallocate", "bool", "true", nullptr,
            "reserve disk space at allocation, so that a full disk is reported there"};
  all[3] = {"depth", "u32", "32", "1..4096", "copies in flight per queue"};
  all[4] = {"chunk", "string", "1M", nullptr, "largest transfer, and the size of a buffer"};
  all[5] = {"checksum", "bool", "true", nullptr, "of written blocks, compared when they are read back (CRC-32C)"};
  for (size_t i = 0; i < N; ++i) all[6 + i] = own[i];
  return all;
}

// "1000000", "512M", "64G". False: not a size.
inline bool parse_bytes(const std::string &text, uint64_t *out) {
  char *end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(x >= 0)) return false;
  const std::string units = "KMGT";
  double scale = 1;
  if (*end) {
    const size_t at = units.find(static_cast<char>(*end >= 'a' ? *end - 32 : *end));
    if (at == units.npos || end[1]) return false;
    scale = static_cast<double>(uint64_t{1} << 10 * (at + 1));
  }
  if (x * scale >= 9e18) return false;
  *out = static_cast<uint64_t>(x * scale);
  return true;
}

inline bool Driver::read() {
  const auto bad = [&](const char *key, const std::string &value, const char *what) {
    return fail(CONSORT_E_INVAL, std::string(key) + " = \"" + value + "\" " + what), false;
  };
  std::string folder;
  for (const char c : param("path") + ",") {
    if (c != ',') {
      if (c != ' ' || !folder.empty()) folder += c;
      continue;
    }
    while (!folder.empty() && folder.back() == ' ') folder.pop_back();
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (!folder.empty()) settings.folders.push_back(folder);
    folder.clear();
  }
  if (settings.folders.empty()) {
    const char *temporary = secure_getenv("TMPDIR");
    settings.folders.push_back(temporary && temporary[0] == '/' ? temporary : "/var/tmp");
  }
  settings.capacity = param("capacity");
  uint64_t any = 0;
  std::string share = settings.capacity;
  if (!share.empty() && share.back() == '%') share.pop_back();
  if (!parse_bytes(share, &any) || any == 0 || (share != settings.capacity && any > 100))
    return bad("capacity", settings.capacity, "is not a size: write bytes, 512M, 64G, or a share such as 80%");
  const std::string direct = param("direct");
  settings.direct = direct == "on" ? Direct::kOn : direct == "auto" ? Direct::kWherePossible : Direct::kOff;
  settings.preallocate = param("preallocate") == "true";
  settings.checksum = param("checksum") == "true";
  settings.depth = static_cast<uint32_t>(std::strtoul(param("depth").c_str(), nullptr, 10));
  if (settings.depth == 0) settings.depth = 1;
  const std::string chunk = param("chunk");
  if (!parse_bytes(chunk, &settings.chunk) || settings.chunk < 65536 || settings.chunk > (1u << 30))
    return bad("chunk", chunk, "is not between 64K and 1G");
  settings.chunk = settings.chunk / kBlock * kBlock;
  return true;
}

// Result of a piece.
struct Outcome {
  uint64_t done = 0;  // bytes transferred
  int error = 0;      // 0 with too few bytes: the transfer ended early
  Mismatch bad;       // checksum mismatch, after a read
};

class Device {
 public:
  Device(Driver &d, uint32_t index)
      : driver(d), folder_(d.settings.folders[index]), name_(std::string(d.name) + ":" + folder_) {}

  consort_status open() {
    std::vector<std::string> notes;
    std::string why;
    const Settings &s = driver.settings;
    if (!file.open(folder_, s.direct, s.preallocate, &notes, &why))
      return driver.fail(CONSORT_E_IO, why + "; the folders are in `path`");
    const uint64_t room = file.room(), most = File::longest();
    uint64_t capacity = 0;
    if (s.capacity.back() == '%') {
      capacity = static_cast<uint64_t>(static_cast<double>(room) * std::strtod(s.capacity.c_str(), nullptr) / 100);
    } else {
      parse_bytes(s.capacity, &capacity);
      if (capacity > room)
        notes.push_back(folder_ + " has " + std::to_string(room) + " bytes free, but capacity is " +
                        std::to_string(capacity) + ": copies there fail once the disk is full");
    }
    if (capacity > most) {
      capacity = most;
      notes.push_back("a file of this process may have at most " + std::to_string(most) + " bytes (ulimit -f)");
    }
    if (capacity < kBlock) notes.push_back(folder_ + " has no free space: it will not be used");
    extents_ = Extents(capacity, kBlock);
    rules.direct = file.direct_fd() >= 0;
    rules.chunk = s.chunk;
    if (s.checksum) sums.enable();
    for (const std::string &n : notes) driver.log(1, n);
    return CONSORT_OK;
  }

  consort_status space(uint32_t i, consort_space_desc *out) {
    if (i > 0) return CONSORT_E_INVAL;
    space_ = out->id;
    consort_space_desc d = *out;
    d.flags = CONSORT_SP_OPAQUE;  // contents end with the process
    d.numa = -1;
    d.name = name_.c_str();
    d.domain = "file";
    d.domain_key = reinterpret_cast<uint64_t>(this);
    d.capacity = extents_.capacity();
    d.granule = d.align = kBlock;
    answer(out, d);
    return CONSORT_OK;
  }

  consort_status link(const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) {
    const bool from = src->id == space_, to = dst->id == space_;
    if (from == to || !is_host_memory(from ? dst : src)) return CONSORT_E_UNSUPPORTED;
    consort_link_desc d{};
    d.size = out->size;
    d.flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
    d.bytes_per_s = 500'000'000;  // default until it is measured
    d.latency_ns = 100'000;
    d.engines = 1;
    d.max_run = UINT64_MAX;
    d.min_align = 1;
    d.bounce_space = CONSORT_NONE;
    answer(out, d);
    return CONSORT_OK;
  }

  // Addresses are (kFile, offset in the file).
  consort_status alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
    const std::string what = std::to_string(bytes) + " bytes";
    if (space != space_ || bytes == 0 || (align & (align - 1)) != 0)
      return driver.fail(CONSORT_E_INVAL, "cannot allocate " + what + " aligned to " + std::to_string(align) +
                                              " in space " + std::to_string(space) +
                                              ": bytes must not be 0, the alignment a power of two, the space this device's");
    constexpr uint32_t can = CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT;
    if (flags & ~can)
      return driver.fail(CONSORT_E_UNSUPPORTED, "a file cannot be pinned or exported: omit these flags");
    std::optional<uint64_t> at;
    {
      const std::lock_guard lock(mutex_);
      at = extents_.take(bytes, align);
      if (!at)
        return driver.fail(CONSORT_E_NOMEM, "no space for " + what + " in " + name_ + ", where " +
                                                std::to_string(extents_.used()) + " of " +
                                                std::to_string(extents_.capacity()) + " are taken: raise `capacity`");
    }
    const uint64_t whole = (bytes + kBlock - 1) / kBlock * kBlock;
    const bool promised = file.preallocates();
    int e = file.grow(*at + whole);
    if (promised && !file.preallocates())
      driver.log(1, folder_ + " does not support preallocation: copies fail if the disk is full");
    if (e == 0 && (flags & CONSORT_AL_ZERO)) e = file.zero(*at, whole);
    if (e) {
      const std::lock_guard lock(mutex_);
      extents_.give_back(*at);
      const bool full = e == ENOSPC || e == EDQUOT || e == EFBIG || e == ENOMEM;
      return driver.fail(full ? CONSORT_E_NOMEM : CONSORT_E_IO,
                         "no space for " + what + " at " + std::to_string(*at) + " in " + name_ + ": " + text_of(e) +
                             ", " + std::to_string(file.room()) +
                             " bytes are free; free some space there, or set another folder in `path`");
    }
    try {
      sums.reset(*at, whole, flags & CONSORT_AL_ZERO);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      extents_.give_back(*at);
      throw;
    }
    *out = {kFile, *at};
    return CONSORT_OK;
  }

  bool owns(uint32_t space) const noexcept { return space == space_; }
  void free(uint32_t space, consort_addr addr) {
    bool known = false;
    if (space == space_ && addr.base == kFile) {
      const std::lock_guard lock(mutex_);
      known = extents_.give_back(addr.off) != 0;
    }
    if (!known)
      driver.log(1, "cannot free address " + std::to_string(addr.off) + " of space " + std::to_string(space) + ": it is not allocated");
  }

  // Divides the op into pieces; < 0: refused, reason in *why.
  consort_status cut(const consort_op &op, Pieces *out, std::string *why) const {
    const auto no = [&](consort_status s, const char *text) { return *why = text, s; };
    uint64_t base = 0;
    if (op.kind == CONSORT_OP_FILL) {
      if (op.u.fill.space != space_) return no(CONSORT_E_INVAL, "a fill of a space of another device");
      *out = Pieces(op.u.fill);
      base = op.u.fill.dst.base;
    } else if (op.kind == CONSORT_OP_COPY) {
      const consort_copy &c = op.u.copy;
      if ((c.src_space == space_) == (c.dst_space == space_))
        return no(CONSORT_E_INVAL, "a copy not between this space and host memory");
      *out = Pieces(c, c.dst_space == space_);
      base = c.dst_space == space_ ? c.dst.base : c.src.base;
    } else if (op.kind == CONSORT_OP_MARK) {
      return CONSORT_OK;
    } else {
      return no(CONSORT_E_UNSUPPORTED, "a disk supports only copies and fills");
    }
    if (out->total() == 0) return CONSORT_OK;
    uint64_t from = 0, to = 0;
    const std::lock_guard lock(mutex_);
    if (base == kFile && out->reach(&from, &to) && extents_.holds(from, to)) return CONSORT_OK;
    return no(CONSORT_E_INVAL, "it exceeds the allocated range");
  }

  // Text for a transfer that ended early or has a wrong checksum.
  std::string trouble(const Pieces &pieces, uint64_t at, uint64_t bytes, const Outcome &o) const {
    const int e = o.error;
    std::string text = std::string(pieces.to_file() ? "writing " : "reading ") + std::to_string(bytes) + " bytes at " +
                       std::to_string(at) + " of the file in " + folder_ + ": ";
    if (o.bad.bytes) {
      char sums[64];
      std::snprintf(sums, sizeof sums, "0x%08x, written 0x%08x", o.bad.found, o.bad.written);
      return text + "the " + std::to_string(o.bad.bytes) + " bytes at " + std::to_string(o.bad.at) +
             " differ from the bytes written (checksum " + sums +
             "): check the disk, or set another folder in `path`";
    }
    if (e)
      text += text_of(e);
    else
      text += "it ended after " + std::to_string(o.done);
    if (e == ENOSPC || e == EDQUOT)
      text += ", " + std::to_string(file.room()) + " bytes are free there; free some space, or set another folder in `path`";
    return text;
  }
  static consort_status status_of(int e, bool to_file) noexcept {
    return e == ENOMEM || (to_file && (e == ENOSPC || e == EDQUOT || e == EFBIG)) ? CONSORT_E_NOMEM : CONSORT_E_IO;
  }
  void warn(const std::string &text) noexcept {  // rate-limited: a broken disk fails often
    try {
      if (warnings_.fetch_add(1, std::memory_order_relaxed) < kLoud) driver.log(1, text);
    } catch (...) {
    }
  }

  size_t taken() const {
    const std::lock_guard lock(mutex_);
    return extents_.taken();
  }
  const std::string &name() const noexcept { return name_; }

  template <class T>
  static void answer(T *out, const T &d) noexcept {  // an older host has a shorter struct
    std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
  }

  Driver &driver;
  File file;
  Checksums sums;
  Rules rules;
  static constexpr uint64_t kFile = 1;

 private:
  static constexpr uint32_t kLoud = 8;
  static bool is_host_memory(const consort_space_desc *s) noexcept {
    constexpr uint32_t need = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
    return (s->flags & need) == need && !(s->flags & CONSORT_SP_OPAQUE);
  }

  const std::string folder_, name_;
  uint32_t space_ = CONSORT_NONE;
  mutable std::mutex mutex_;
  Extents extents_;
  std::atomic<uint32_t> warnings_{0};  // relaxed: a counter
};

}  // namespace disk

#include "remote/checkpoint_file.hpp"

#include <consort/shared/crc32c.hpp>
#include <consort/shared/little_endian.hpp>

#include <algorithm>
#include <bit>
#include <charconv>

namespace consort {
namespace {

constexpr std::string_view kPartMark = "CONSPART", kManifestMark = "CONSCKPT", kTrailMark = "CONSEND\n";
constexpr uint8_t kFileVersion = 1, kOrder = std::endian::native == std::endian::little ? 1 : 2;
constexpr uint64_t kLeastEntry = 29;      // bytes of an entry of the index with an empty name
constexpr uint32_t kMostRanks = 4096;

class FileWriter {
 public:
  explicit FileWriter(std::string_view mark = {}) : out_(mark) {}
  void put(uint64_t value, size_t bytes) { shared::append_little(out_, value, bytes); }
  void put_name(std::string_view name) {
    put(name.size(), 1);
    out_ += name;
  }
  void put_sum() { put(checksum(out_), 4); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Beyond the end everything is zero, and is_good() is false.
class FileReader {
 public:
  explicit FileReader(std::string_view in) noexcept : in_(in) {}
  uint64_t get(size_t bytes) noexcept {
    const std::string_view got = take(bytes);
    return shared::load_little(got.data(), got.size());
  }
  std::string_view take(size_t bytes) noexcept {
    if (bytes > in_.size()) return is_good_ = false, in_ = {}, in_;
    const std::string_view got = in_.substr(0, bytes);
    in_.remove_prefix(bytes);
    return got;
  }
  std::string_view get_name() noexcept { return take(get(1)); }
  uint64_t left() const noexcept { return in_.size(); }
  bool is_good() const noexcept { return is_good_; }

 private:
  std::string_view in_;
  bool is_good_ = true;
};

bool refuse(std::string *why, const char *text) { return *why = text, false; }

bool is_plain(std::string_view name) noexcept {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Mark, version and order of the machine that wrote it.
bool read_mark(FileReader &r, std::string_view mark, std::string *why) {
  if (r.take(mark.size()) != mark) return refuse(why, "it is no file of a checkpoint, or was changed");
  const uint64_t version = r.get(1), order = r.get(1), none = r.get(2);
  if (version != kFileVersion) return *why = "it is of version " + std::to_string(version) + ", this library reads 1", false;
  if (order != kOrder) return refuse(why, "it was written on a machine with another byte order");
  return r.is_good() && !none ? true : refuse(why, "it was changed");
}

void put_entry(FileWriter &w, const SavedDatum &d) {
  w.put(d.tag, 8), w.put(d.offset, 8), w.put(d.bytes, 8), w.put(d.sum, 4);
  w.put_name(d.layout);
}

SavedDatum get_entry(FileReader &r) {
  SavedDatum d;
  d.tag = r.get(8), d.offset = r.get(8), d.bytes = r.get(8);
  d.sum = static_cast<uint32_t>(r.get(4));
  d.layout = r.get_name();
  return d;
}

// Whether the contents lie between the head and the end.
bool fits(const SavedDatum &d, uint64_t end) noexcept {
  return d.offset >= kPartHead && d.offset <= end && d.bytes <= end - d.offset && is_plain(d.layout);
}

}  // namespace

uint32_t checksum(std::string_view bytes) noexcept {
  static const shared::Crc32c crc = shared::Crc32c::best();
  return crc.of(bytes.data(), bytes.size());
}

const SavedDatum *CheckpointManifest::find(uint64_t tag) const noexcept {
  const auto at = std::lower_bound(data.begin(), data.end(), tag, [](const SavedDatum &d, uint64_t t) { return d.tag < t; });
  return at != data.end() && at->tag == tag ? &*at : nullptr;
}

uint64_t CheckpointManifest::bytes() const noexcept {
  uint64_t sum = 0;
  for (const SavedDatum &d : data) sum += d.bytes;
  return sum;
}

std::string encode(const PartHead &h) {
  FileWriter w(kPartMark);
  w.put(kFileVersion, 1), w.put(kOrder, 1), w.put(0, 2);
  w.put(h.rank, 4), w.put(h.job, 8), w.put(h.serial, 8), w.put(0, 4);
  w.put_sum();
  return w.take();
}

bool decode(std::string_view in, PartHead *out, std::string *why) {
  FileReader r(in);
  if (!read_mark(r, kPartMark, why)) return false;
  out->rank = static_cast<uint32_t>(r.get(4));
  out->job = r.get(8), out->serial = r.get(8);
  const uint64_t none = r.get(4), sum = r.get(4);
  if (!r.is_good() || r.left() || none || sum != checksum(in.substr(0, kPartHead - 4))) return refuse(why, "its head was changed");
  return true;
}

std::string encode_index(const std::vector<SavedDatum> &data) {
  FileWriter w;
  for (const SavedDatum &d : data) put_entry(w, d);
  return w.take();
}

std::string encode_trail(uint64_t index_at, std::string_view index) {
  FileWriter w;
  w.put(index_at, 8), w.put(checksum(index), 4);
  std::string trail = w.take();
  FileWriter sum;
  sum.put(checksum(trail), 4);
  return trail + sum.take() + std::string(kTrailMark);
}

bool decode_trail(std::string_view in, uint64_t file_bytes, uint64_t *index_at, uint64_t *index_bytes, uint32_t *sum, std::string *why) {
  FileReader r(in);
  *index_at = r.get(8);
  *sum = static_cast<uint32_t>(r.get(4));
  const uint64_t own = r.get(4);
  if (r.take(kTrailMark.size()) != kTrailMark || r.left() || own != checksum(in.substr(0, 12)) || file_bytes < kPartHead + kPartTrail)
    return refuse(why, "it was cut short, or was changed");
  const uint64_t end = file_bytes - kPartTrail;
  if (*index_at < kPartHead || *index_at > end) return refuse(why, "its end names a place beyond the file");
  *index_bytes = end - *index_at;
  return true;
}

bool decode_index(std::string_view in, uint32_t sum, uint64_t index_at, uint32_t rank, std::vector<SavedDatum> *out, std::string *why) {
  if (checksum(in) != sum) return refuse(why, "its index was changed");
  FileReader r(in);
  out->clear();
  out->reserve(in.size() / kLeastEntry);
  while (r.left()) {
    SavedDatum d = get_entry(r);
    d.rank = rank;
    if (!r.is_good() || !fits(d, index_at)) return refuse(why, "its index names a place beyond the file");
    out->push_back(std::move(d));
  }
  return true;
}

std::string encode(const CheckpointManifest &m) {
  FileWriter w(kManifestMark);
  w.put(kFileVersion, 1), w.put(kOrder, 1), w.put(0, 2);
  w.put(m.parts.size(), 4);
  w.put(m.job, 8), w.put(m.serial, 8), w.put(m.number, 8);
  w.put_name(m.name);
  for (const SavedPart &p : m.parts) w.put(p.bytes, 8), w.put(p.sum, 4);
  w.put(m.data.size(), 8);
  for (const SavedDatum &d : m.data) w.put(d.rank, 4), put_entry(w, d);
  w.put_sum();
  return w.take();
}

bool decode(std::string_view in, CheckpointManifest *out, std::string *why) {
  if (in.size() < 4 || FileReader(in.substr(in.size() - 4)).get(4) != checksum(in.substr(0, in.size() - 4)))
    return refuse(why, "it was cut short, or was changed");
  FileReader r(in.substr(0, in.size() - 4));
  if (!read_mark(r, kManifestMark, why)) return false;
  const uint64_t nparts = r.get(4);
  out->job = r.get(8), out->serial = r.get(8), out->number = r.get(8);
  out->name = r.get_name();
  if (!r.is_good() || !nparts || nparts > kMostRanks || !out->serial || !is_plain(out->name)) return refuse(why, "its head makes no sense");
  out->parts.assign(nparts, {});
  for (SavedPart &p : out->parts) {
    p.bytes = r.get(8);
    p.sum = static_cast<uint32_t>(r.get(4));
    if (p.bytes < kPartHead + kPartTrail) return refuse(why, "a part is shorter than its head");
  }
  const uint64_t ndata = r.get(8);
  if (!r.is_good() || ndata > r.left() / (kLeastEntry + 4)) return refuse(why, "it names more data than it has");
  out->data.clear();
  out->data.reserve(ndata);
  for (uint64_t i = 0; i < ndata; ++i) {
    const auto rank = static_cast<uint32_t>(r.get(4));
    SavedDatum d = get_entry(r);
    d.rank = rank;
    if (!r.is_good() || rank >= nparts || !fits(d, out->parts[rank].bytes - kPartTrail)) return refuse(why, "it names a place beyond a part");
    if (i && d.tag <= out->data.back().tag) return refuse(why, "its data are not in the order of their tags");
    out->data.push_back(std::move(d));
  }
  return r.left() ? refuse(why, "it is longer than its data") : true;
}

std::string part_name(uint64_t serial, uint32_t rank) { return std::to_string(serial) + ".part" + std::to_string(rank); }

bool read_part_name(std::string_view name, uint64_t *serial, uint32_t *rank) noexcept {
  constexpr std::string_view kMiddle = ".part";
  const char *const end = name.data() + name.size();
  const auto [at, e1] = std::from_chars(name.data(), end, *serial);
  if (e1 != std::errc() || !std::string_view(at, end).starts_with(kMiddle)) return false;
  const auto [last, e2] = std::from_chars(at + kMiddle.size(), end, *rank);
  return e2 == std::errc() && last == end;
}

}  // namespace consort

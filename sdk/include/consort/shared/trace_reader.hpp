// trace_reader.hpp — reads a trace from memory. Its bytes are from outside: nothing is believed before it is checked.
//
// Shared by kernel, command and tests. A TraceReader keeps views of the bytes, which must outlive it. One thread.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "little_endian.hpp"
#include "trace_format.hpp"

namespace consort::shared {

class TraceReader {
 public:
  enum Field : uint8_t {
    kWorker, kImpl, kTask, kBegin, kEnd, kTook, kCodelet, kStatus, kExpected, kFrom, kTo, kBytes, kDatum, kReason, kAt, kRun, kSpace,
    kLimit, kNumber, kName, kWhole, kKind, kPriority, kNuses, kNafter, kUses, kFields
  };

  static bool is_binary(std::string_view all) noexcept { return all.starts_with(trace_format::kFirstLine); }

  // Looks at all chunks. False: not a trace; why().
  bool open(std::string_view all);
  const std::string &why() const noexcept { return why_; }
  bool cut() const noexcept { return cut_; }            // it has no end: what follows the last whole record is lost
  uint64_t lost() const noexcept { return lost_; }      // events that the runtime dropped
  size_t bytes_read() const noexcept { return read_; }  // up to the end of the last whole chunk or record

  class Record;
  // Calls line(text) for each line, in order.
  template <class F> void each_line(F line) const {
    for (std::string_view rest : lines_)
      while (!rest.empty()) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        if (end) line(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
  }
  // Calls one(Record) for each record of a known type: those of one thread in the order in which they were written.
  template <class F> void each_record(F one) const;

 private:
  struct Place { int8_t type = -1; uint16_t offset = 0; };  // type < 0: the record has no such field
  struct Layout {
    std::string_view name;
    uint16_t words = 1;                                 // the least that a record of this type has
    Place fields[kFields];
  };
  bool fail(std::string why) { return why_ = std::move(why), false; }
  bool take_chunk(const trace_format::Chunk &, std::string_view payload, size_t at);
  bool take_layout(std::string_view line);
  bool take_field(std::string_view text, Layout *);
  uint64_t ns_of(uint64_t ticks) const noexcept;

  std::string why_;
  bool cut_ = false;
  uint64_t lost_ = 0;
  size_t read_ = 0;
  std::vector<std::string_view> lines_, events_;
  std::vector<std::pair<uint64_t, uint64_t>> points_;   // ticks, ns; both rise
  std::vector<Layout> layouts_;                         // by type
};

// One record. A field that it does not have is 0.
class TraceReader::Record {
 public:
  Record(const TraceReader &reader, const Layout &layout, std::string_view bytes) : reader_(reader), layout_(layout), bytes_(bytes) {}
  std::string_view name() const noexcept { return layout_.name; }
  bool has(Field f) const noexcept { return layout_.fields[f].type >= 0; }
  uint64_t number(Field f, uint64_t otherwise = 0) const noexcept {  // signed ones are extended; times are in ns
    using trace_format::Type;
    const Place p = layout_.fields[f];
    if (p.type < 0) return otherwise;
    const char *const at = bytes_.data() + p.offset;
    switch (static_cast<Type>(p.type)) {
      case Type::kU16: return load<uint16_t>(at);
      case Type::kU32: case Type::kF32: case Type::kTicks32: return load<uint32_t>(at);
      case Type::kI32: return static_cast<uint64_t>(int64_t{static_cast<int32_t>(load<uint32_t>(at))});
      case Type::kTick: return reader_.ns_of(load<uint64_t>(at));
      case Type::kLetter: return static_cast<unsigned char>(*at);
      case Type::kText: case Type::kList: return 0;
      default: return load<uint64_t>(at);
    }
  }
  int64_t whole(Field f, int64_t otherwise = 0) const noexcept { return static_cast<int64_t>(number(f, static_cast<uint64_t>(otherwise))); }
  float real(Field f) const noexcept {
    const uint64_t bits = number(f);
    const auto low = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, sizeof value);
    return value;
  }
  uint64_t end() const noexcept {                       // its begin and how long it took, where it has no end
    const Place p = layout_.fields[kBegin];
    if (has(kEnd) || !has(kTook) || p.type < 0) return number(kEnd);
    const uint64_t begin = load<uint64_t>(bytes_.data() + p.offset), took = number(kTook);
    const uint64_t end = begin > UINT64_MAX - took ? UINT64_MAX : begin + took;
    return p.type == static_cast<int8_t>(trace_format::Type::kTick) ? reader_.ns_of(end) : end;
  }
  std::string_view text(Field f) const noexcept {
    const Place p = layout_.fields[f];
    if (p.type != static_cast<int8_t>(trace_format::Type::kText)) return {};
    const std::string_view all = bytes_.substr(p.offset);
    return all.substr(0, std::min(all.find('\0'), all.size()));
  }
  // The lists of a submission. False: they are longer than the record.
  template <class After, class Use> bool lists(After after, Use use) const {
    const Place p = layout_.fields[kUses];
    if (p.type != static_cast<int8_t>(trace_format::Type::kList)) return true;
    const std::string_view all = bytes_.substr(p.offset);
    const uint64_t nafter = number(kNafter), nuses = number(kNuses);
    if (nafter > all.size() / 8 || nuses > (all.size() - nafter * 8) / 4) return false;
    for (uint64_t i = 0; i < nafter; ++i) after(load<uint64_t>(all.data() + i * 8));
    for (uint64_t i = 0; i < nuses; ++i) {
      const auto word = load<uint32_t>(all.data() + nafter * 8 + i * 4);
      use(trace_format::kUses[word >> trace_format::kUseShift], word & ((1u << trace_format::kUseShift) - 1));
    }
    return true;
  }

 private:
  template <class T> static T load(const char *at) noexcept { return static_cast<T>(load_little(at, sizeof(T))); }

  const TraceReader &reader_;
  const Layout &layout_;
  const std::string_view bytes_;
};

template <class F> void TraceReader::each_record(F one) const {
  for (std::string_view rest : events_)
    while (rest.size() >= 8) {
      const auto type = static_cast<uint16_t>(load_little(rest.data(), 2));
      const size_t bytes = size_t{8} * load_little(rest.data() + 2, 2);
      if (!bytes || bytes > rest.size()) break;         // open() has looked at that
      if (type < layouts_.size() && !layouts_[type].name.empty() && bytes >= size_t{8} * layouts_[type].words)
        one(Record(*this, layouts_[type], rest.substr(0, bytes)));
      rest.remove_prefix(bytes);
    }
}

inline bool TraceReader::open(std::string_view all) {
  using namespace trace_format;
  if (!is_binary(all)) return fail("not a trace");
  read_ = kFirstLine.size();
  bool ended = false;
  while (!ended && all.size() - read_ >= sizeof(Chunk)) {
    const char *const head = all.data() + read_;
    const Chunk c{static_cast<uint32_t>(load_little(head, 4)), static_cast<uint32_t>(load_little(head + 4, 4)),
                  static_cast<uint32_t>(load_little(head + 8, 4)), static_cast<uint32_t>(load_little(head + 12, 4))};
    if (c.mark != kMark || c.bytes % 8) return fail("byte " + std::to_string(read_) + ": no chunk begins there");
    const size_t at = read_ + sizeof(Chunk), have = std::min<size_t>(c.bytes, all.size() - at);
    if (!take_chunk(c, all.substr(at, have), at)) return false;
    if (have < c.bytes) break;                          // take_chunk() has counted what is whole
    read_ = at + have;
    ended = c.kind == trace_format::kEnd;
  }
  if (ended && read_ < all.size()) return fail("byte " + std::to_string(read_) + ": there is something behind the end");
  cut_ = !ended;
  std::sort(points_.begin(), points_.end());
  uint64_t ns = 0;                                      // a clock that goes back would let runs end before they begin
  for (auto &[ticks, at] : points_) at = ns = std::max(ns, at);
  points_.erase(std::unique(points_.begin(), points_.end(), [](const auto &a, const auto &b) { return a.first == b.first; }), points_.end());
  return true;
}

inline bool TraceReader::take_chunk(const trace_format::Chunk &c, std::string_view payload, size_t at) {
  const bool whole = payload.size() == c.bytes;
  switch (c.kind) {
    case trace_format::kLines:
      if (!whole) payload = payload.substr(0, payload.rfind('\n') + 1);  // npos + 1 is 0
      for (std::string_view rest = payload; !rest.empty();) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        if (line.starts_with("record\t") && !take_layout(line))
          return fail("byte " + std::to_string(at) + ": this describes no record: " + std::string(line));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      lines_.push_back(payload);
      break;
    case trace_format::kEvents: {
      size_t n = 0;
      while (payload.size() - n >= 8) {
        const size_t bytes = size_t{8} * load_little(payload.data() + n + 2, 2);
        if (!bytes || (bytes > payload.size() - n && whole)) return fail("byte " + std::to_string(at + n) + ": no record begins there");
        if (bytes > payload.size() - n) break;
        n += bytes;
      }
      events_.push_back(payload.substr(0, n));
      break;
    }
    case trace_format::kClock:
      for (size_t n = 0; payload.size() - n >= 16; n += 16)
        points_.emplace_back(load_little(payload.data() + n, 8), load_little(payload.data() + n + 8, 8));
      break;
    case trace_format::kReset: events_.clear(), lines_.clear(); break;
    case trace_format::kEnd:
      if (whole && payload.size() < 8) return fail("byte " + std::to_string(at) + ": an end has a number");
      if (whole) lost_ = load_little(payload.data(), 8);
      break;
    default: break;                                     // of a later version
  }
  return true;
}

inline bool TraceReader::take_field(std::string_view text, Layout *layout) {
  static constexpr std::string_view kNames[kFields] = {
      "worker", "impl", "task", "begin", "end", "took", "codelet", "status", "expected", "from", "to", "bytes", "datum", "reason", "at", "run",
      "space", "limit", "number", "name", "whole", "kind", "priority", "nuses", "nafter", "uses"};
  const size_t one = text.find(':'), two = text.find(':', one == text.npos ? one : one + 1);
  if (two == text.npos) return false;
  const std::string_view name = text.substr(0, one), type = text.substr(one + 1, two - one - 1), offset = text.substr(two + 1);
  uint16_t at = 0;
  const auto [end, problem] = std::from_chars(offset.data(), offset.data() + offset.size(), at);
  if (problem != std::errc{} || end != offset.data() + offset.size()) return false;
  const auto known = std::find_if(std::begin(trace_format::kTypes), std::end(trace_format::kTypes), [&](const auto &t) { return t.name == type; });
  if (known == std::end(trace_format::kTypes)) return true;  // of a later version
  const size_t least = (size_t{at} + known->bytes + 7) / 8;
  if (at < sizeof(trace_format::Record) || least > UINT16_MAX) return false;
  layout->words = std::max(layout->words, static_cast<uint16_t>(least));
  for (size_t f = 0; f < kFields; ++f)
    if (kNames[f] == name) layout->fields[f] = {static_cast<int8_t>(known->type), at};
  return true;
}

inline bool TraceReader::take_layout(std::string_view line) {
  line.remove_prefix(std::string_view("record\t").size());
  const auto next = [&] {
    const size_t tab = std::min(line.find('\t'), line.size());
    const std::string_view field = line.substr(0, tab);
    line.remove_prefix(std::min(tab + 1, line.size()));
    return field;
  };
  const std::string_view number = next();
  uint16_t type = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), type);
  if (problem != std::errc{} || end != number.data() + number.size() || type == trace_format::kPadding || type > 4095) return false;
  Layout layout;
  layout.name = next();
  if (layout.name.empty()) return false;
  while (!line.empty())
    if (!take_field(next(), &layout)) return false;
  if (layouts_.size() <= type) layouts_.resize(size_t{type} + 1);
  layouts_[type] = layout;
  return true;
}

// Between two points the clock is taken to be even, and before the first and behind the last as even as beside them.
inline uint64_t TraceReader::ns_of(uint64_t ticks) const noexcept {
  if (points_.size() < 2) return points_.empty() ? ticks : points_[0].second + (ticks - std::min(ticks, points_[0].first));
  auto b = std::upper_bound(points_.begin(), points_.end(), ticks, [](uint64_t t, const auto &p) { return t < p.first; });
  b = std::clamp(b, points_.begin() + 1, points_.end() - 1);
  const auto &from = b[-1], &to = *b;
  const uint64_t width = to.first - from.first, height = to.second - from.second;
  __extension__ typedef unsigned __int128 Wide;
  const auto scaled = [&](uint64_t part) -> uint64_t {
    const auto ns = static_cast<Wide>(part) * height / width;
    return ns > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(ns);
  };
  if (ticks < from.first) return from.second - std::min(from.second, scaled(from.first - ticks));
  const uint64_t more = scaled(ticks - from.first);
  return more > UINT64_MAX - from.second ? UINT64_MAX : from.second + more;
}

}  // namespace consort::shared

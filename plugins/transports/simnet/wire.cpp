#include "wire.hpp"

#include <consort/shared/little_endian.hpp>

namespace simnet {
namespace {

class Writer {
 public:
  template <class T>
  Writer &put(T value) {
    consort::shared::append_little(out_, static_cast<uint64_t>(value), sizeof value);
    return *this;
  }
  Writer &put(const Bytes &b) {
    put<uint64_t>(b.size());
    out_.insert(out_.end(), b.begin(), b.end());
    return *this;
  }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

// After a read beyond the end, all reads give 0.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  template <class T>
  T get() {
    if (in_.size() < sizeof(T)) return is_good_ = false, in_ = {}, T{};
    const auto value = static_cast<T>(consort::shared::load_little(in_.data(), sizeof(T)));
    in_ = in_.subspan(sizeof(T));
    return value;
  }
  Bytes bytes() {
    const auto n = get<uint64_t>();
    if (n > in_.size()) return is_good_ = false, in_ = {}, Bytes();
    const Bytes b(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(n));
    in_ = in_.subspan(n);
    return b;
  }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && in_.empty(); }

 private:
  std::span<const std::byte> in_;
  bool is_good_ = true;
};

}  // namespace

Bytes encode(const Turn &t) {
  Writer w;
  w.put<uint8_t>(t.kind).put(t.now).put(t.until).put(static_cast<uint32_t>(t.posts.size()));
  for (const Post &p : t.posts)
    w.put<uint8_t>(p.kind).put(p.peer).put(p.op).put(p.at).put(p.tag).put(p.ignore).put(p.bytes).put(p.contents);
  return w.take();
}

Bytes encode(const Grant &g) {
  Writer w;
  w.put(g.now).put(static_cast<uint32_t>(g.reports.size()));
  for (const Report &r : g.reports)
    w.put<uint8_t>(r.kind).put(static_cast<uint32_t>(r.status)).put(r.source).put(r.op).put(r.tag).put(r.bytes).put(r.contents);
  return w.take();
}

bool decode(std::span<const std::byte> in, Turn *out) {
  Reader r(in);
  Turn t;
  const auto kind = r.get<uint8_t>();
  if (kind != Turn::kWait && kind != Turn::kLeave) return false;
  t.kind = static_cast<Turn::Kind>(kind), t.now = r.get<uint64_t>(), t.until = r.get<uint64_t>();
  for (auto n = r.get<uint32_t>(); n && r.is_good(); --n) {
    Post p;
    const auto what = r.get<uint8_t>();
    if (what < Post::kSend || what > Post::kCancel) return false;
    p.kind = static_cast<Post::Kind>(what), p.peer = r.get<uint32_t>(), p.op = r.get<uint64_t>(), p.at = r.get<uint64_t>();
    p.tag = r.get<uint64_t>(), p.ignore = r.get<uint64_t>(), p.bytes = r.get<uint64_t>(), p.contents = r.bytes();
    if (p.contents.size() != p.bytes && !p.contents.empty()) return false;
    t.posts.push_back(std::move(p));
  }
  if (!r.is_at_end()) return false;
  *out = std::move(t);
  return true;
}

bool decode(std::span<const std::byte> in, Grant *out) {
  Reader r(in);
  Grant g;
  g.now = r.get<uint64_t>();
  for (auto n = r.get<uint32_t>(); n && r.is_good(); --n) {
    Report p;
    const auto what = r.get<uint8_t>();
    if (what != Report::kDone && what != Report::kLost) return false;
    p.kind = static_cast<Report::Kind>(what), p.status = static_cast<consort_status>(r.get<uint32_t>()), p.source = r.get<uint32_t>();
    p.op = r.get<uint64_t>(), p.tag = r.get<uint64_t>(), p.bytes = r.get<uint64_t>(), p.contents = r.bytes();
    g.reports.push_back(std::move(p));
  }
  if (!r.is_at_end()) return false;
  *out = std::move(g);
  return true;
}

}  // namespace simnet

#include "part_wire.hpp"

#include <consort/shared/little_endian.hpp>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tool {
namespace {

constexpr size_t kMostBeforeGreeting = 64 << 10, kMostWords = 1 << 16, kMostInFile = 64 << 10, kMostInName = 200;

class BodyWriter {
 public:
  BodyWriter &number(uint32_t n) {
    consort::shared::append_little(text_, n, 4);
    return *this;
  }
  BodyWriter &text(std::string_view t) {
    number(static_cast<uint32_t>(t.size()));
    text_ += t;
    return *this;
  }
  BodyWriter &texts(const std::vector<std::string> &all) {
    number(static_cast<uint32_t>(all.size()));
    for (const std::string &t : all) text(t);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class BodyReader {
 public:
  explicit BodyReader(std::string_view bytes) : rest_(bytes) {}
  uint32_t number() {
    return static_cast<uint32_t>(consort::shared::load_little(take(4).data(), 4));
  }
  std::string text() {
    const uint32_t n = number();
    return std::string(take(n));
  }
  std::vector<std::string> texts() {
    const uint32_t n = number();
    if (n > kMostWords) throw std::runtime_error("a list has " + std::to_string(n) + " words");
    std::vector<std::string> all;
    for (uint32_t i = 0; i < n; ++i) all.push_back(text());
    return all;
  }
  void end() const {
    if (!rest_.empty()) throw std::runtime_error(std::to_string(rest_.size()) + " bytes too many in a frame");
  }

 private:
  std::string_view take(size_t n) {
    if (n > rest_.size()) throw std::runtime_error("a frame ends too early");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  std::string_view rest_;
};

bool is_kind(char c) { return c && std::string_view("SFITOKE").find(c) != std::string_view::npos; }

bool is_plain(const std::string &name) {
  return !name.empty() && name[0] != '.' && name.size() <= kMostInName && name != "secret" &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '%'; });
}

bool has_zero(const std::vector<std::string> &all) {
  return std::any_of(all.begin(), all.end(), [](const std::string &t) { return t.find('\0') != t.npos; });
}

}  // namespace

std::string encoded(FrameKind kind, std::string_view body) {
  if (body.size() > kMostInFrame) throw std::runtime_error("a frame of " + std::to_string(body.size()) + " bytes is too large");
  return static_cast<char>(kind) + BodyWriter().text(body).take();
}

bool FrameReader::next(Frame *out) {
  if (bytes_.size() < 5) return false;
  const uint32_t n = BodyReader(std::string_view(bytes_).substr(1)).number();
  if (!is_kind(bytes_[0]) || n > kMostInFrame) throw std::runtime_error("what was received is no frame of consort");
  if (bytes_.size() - 5 < n) return false;
  out->kind = static_cast<FrameKind>(bytes_[0]);
  out->body = bytes_.substr(5, n);
  bytes_.erase(0, 5 + n);
  return true;
}

bool FrameReader::skip_to_greeting() {
  const size_t at = bytes_.find(kGreeting);
  if (at != bytes_.npos) bytes_.erase(0, at + kGreeting.size());
  else if (bytes_.size() > kMostBeforeGreeting) throw std::runtime_error("its shell prints without end");
  return at != bytes_.npos;
}

std::string encoded(const PartStart &s) {
  return BodyWriter().text(s.job).text(s.secret).text(s.folder).number(s.first).number(s.count).number(s.ranks)
      .number(s.bound).texts(s.environment).texts(s.program).take();
}

PartStart part_start_of(std::string_view bytes) {
  BodyReader r(bytes);
  PartStart s;
  s.job = r.text(), s.secret = r.text(), s.folder = r.text();
  s.first = r.number(), s.count = r.number(), s.ranks = r.number();
  s.bound = r.number() != 0;
  s.environment = r.texts(), s.program = r.texts();
  r.end();
  const bool is_good = is_plain(s.job) && s.secret.size() >= 16 && s.count > 0 && s.first < s.ranks &&
                       s.count <= s.ranks - s.first && !s.program.empty() && !has_zero(s.program) && !has_zero(s.environment) &&
                       !has_zero({s.folder});
  if (!is_good) throw std::runtime_error("the start of a part makes no sense");
  for (const std::string &e : s.environment)
    if (e.find('=') == e.npos || !e.starts_with("CONSORT_")) throw std::runtime_error("a part gets settings of consort alone");
  return s;
}

std::string encoded(const PartFile &f) { return BodyWriter().text(f.name).text(f.text).take(); }

PartFile part_file_of(std::string_view bytes) {
  BodyReader r(bytes);
  PartFile f;
  f.name = r.text(), f.text = r.text();
  r.end();
  if (!is_plain(f.name) || f.name.ends_with(".new")) throw std::runtime_error("a file of a job has another name");
  if (f.text.size() > kMostInFile) throw std::runtime_error("a file of a job has " + std::to_string(f.text.size()) + " bytes");
  return f;
}

std::string encoded(const RankEnd &e) { return BodyWriter().number(e.rank).number(e.status).number(e.was_killed).text(e.words).take(); }

RankEnd rank_end_of(std::string_view bytes) {
  BodyReader r(bytes);
  RankEnd e;
  e.rank = r.number(), e.status = r.number();
  const uint32_t killed = r.number();
  e.was_killed = killed == 1, e.words = r.text();
  r.end();
  if (killed > 1) throw std::runtime_error("the end of a rank makes no sense");
  return e;
}

std::string encoded(uint32_t n) { return BodyWriter().number(n).take(); }

uint32_t number_of(std::string_view bytes) {
  BodyReader r(bytes);
  const uint32_t n = r.number();
  r.end();
  return n;
}

}  // namespace tool

// text.hpp — messages of layers: lines composed without allocation, names of statuses, lists in parameters.
#pragma once
#include <consort/plugin.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace layers {

constexpr const char *kStatuses[] = {"OK",          "E_INVAL",    "E_NOMEM",     "E_UNSUPPORTED",
                                     "E_BUSY",      "E_IO",       "E_CANCELLED", "E_DEVICE_LOST",
                                     "E_PEER_LOST", "E_ABI",      "E_INTERNAL",  "E_TIMEOUT",
                                     "E_TRUNCATED", "E_POISONED", "E_STALE",     "E_STOPPED"};
constexpr int32_t kLastStatus = 1 - static_cast<int32_t>(sizeof kStatuses / sizeof *kStatuses);
constexpr const char *status_name(consort_status s) {
  return s > 0 ? (s == CONSORT_AGAIN ? "AGAIN" : "") : s < kLastStatus ? "" : kStatuses[-s];
}

constexpr const char *kind_name(uint32_t kind) {
  constexpr const char *names[] = {"plugin", "driver", "interface", "scheduler", "transport"};
  return names[kind < 5 ? kind : 0];
}

// Truncates long lines. Owned by one thread.
class Text {
 public:
  Text &operator<<(std::string_view s) {
    const size_t n = std::min(s.size(), sizeof text_ - 1 - size_);
    std::memcpy(text_ + size_, s.data(), n);
    text_[size_ += n] = 0;
    return *this;
  }
  Text &operator<<(const char *s) { return *this << std::string_view(s ? s : "(none)"); }
  Text &operator<<(std::integral auto number) { return digits(number, 10); }
  Text &hex(uint64_t number) { return *this << "0x", digits(number, 16); }
  Text &hex(const void *p) { return hex(reinterpret_cast<uintptr_t>(p)); }
  const char *c_str() const { return text_; }
  std::string_view view() const { return {text_, size_}; }

 private:
  Text &digits(auto number, int base) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, number, base).ptr;
    return *this << std::string_view(text, static_cast<size_t>(end - text));
  }
  size_t size_ = 0;
  char text_[1000] = {};
};

// "a,b"; an empty list means all.
class Names {
 public:
  explicit Names(const char *list) {
    for (std::string_view rest = list ? list : ""; !rest.empty();) {
      const size_t comma = std::min(rest.find(','), rest.size());
      if (comma) names_.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  bool has(std::string_view name) const {
    if (names_.empty()) return true;
    for (const std::string &n : names_)
      if (n == name) return true;
    return false;
  }

 private:
  std::vector<std::string> names_;
};

inline const char *text_param(const consort_host *h, const char *key) {
  const char *text = h->param(h, key);
  return text ? text : "";
}

}  // namespace layers

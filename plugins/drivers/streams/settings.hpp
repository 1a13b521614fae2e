// settings.hpp — parsing of settings: names of devices, sizes, lists.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace streams {

inline std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : list + ",") {
    if (c != ',') {
      if (c != ' ' || !word.empty()) word += c;
      continue;
    }
    while (!word.empty() && word.back() == ' ') word.pop_back();
    if (!word.empty()) words.push_back(word);
    word.clear();
  }
  return words;
}

inline bool contains(const std::string &text, const std::string &part) {
  const auto lower = [](std::string s) {
    for (char &c : s) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return s;
  };
  return lower(text).find(lower(part)) != std::string::npos;
}

// Whether a list of settings selects a device: a number is an index, other words are part of the name. No words: all devices.
inline bool chosen(const std::vector<std::string> &words, uint32_t number, const std::string &name) {
  if (words.empty()) return true;
  for (const std::string &w : words) {
    char *end = nullptr;
    const unsigned long n = std::strtoul(w.c_str(), &end, 10);
    if (*end == 0 ? n == number : contains(name, w)) return true;
  }
  return false;
}

// "1000000", "512M", "2G"; "" is 0.
inline bool parse_bytes(const std::string &text, uint64_t *out) {
  char *end = nullptr;
  *out = std::strtoull(text.c_str(), &end, 10);
  if (end == text.c_str()) return text.empty();
  const char *units = "KMGT", *at = *end ? std::strchr(units, *end >= 'a' ? *end - 32 : *end) : nullptr;
  if (at) *out <<= 10 * (at - units + 1), ++end;
  return *end == 0;
}

// "Tesla V100-SXM2-16GB" → "tesla-v100-sxm2-16gb"
inline std::string as_key(const std::string &name) {
  std::string out;
  bool gap = false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), plain = letter || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (!plain) {
      gap = true;
      continue;
    }
    if (gap && !out.empty()) out += '-';
    gap = false;
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return out;
}

}  // namespace streams

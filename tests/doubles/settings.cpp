#include "settings.hpp"

#include <cctype>
#include <charconv>

namespace gpu {

namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

bool number(std::string_view text, uint64_t &out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool code(std::string_view text, int &out) {
  uint64_t value;
  if (!number(text, value) || value == 0 || value > 999) {
    return false;
  }
  out = static_cast<int>(value);
  return true;
}

bool bytes(std::string_view text, uint64_t &out) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift) {
    text.remove_suffix(1);
  }
  if (!number(text, out) || out > (UINT64_MAX >> shift)) {
    return false;
  }
  out <<= shift;
  return true;
}

bool injected(std::string_view text, std::vector<Injected> &out) {
  auto parts = split(text, ':');
  Injected one;
  if (parts.size() != 3 || parts[0].empty()) {
    return false;
  }
  one.function = base_name(parts[0]);
  one.onwards = parts[1].ends_with('+');
  if (one.onwards) {
    parts[1].remove_suffix(1);
  }
  if (!number(parts[1], one.nth) || one.nth == 0 || !code(parts[2], one.code)) {
    return false;
  }
  out.push_back(std::move(one));
  return true;
}

bool lost(std::string_view text, Settings &out) {
  auto parts = split(text, ':');
  uint64_t device, after;
  int answer = 999;
  if (parts.size() < 2 || parts.size() > 3 || !number(parts[0], device) || device > 64 || !number(parts[1], after) ||
      (parts.size() == 3 && !code(parts[2], answer))) {
    return false;
  }
  out.lost[static_cast<int>(device)] = {after, answer};
  return true;
}

bool peer(std::string_view text, Settings &out) {
  if (text != "all" && text != "none" && text != "ring") {
    return false;
  }
  out.peers = text == "all" ? Peers::all : text == "none" ? Peers::none : Peers::ring;
  return true;
}

// False where the value is none; `known` becomes false where there is no such word.
bool take(std::string_view name, std::string_view value, Settings &out, bool &known) {
  uint64_t n = 0;
  if (name == "devices") {
    bool fine = number(value, n) && n <= 64;
    out.devices = static_cast<int>(n);
    return fine;
  }
  if (name == "memory") {
    bool fine = bytes(value, n) && n >= 4096 && n <= uint64_t{1} << 42;
    out.memory = n;
    return fine;
  }
  if (name == "sms") {
    out.sms.clear();
    for (std::string_view one : split(value, ':')) {
      if (!number(one, n) || n == 0 || n >= 10000) {
        return false;
      }
      out.sms.push_back(static_cast<int>(n));
    }
    return !out.sms.empty();
  }
  if (name == "oom" || name == "pinned_oom") {
    if (!number(value, n) || n == 0) {
      return false;
    }
    (name == "oom" ? out.oom : out.pinned_oom).push_back(n);
    return true;
  }
  if (name == "quiet") {
    bool fine = number(value, n) && n < 2;
    out.quiet = n != 0;
    return fine;
  }
  if (name == "latency_us") {
    return number(value, out.latency_us) && out.latency_us <= 10'000'000;
  }
  if (name == "bandwidth") {
    return bytes(value, out.bandwidth);
  }
  if (name == "seed") {
    return number(value, out.seed);
  }
  if (name == "jitter") {
    return number(value, out.jitter) && out.jitter <= 1'000'000;
  }
  if (name == "init") {
    return code(value, out.init);
  }
  if (name == "peer") {
    return peer(value, out);
  }
  if (name == "lost") {
    return lost(value, out);
  }
  if (name == "fail") {
    return injected(value, out.fails);
  }
  if (name == "fault") {
    return injected(value, out.faults);
  }
  known = false;
  return false;
}

}  // namespace

std::string_view base_name(std::string_view function) {
  size_t at = function.rfind("_v");
  if (at != function.npos && at + 3 == function.size() && std::isdigit(static_cast<unsigned char>(function.back()))) {
    function = function.substr(0, at);
  }
  return function;
}

bool Settings::parse(std::string_view text, Settings &out, std::string &error) {
  Settings read;
  for (std::string_view word : split(text, ',')) {
    if (word.empty()) {
      continue;
    }
    size_t equals = word.find('=');
    bool known = equals != word.npos;
    if (!known || !take(word.substr(0, equals), word.substr(equals + 1), read, known)) {
      error = "\"" + std::string(word) + "\" " + (known ? "has no value that is right" : "is none of its words") +
              "; there are devices=N memory=BYTES latency_us=N bandwidth=BYTES peer=all|none|ring"
              " lost=DEVICE:OPERATIONS[:CODE] fail=FUNCTION:NTH[+]:CODE fault=FUNCTION:NTH[+]:CODE oom=NTH"
              " pinned_oom=NTH init=CODE seed=N jitter=US sms=N[:M...] quiet=0|1, BYTES with K, M or G";
      return false;
    }
  }
  out = std::move(read);
  return true;
}

}  // namespace gpu

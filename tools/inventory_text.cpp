#include "inventory_text.hpp"

#include <algorithm>
#include <concepts>
#include <limits>

namespace tool {
namespace {

std::string line(const char *what, const Json &value) { return text_of({{what, value}}, -1) + "\n"; }

bool take(const Json &value, std::string *to) {
  if (value.is_string()) *to = value.get<std::string>();
  return value.is_string();
}
bool take(const Json &value, bool *to) {
  if (value.is_boolean()) *to = value.get<bool>();
  return value.is_boolean();
}
template <std::integral T>
bool take(const Json &value, T *to) {
  if (!value.is_number_integer()) return false;
  if (!value.is_number_unsigned()) {               // it is below zero
    const auto n = value.get<int64_t>();
    *to = static_cast<T>(n);
    return std::signed_integral<T> && n >= static_cast<int64_t>(std::numeric_limits<T>::min());
  }
  const auto n = value.get<uint64_t>();
  *to = static_cast<T>(n);
  return n <= static_cast<uint64_t>(std::numeric_limits<T>::max());
}
template <class... T>
bool take_each(const Json &values, T *...to) {
  if (!values.is_array() || values.size() != sizeof...(to)) return false;
  size_t i = 0;
  return (take(values[i++], to) && ...);
}

template <class T>
bool add(std::vector<T> *all, bool is_read, const T &item) {
  if (is_read) all->push_back(item);
  return is_read;
}

// False: the line is no item.
bool take_item(Inventory *all, const Json &item) {
  if (!item.is_object() || item.size() != 1) return false;
  const std::string what = item.begin().key();
  const Json &v = item.begin().value();
  if (what == "space") {
    Space s;
    return add(&all->spaces, take_each(v, &s.id, &s.name, &s.driver, &s.domain, &s.capacity, &s.flags, &s.numa), s);
  }
  if (what == "unit") {
    Unit u;
    return add(&all->units, take_each(v, &u.id, &u.name, &u.klass, &u.arch, &u.space, &u.numa, &u.os_cpu), u);
  }
  if (what == "link") {
    Link l;
    return add(&all->links, take_each(v, &l.from, &l.to, &l.driver, &l.bytes_per_s, &l.latency_ns, &l.flags, &l.measured), l);
  }
  if (what == "log") {
    LogLine l;
    if (!take_each(v, &l.level, &l.text)) return false;
    const auto same = [&](const LogLine &other) { return other.text == l.text; };
    if (std::none_of(all->log.begin(), all->log.end(), same)) all->log.push_back(l);
    return true;
  }
  if (what == "topology") return take(v, &all->topology);
  return what == "error" && take(v, &all->error);
}

}  // namespace

std::string line_of(const Space &s) { return line("space", {s.id, s.name, s.driver, s.domain, s.capacity, s.flags, s.numa}); }
std::string line_of(const Unit &u) { return line("unit", {u.id, u.name, u.klass, u.arch, u.space, u.numa, u.os_cpu}); }
std::string line_of(const Link &l) { return line("link", {l.from, l.to, l.driver, l.bytes_per_s, l.latency_ns, l.flags, l.measured}); }
std::string line_of(const LogLine &l) { return line("log", {l.level, l.text}); }
std::string error_line(const std::string &text) { return line("error", text); }
std::string topology_line(const std::string &text) { return line("topology", text); }

Inventory inventory_of(std::string_view text) {
  Inventory all;
  size_t unread = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (!take_item(&all, Json::parse(rest.substr(0, end), nullptr, false))) ++unread;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto exists = [&](uint32_t id) { return std::any_of(all.spaces.begin(), all.spaces.end(), [&](const Space &s) { return s.id == id; }); };
  unread += std::erase_if(all.links, [&](const Link &l) { return !exists(l.from) || !exists(l.to); });
  if (unread)
    all.log.push_back({1, std::to_string(unread) + (unread == 1 ? " line" : " lines") +
                              " of the list that a process with a runtime made cannot be read: units may be missing"});
  return all;
}

}  // namespace tool

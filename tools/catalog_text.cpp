#include "catalog_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace tool {
namespace {

std::string fields(std::initializer_list<std::string_view> all) {
  std::string text;
  for (const std::string_view f : all) (text += f.substr(0, f.find('\0'))) += '\0';
  return text;
}

class ListReader {
 public:
  explicit ListReader(std::string_view text) : text_(text) {}
  Catalog read() {
    Catalog c;
    while (at_ < text_.size()) {
      const size_t start = at_;
      const std::string what = next();
      if (what == "plugin") c.plugins.push_back(plugin());
      else if (what == "parameter") take_parameter(&c);
      else if (what == "setting") c.settings.push_back(setting());
      else if (what == "log") take_line(&c);
      else if (what == "error") take_error(&c);
      else if (damaged_ == kNone) damaged_ = start;
    }
    if (damaged_ != kNone)
      c.log.push_back({1, "byte " + std::to_string(damaged_) + " of the lists that a process with all plugins made is none of its own: they may be incomplete"});
    return c;
  }

 private:
  std::string next() {
    if (at_ >= text_.size()) return {};
    const size_t end = std::min(text_.find('\0', at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    at_ = end + 1;
    return field;
  }
  template <class T>
  T number() {                                     // 0: it is none
    const std::string field = next();
    T n = 0;
    (void)std::from_chars(field.data(), field.data() + field.size(), n);
    return n;
  }
  PluginRow plugin() {
    PluginRow p;
    p.kind = number<uint32_t>(), p.flags = number<uint32_t>();
    for (std::string *f : {&p.name, &p.version, &p.path, &p.reason, &p.summary, &p.license, &p.host_abi, &p.abi}) *f = next();
    p.usable = next() == "1";
    return p;
  }
  SettingRow setting() {
    SettingRow s;
    for (std::string *f : {&s.key, &s.type, &s.value, &s.dflt, &s.range, &s.help, &s.origin}) *f = next();
    return s;
  }
  void take_parameter(Catalog *c) {
    Parameter p;
    for (std::string *f : {&p.key, &p.type, &p.dflt, &p.range, &p.help}) *f = next();
    if (!c->plugins.empty()) c->plugins.back().parameters.push_back(std::move(p));
  }
  void take_line(Catalog *c) {
    const auto level = number<int32_t>();
    c->log.push_back({level, next()});
  }
  void take_error(Catalog *c) {
    if (std::string error = next(); c->error.empty()) c->error = std::move(error);
  }

  static constexpr size_t kNone = SIZE_MAX;
  const std::string_view text_;
  size_t at_ = 0, damaged_ = kNone;
};

}  // namespace

std::string written(const PluginRow &p) {
  std::string text = fields({"plugin", std::to_string(p.kind), std::to_string(p.flags), p.name, p.version, p.path, p.reason, p.summary,
                             p.license, p.host_abi, p.abi, p.usable ? "1" : "0"});
  for (const Parameter &q : p.parameters) text += fields({"parameter", q.key, q.type, q.dflt, q.range, q.help});
  return text;
}
std::string written(const SettingRow &r) { return fields({"setting", r.key, r.type, r.value, r.dflt, r.range, r.help, r.origin}); }
std::string written(const LogLine &l) { return fields({"log", std::to_string(l.level), l.text}); }
std::string written_error(const std::string &text) { return fields({"error", text}); }

std::string written(const Catalog &c) {
  std::string text;
  for (const LogLine &l : c.log) text += written(l);
  for (const PluginRow &p : c.plugins) text += written(p);
  for (const SettingRow &r : c.settings) text += written(r);
  return c.error.empty() ? text : text + written_error(c.error);
}

Catalog catalog_of(std::string_view text) { return ListReader(text).read(); }

}  // namespace tool

// All that a runtime is told: settings in code, environment, text. Input: lines. "CONSORT_X=..." is a variable, "=key=value"
// a setting in code, everything else is TOML.
#include <unistd.h>

#include "fuzz.hpp"
#include "kernel/plugin/config.hpp"

using namespace consort;

namespace {

constexpr consort_param kParams[] = {{"depth", "u32", "64", "1..1024", ""},     {"ratio", "f64", "0.5", "0..1", ""},
                                     {"name", "string", "", nullptr, ""},       {"seed", "u64", "1", nullptr, ""},
                                     {"workers", "u32", "0", "0..64", ""},      {"time", "string", "real", "real|virtual", ""},
                                     {"what", "list", "a", "a|b|c", ""},        {"on", "bool", "false", nullptr, ""}};

// The process's variables, replaced as long as this lives.
class Environment {
 public:
  explicit Environment(std::vector<std::string> &all) : before_(environ) {
    for (std::string &v : all) list_.push_back(v.data());
    list_.push_back(nullptr);
    environ = list_.data();
  }
  ~Environment() { environ = before_; }

 private:
  char **const before_;
  std::vector<char *> list_;
};

void check(const Error &e) { fuzz::expect_refusal(e.status, e.text); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  std::vector<std::string> variables;
  std::vector<std::pair<std::string, std::string>> code;
  std::string text;
  while (!in.empty()) {
    const std::string line(in.line());
    if (line.starts_with("CONSORT_CONFIG=")) continue;  // it names a file
    if (line.starts_with("CONSORT_")) {
      variables.emplace_back(line.c_str());
    } else if (line.starts_with('=')) {
      const size_t equals = line.find('=', 1);
      if (equals != line.npos) code.emplace_back(line.substr(1, equals - 1), line.substr(equals + 1));
    } else {
      text += line + "\n";
    }
  }
  const Environment environment(variables);
  std::vector<consort_setting> set;
  for (const auto &[key, value] : code) set.push_back({key.c_str(), value.c_str()});
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.text = text.c_str();
  s.set = set.data();
  s.nset = static_cast<uint32_t>(set.size());
  auto config = Config::load(&s);
  if (!config) return check(config.error()), 0;
  Config &c = **config;
  c.know_plugins({"lws", "sim", "sim"});
  for (const char *plugin : {"lws", "sim"})
    if (const auto done = c.declare(plugin, kParams, std::size(kParams)); !done) check(done.error());
    else fuzz::expect(c.param(plugin, "depth") && c.param(plugin, "name"), "a declared parameter has a value");
  if (const auto done = c.check_unused(); !done) check(done.error());
  (void)c.strange_variables();
  (void)c.place_named("lws", text, true);
  for (const auto &e : c.entries()) fuzz::expect(!e.key.empty() && !e.origin.empty(), "a setting has a key and an origin", e.key);
  return 0;
}

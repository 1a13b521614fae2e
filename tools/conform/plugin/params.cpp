// Declarations of parameters, and starts with every declared value.
#include <set>

#include "conform/case.hpp"
#include "conform/param_text.hpp"
#include "conform/plugin.hpp"

namespace conform {
namespace {

void check_numbers(Trial &t, const std::string &key, const std::string &type, const std::string &dflt, const std::string &range) {
  long double value = 0, bound = 0;
  t.check(read_number(type, dflt, &value), "the default \"%s\" of %s is no %s", dflt.c_str(), key.c_str(), type.c_str());
  if (range.empty()) return;
  const auto ends = split(range, "..");
  if (!t.check(ends.size() == 2, "the range \"%s\" of %s is not of the form a..b", range.c_str(), key.c_str())) return;
  if (!ends[0].empty() && t.check(read_number(type, ends[0], &bound), "the range \"%s\" of %s begins with no %s", range.c_str(),
                                  key.c_str(), type.c_str()))
    t.check(value >= bound, "the default %s of %s is below its range %s", dflt.c_str(), key.c_str(), range.c_str());
  if (!ends[1].empty() && t.check(read_number(type, ends[1], &bound), "the range \"%s\" of %s ends with no %s", range.c_str(),
                                  key.c_str(), type.c_str()))
    t.check(value <= bound, "the default %s of %s is above its range %s", dflt.c_str(), key.c_str(), range.c_str());
}

void check_choices(Trial &t, const std::string &key, const std::vector<std::string> &words, const std::string &range) {
  const auto choices = split(range, "|");
  for (const std::string &word : words)
    t.check(std::find(choices.begin(), choices.end(), word) != choices.end(), "the default \"%s\" of %s is none of %s", word.c_str(),
            key.c_str(), range.c_str());
}

// The ends of the range, or each of its choices.
std::vector<std::string> extremes_of(const consort_param &p) {
  const std::string type = p.type, range = p.range ? p.range : "";
  if (type == "bool") return {"true", "false"};
  std::vector<std::string> found;
  if (is_integer(type) || is_real(type)) {
    for (const std::string &end : split(range, ".."))
      if (!end.empty()) found.push_back(end);
  } else if (range.find("..") == range.npos && !range.empty()) {
    found = split(range, "|");
  }
  return found;
}

}  // namespace

CONFORM_CASE(P, 7, abi, parameters_are_well_declared) {
  const Plugin p(t, false);
  const consort_plugin &m = p.manifest();
  t.need(m.nparams == 0 || m.params, "says that it has %u parameters, but has no list of them", m.nparams);
  t.need(m.nparams <= 1024, "says that it has %u parameters; at most 1024", m.nparams);
  const std::set<std::string> types = {"bool", "i32", "i64", "u32", "u64", "f64", "string", "list"};
  std::set<std::string> keys;
  for (uint32_t i = 0; i < m.nparams; ++i) {
    const consort_param &c = m.params[i];
    t.doing("parameter %u", i);
    t.need(c.key && c.type && c.dflt, "parameter %u lacks its key, type or default", i);
    const std::string key = c.key, type = c.type, dflt = c.dflt, range = c.range ? c.range : "";
    t.check(!key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == key.npos,
            "the key \"%s\" is not of letters, digits and _", c.key);
    t.check(keys.insert(key).second, "two parameters have the key %s", c.key);
    t.check(c.help && *c.help, "%s has no line of help", c.key);
    if (!t.check(types.count(type), "%s is of type \"%s\", which is none", c.key, c.type)) continue;
    if (type == "bool") t.check(dflt == "true" || dflt == "false", "the default \"%s\" of %s is neither true nor false", c.dflt, c.key);
    else if (is_integer(type) || is_real(type)) check_numbers(t, key, type, dflt, range);
    else if (!range.empty() && type == "string") check_choices(t, key, {dflt}, range);
    else if (!range.empty() && !dflt.empty()) check_choices(t, key, split(dflt, ","), range);
  }
}

CONFORM_CASE(P, 44, life, takes_every_value_of_its_parameters) {
  Plugin p(t, false);
  const consort_plugin &m = p.manifest();
  unsigned tried = 0;
  for (uint32_t i = 0; i < m.nparams; ++i) {
    const std::string before = m.params[i].dflt;
    for (const std::string &value : extremes_of(m.params[i])) {
      p.host().set_param(m.params[i].key, value);
      p.host().forget_failure();
      t.doing("init with %s = %s", m.params[i].key, value.c_str());
      ++tried;
      if (p.start(true) >= 0) p.stop();
      else t.check(!p.host().failure().empty(), "init refuses %s = %s without a word", m.params[i].key, value.c_str());
    }
    p.host().set_param(m.params[i].key, before);
  }
  if (!tried) t.skip("it declares no parameter with bounds or choices");
}

}  // namespace conform

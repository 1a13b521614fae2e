// rules.hpp — the rules of sdk/rules/*.toml, linked in: what each demands, why, and how to mend what breaks it.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace conform {

struct Rule {
  const char *id;     // "CONSORT-S-12": stable for ever
  const char *rule, *why, *fix, *group;
  int level;          // from this level on its cases are run: 1 quick … 10 all
  int seconds;        // that a case of it may take at that level; 0: the usual
};

extern const Rule rules_table[];         // in a source that sdk/rules/rules.py writes when this is built
extern const unsigned rules_count;

const std::vector<Rule> &rules();
const Rule *find_rule(std::string_view id);

}  // namespace conform

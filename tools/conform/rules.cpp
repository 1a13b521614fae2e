#include "rules.hpp"

namespace conform {

const std::vector<Rule> &rules() {
  static const std::vector<Rule> all(rules_table, rules_table + rules_count);
  return all;
}

const Rule *find_rule(std::string_view id) {
  for (const Rule &r : rules())
    if (id == r.id) return &r;
  return nullptr;
}

}  // namespace conform

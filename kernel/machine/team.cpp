#include "machine/team.hpp"

#include <consort/nearby.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "machine/topology.hpp"
#include "plugin/config.hpp"
#include "plugin/registry.hpp"

namespace consort {
namespace {

using Set = std::vector<uint32_t>;

bool takes_part(const Unit &u) { return u.desc.flags & (CONSORT_UNIT_INLINE | CONSORT_UNIT_TEAMS); }

void sort_out(std::vector<Set> &sets) {
  std::erase_if(sets, [](const Set &s) { return s.size() < 2; });
  std::sort(sets.begin(), sets.end(), [](const Set &a, const Set &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
}

// One level: merges neighbours until at most `arity` sets remain.
void put_between(const std::vector<Set> &parts, uint32_t arity, std::vector<Set> &out) {
  if (parts.size() <= arity) return;
  for (size_t i = 0, at = 0; i < arity; ++i) {
    const size_t end = parts.size() * (i + 1) / arity;
    const std::vector<Set> some(parts.begin() + static_cast<ptrdiff_t>(at), parts.begin() + static_cast<ptrdiff_t>(end));
    at = end;
    if (some.size() < 2) continue;
    Set whole;
    for (const Set &s : some) whole.insert(whole.end(), s.begin(), s.end());
    std::sort(whole.begin(), whole.end());
    out.push_back(std::move(whole));
    put_between(some, arity, out);
  }
}

// The drivers' neighbourhoods, as sets of workers.
std::vector<Set> natural_sets(const Topology &topology) {
  std::vector<Set> sets;
  const auto &units = topology.units();
  for (const auto &device : topology.devices()) {
    const auto get = device->plugin->manifest->get;
    const auto *nearby =
        get ? static_cast<const consort_nearby *>(get(device->plugin->self, CONSORT_NEARBY_ID)) : nullptr;
    if (!nearby || !CONSORT_HAS_FN(nearby, consort_nearby, set)) continue;
    std::vector<uint32_t> worker_of, found(units.size());
    for (const Unit &u : units)
      if (u.device == device.get()) {
        worker_of.resize(std::max<size_t>(worker_of.size(), u.index + 1), CONSORT_NONE);
        if (takes_part(u)) worker_of[u.index] = u.desc.id;
      }
    for (uint32_t i = 0; sets.size() < 4 * units.size(); ++i) {
      const uint32_t n = nearby->set(device->dev, i, found.data(), static_cast<uint32_t>(found.size()));
      if (!n) break;
      Set set;
      for (uint32_t k = 0; k < std::min<size_t>(n, found.size()); ++k)
        if (found[k] < worker_of.size() && worker_of[found[k]] != CONSORT_NONE) set.push_back(worker_of[found[k]]);
      std::sort(set.begin(), set.end());
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

// Parses "0-3,6;4-5": sets separated by ;, each a list of numbers and ranges.
bool parse_sets(std::string_view text, std::vector<Set> *out) {
  const auto number = [&](uint32_t *n) {
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), *n);
    if (bad != std::errc() || *n >= 1u << 20) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
  };
  const auto next_is = [&](char c) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    return true;
  };
  do {
    Set set;
    do {
      uint32_t first, last;
      if (!number(&first)) return false;
      last = first;
      if (next_is('-') && (!number(&last) || last < first)) return false;
      for (uint32_t i = first; i <= last; ++i) set.push_back(i);
    } while (next_is(','));
    std::sort(set.begin(), set.end());
    if (std::adjacent_find(set.begin(), set.end()) != set.end()) return false;
    out->push_back(std::move(set));
  } while (next_is(';'));
  return text.empty();
}

Result<void> check_sets(const std::vector<Set> &sets, const Topology &topology, const std::string &origin) {
  const auto &units = topology.units();
  for (const Set &set : sets) {
    if (set.size() < 2)
      return error(CONSORT_E_INVAL, origin + ": worker " + std::to_string(set.front()) +
                                        " alone is no team: name two at least, as \"0-3;4-7\"");
    for (const uint32_t w : set) {
      if (w >= units.size())
        return error(CONSORT_E_INVAL, origin + ": worker " + std::to_string(w) + " does not exist, there are " +
                                          std::to_string(units.size()) + ", numbered from 0: name smaller teams, or "
                                          "have more workers (setting `workers`)");
      if (!takes_part(units[w]))
        return error(CONSORT_E_UNSUPPORTED, origin + ": worker " + std::to_string(w) + " is " + units[w].name +
                                                ", which runs by itself: teams are of units whose functions the "
                                                "host's own threads call");
      const Unit &first = units[set.front()];
      const bool own = units[w].desc.flags & CONSORT_UNIT_TEAMS;
      if (own != bool(first.desc.flags & CONSORT_UNIT_TEAMS) || (own && units[w].device != first.device))
        return error(CONSORT_E_UNSUPPORTED, origin + ": workers " + std::to_string(set.front()) + " and " +
                                                std::to_string(w) + " are units of different devices (" + first.name +
                                                ", " + units[w].name +
                                                "), which know nothing of each other: a team is of one");
      if (units[w].klass != units[set.front()].klass)
        return error(CONSORT_E_INVAL, origin + ": workers " + std::to_string(set.front()) + " and " +
                                          std::to_string(w) + " are of different classes (" +
                                          units[set.front()].desc.klass + ", " + units[w].desc.klass +
                                          "): a team is of one");
    }
  }
  return {};
}

Team make_team(const Set &set, const Topology &topology) {
  const auto &units = topology.units();
  Team t;
  t.members = set;
  t.klass = units[set.front()].klass;
  t.space = units[set.front()].desc.space;
  t.name = units[set.front()].desc.klass;
  for (size_t i = 0, j; i < set.size(); i = j) {
    for (j = i + 1; j < set.size() && set[j] == set[j - 1] + 1;) ++j;
    const auto number = [&](size_t k) {  // a unit's name ends with its index in its class
      return units[set[k]].name.substr(std::string_view(units[set[k]].desc.klass).size());
    };
    t.name += (i ? "," : "") + number(i) + (j - i > 1 ? (j - i > 2 ? "-" : ",") + number(j - 1) : "");
  }
  bool bound = true;
  for (const uint32_t w : set) {
    const auto &own = units[w].cpuset;
    bound &= !own.empty();
    t.cpuset.resize(std::max(t.cpuset.size(), own.size()));
    for (size_t i = 0; i < own.size(); ++i) t.cpuset[i] |= own[i];
  }
  if (!bound) t.cpuset.clear();
  return t;
}

}  // namespace

uint32_t Team::rank(uint32_t worker) const noexcept {
  const auto at = std::lower_bound(members.begin(), members.end(), worker);
  return at != members.end() && *at == worker ? static_cast<uint32_t>(at - members.begin()) : CONSORT_NONE;
}

std::vector<std::vector<uint32_t>> with_between(std::vector<Set> sets, uint32_t arity) {
  sort_out(sets);
  std::vector<Set> more;
  for (size_t i = 0; i < sets.size(); ++i) {
    // The parts of a set: the largest sets inside it, and the workers in none of them, ordered by their first worker.
    std::vector<Set> parts;
    Set left = sets[i];
    for (size_t k = i; k-- > 0;)
      if (std::includes(left.begin(), left.end(), sets[k].begin(), sets[k].end())) {
        Set rest;
        std::set_difference(left.begin(), left.end(), sets[k].begin(), sets[k].end(), std::back_inserter(rest));
        left.swap(rest);
        parts.push_back(sets[k]);
      }
    for (const uint32_t w : left) parts.push_back({w});
    std::sort(parts.begin(), parts.end());
    put_between(parts, arity, more);
  }
  sets.insert(sets.end(), more.begin(), more.end());
  sort_out(sets);
  return sets;
}

Result<TeamList> find_teams(const Config &config, const Topology &topology) {
  const std::string_view how = config.text("teams");
  TeamList list;
  std::vector<Set> sets;
  if (how == "auto") {
    sets = with_between(natural_sets(topology), static_cast<uint32_t>(config.number("team_arity")));
  } else if (how == "single") {  // the largest class of which a team could be formed
    std::vector<Set> by_class(topology.classes().size());
    for (const Unit &u : topology.units())
      if (u.desc.flags & CONSORT_UNIT_INLINE) by_class[u.klass].push_back(u.desc.id);
    const auto most = std::max_element(by_class.begin(), by_class.end(),
                                       [](const Set &a, const Set &b) { return a.size() < b.size(); });
    if (most != by_class.end())
      for (size_t n = 2; n <= most->size(); ++n) sets.emplace_back(most->begin(), most->begin() + static_cast<ptrdiff_t>(n));
    list.one_at_a_time = !sets.empty();
  } else if (how != "off") {
    if (!parse_sets(how, &sets))
      return error(CONSORT_E_INVAL, config.origin("teams") + ": \"" + std::string(how) +
                                        "\" is neither auto, single, off nor a list of workers' numbers, as "
                                        "\"0-3;4-7\"");
    if (auto r = check_sets(sets, topology, config.origin("teams")); !r) return r.error();
    sort_out(sets);
  }
  for (const Set &s : sets) {
    list.teams.push_back(make_team(s, topology));
    list.teams.back().id = static_cast<uint32_t>(topology.units().size() + list.teams.size() - 1);
  }
  return list;
}

}  // namespace consort

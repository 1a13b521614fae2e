// text.cpp — a case as a text that is read by people and by parse().
//
//   case of seed 17
//   machine simulated cores(2) devices(1) memory(1024)
//   policy dmda swaps(eager,lws)
//   fault device(lost@12)
//   program
//     data d0 vector(6) / d1 matrix(3,2,4) homeless / d2 variable shadow
//     t0: task RW(d0) COMMUTE(d1)
//     t1: task R(d0) after(t0) fails
//
// A word may have arguments in brackets. Steps are numbered in order; an argument tN is a step.
#include <charconv>
#include <cstring>
#include <map>
#include <sstream>

#include "storm/case.hpp"
#include "stress/mixed_oracle.hpp"

namespace storm {
namespace {

using mixed::Kind;
using mixed::Slot;
using mixed::Step;

constexpr std::pair<const char *, uint32_t> kModes[] = {
    {"R", CONSORT_M_R},
    {"W", CONSORT_M_W},
    {"RW", CONSORT_M_RW},
    {"COMMUTE", CONSORT_M_RW | CONSORT_M_COMMUTE},
    {"REDUX", CONSORT_M_REDUX},
    {"REDUX_FIXED", CONSORT_M_REDUX | CONSORT_M_FIXED_TREE},
    {"SCRATCH", CONSORT_M_SCRATCH},
    {"ANY", 0}};
constexpr std::pair<const char *, int> kShared[] = {
    {"pad", mixed::kPad}, {"sum0", mixed::kSharedSum0}, {"sum1", mixed::kSharedSum1}, {"redux", mixed::kSharedRedux}};
constexpr int kLastKind = static_cast<int>(Kind::kMoveWorker);

std::string slot_name(int slot) {
  for (const auto &[name, number] : kShared)
    if (slot == number) return name;
  if (slot < mixed::kParts) return "d" + std::to_string(slot);
  return "p" + std::to_string(mixed::plan_of(slot)) + "[" +
         std::to_string((slot - mixed::kParts) % mixed::kMostParts) + "]";
}
std::string mode_name(uint32_t mode) {
  for (const auto &[name, bits] : kModes)
    if (mode == bits) return name;
  return "ANY";
}
// The meaning of Step::other in steps of that kind.
enum class Other { kNothing, kStep, kParts, kTimes };
Other other_of(Kind k) {
  switch (k) {
    case Kind::kOpen:
    case Kind::kClose:
    case Kind::kTaskWait:
    case Kind::kCancel:
    case Kind::kTagOpen:
    case Kind::kEndRelease:
    case Kind::kReplay:
      return Other::kStep;
    case Kind::kPlan:
      return Other::kParts;
    case Kind::kRecord:
      return Other::kTimes;
    default:
      return Other::kNothing;
  }
}
const char *number_word(Kind k) {
  switch (k) {
    case Kind::kTagOpen:
    case Kind::kTagClose:
    case Kind::kTagNotify:
    case Kind::kTagWait:
    case Kind::kTagRestart:
      return "tag";
    case Kind::kGroupWait:
      return "group";
    case Kind::kPlan:
    case Kind::kPlanEnd:
      return "plan";
    case Kind::kReplay:
      return "times";
    case Kind::kPrefetch:
    case Kind::kEvict:
    case Kind::kWriteThrough:
      return "space";
    case Kind::kSetOrdered:
      return "ordered";
    default:
      return "number";
  }
}

// -- writing -----------------------------------------------------------------------------------------------------

class Line {
 public:
  explicit Line(std::string start) : text_(std::move(start)) {}
  Line &word(const std::string &w) { return text_ += " " + w, *this; }
  Line &flag(const char *name, bool on) { return on ? word(name) : *this; }
  Line &value(const std::string &name, const std::string &v) { return word(name + "(" + v + ")"); }
  Line &value(const std::string &name, int64_t v, int64_t dflt) {
    return v == dflt ? *this : value(name, std::to_string(v));
  }
  Line &steps(const char *name, const std::vector<int> &all) {
    if (all.empty()) return *this;
    std::string list;
    for (const int s : all) list += (list.empty() ? "t" : ",t") + std::to_string(s);
    return value(name, list);
  }
  Line &step(const char *name, int s) { return s < 0 ? *this : value(name, "t" + std::to_string(s)); }
  const std::string &text() const { return text_; }

 private:
  std::string text_;
};

std::string worker_name(uint32_t code) {
  return code < mixed::kOnDevice ? "core," + std::to_string(code)
         : code < mixed::kOnTeam ? "device," + std::to_string(code - mixed::kOnDevice)
                                 : "team," + std::to_string(code - mixed::kOnTeam);
}

std::string line_of(const Step &s, int n) {
  Line l("    t" + std::to_string(n) + ": " + (s.empty ? "empty " : "") + mixed::name_of(s.kind));
  for (const mixed::Use &u : s.uses) l.value(mode_name(u.mode), slot_name(u.slot));
  const Other other = other_of(s.kind);
  if (other == Other::kStep) l.step("of", s.other);
  else l.value(other == Other::kParts ? "parts" : "times", s.other, -1);
  l.value(number_word(s.kind), s.number, 0).steps("after", s.after);
  if (s.parent >= 0) l.value("child", "t" + std::to_string(s.parent) + "," + mixed::kViaNames[static_cast<int>(s.via)]);
  l.step("recorded", s.recorded).flag("unordered", s.unordered).flag("fails", s.fails).flag("waits", s.waits);
  l.flag("team", s.team).value("context", s.context, -1);
  if (s.worker != CONSORT_NONE) l.value("on", worker_name(s.worker));
  l.value("priority", s.priority, 0).value("group", s.group, 0).value("carries", s.tag, -1);
  l.value("needs_tag", s.needs_tag, -1).flag("by_tags", s.by_tags).steps("end_after", s.end_after);
  l.step("end_held_until", s.end_release).step("releases_end", s.releases).value("turns", s.turns, 0);
  l.flag("hooks", s.hooks).flag("bundled", s.bundled).flag("plain", s.plain).flag("no_help", s.no_help);
  l.value("spins", s.pause, 0).value("k", s.k, 1);
  return l.text();
}

std::string line_of(const Slot &x, int n) {
  Line l((n ? "         " : "    data ") + std::string("d") + std::to_string(n));
  if (x.layout == Slot::kVector) l.value("vector", std::to_string(x.nx));
  if (x.layout == Slot::kMatrix)
    l.value("matrix", std::to_string(x.nx) + "," + std::to_string(x.ny) + "," + std::to_string(x.ld));
  if (x.layout == Slot::kVariable) l.word("variable");
  return l.flag("homeless", x.homeless).flag("shadow", x.shadow).text();
}

std::string list_of(const std::vector<std::string> &all) {
  std::string list;
  for (const std::string &s : all) list += (list.empty() ? "" : ",") + s;
  return list;
}

std::string lines_of(const Machine &m) {
  Line l("machine");
  l.word(m.simulated ? "simulated" : m.threads ? "threads" : "host").value("cores", m.cores, -1);
  l.value("devices", m.devices, 0).value("units", m.units, 1).value("memory", static_cast<int64_t>(m.memory), 0);
  l.value("bandwidth", m.bandwidth, 0).flag("peer", m.peer).value("noise", m.noise, 0).flag("teams", m.teams);
  l.value("window", m.window, 2048).value("bypass", m.bypass, 32).value("seed", m.seed, -1);
  std::string all = l.text() + "\n" + Line("policy " + m.policy).value("swaps", list_of(m.swaps)).text() + "\n";
  if (m.contexts)
    all += Line("contexts " + m.context_policy).value("number", m.contexts, 0).value("each", m.context_cores, 0).text() + "\n";
  Line f("fault");
  f.value("allocation", m.allocation, -1);
  if (!m.disk.empty()) f.value("disk", m.disk + "," + std::to_string(m.host_memory));
  if (!m.device.empty()) f.value("device", m.device);
  if (!m.plugin.empty()) f.value("plugin", m.plugin + "," + std::to_string(m.plugin_nth) + "," + m.plugin_status);
  return all + (f.text() == "fault" ? "" : f.text() + "\n");
}

// -- reading -----------------------------------------------------------------------------------------------------

struct Word {
  std::string name;
  std::vector<std::string> args;
  std::string arg(size_t i) const { return i < args.size() ? args[i] : ""; }
  int64_t number(size_t i = 0) const { return std::strtoll(arg(i).c_str(), nullptr, 10); }
  int step(size_t i = 0) const { return arg(i).empty() ? -1 : std::atoi(arg(i).c_str() + 1); }
  std::vector<int> steps() const {
    std::vector<int> all;
    for (size_t i = 0; i < args.size(); ++i) all.push_back(step(i));
    return all;
  }
};
std::vector<Word> words_of(const std::string &line) {
  std::vector<Word> all;
  std::istringstream in(line);
  for (std::string token; in >> token;) {
    Word w;
    const size_t open = token.find('(');
    w.name = token.substr(0, open);
    if (open != std::string::npos) {
      std::istringstream args(token.substr(open + 1, token.rfind(')') - open - 1));
      for (std::string a; std::getline(args, a, ',');) w.args.push_back(a);
    }
    all.push_back(std::move(w));
  }
  return all;
}

int slot_of(const std::string &name) {
  for (const auto &[known, number] : kShared)
    if (name == known) return number;
  if (name.empty()) return 0;
  if (name[0] == 'd') return std::atoi(name.c_str() + 1);
  const size_t bracket = name.find('[');
  return bracket == std::string::npos ? 0
                                      : mixed::part_slot(std::atoi(name.c_str() + 1), std::atoi(name.c_str() + bracket + 1));
}

bool read_word(const Word &w, Step &s) {
  const auto is = [&](const char *name) { return w.name == name; };
  for (const auto &[name, mode] : kModes)
    if (is(name) && !w.args.empty()) return s.uses.push_back({slot_of(w.args[0]), mode}), true;
  if (is("of")) s.other = w.step();
  else if (is("parts") || (is("times") && s.kind == Kind::kRecord)) s.other = static_cast<int>(w.number());
  else if (is(number_word(s.kind)) && s.kind != Kind::kTask) s.number = static_cast<int>(w.number());
  else if (is("after")) s.after = w.steps();
  else if (is("child")) {
    s.parent = w.step();
    for (int v = 0; v < 4; ++v)
      if (w.arg(1) == mixed::kViaNames[v]) s.via = static_cast<mixed::Via>(v);
  } else if (is("recorded")) s.recorded = w.step();
  else if (is("unordered")) s.unordered = true;
  else if (is("fails")) s.fails = true;
  else if (is("waits")) s.waits = true;
  else if (is("team")) s.team = true;
  else if (is("context")) s.context = static_cast<int>(w.number());
  else if (is("on"))
    s.worker = static_cast<uint32_t>(w.number(1)) +
               (w.arg(0) == "device" ? mixed::kOnDevice : w.arg(0) == "team" ? mixed::kOnTeam : 0u);
  else if (is("priority")) s.priority = static_cast<int32_t>(w.number());
  else if (is("group")) s.group = static_cast<int>(w.number());
  else if (is("carries")) s.tag = static_cast<int>(w.number());
  else if (is("needs_tag")) s.needs_tag = static_cast<int>(w.number());
  else if (is("by_tags")) s.by_tags = true;
  else if (is("end_after")) s.end_after = w.steps();
  else if (is("end_held_until")) s.end_release = w.step();
  else if (is("releases_end")) s.releases = w.step();
  else if (is("turns")) s.turns = static_cast<int>(w.number());
  else if (is("hooks")) s.hooks = true;
  else if (is("bundled")) s.bundled = true;
  else if (is("plain")) s.plain = true;
  else if (is("no_help")) s.no_help = true;
  else if (is("spins")) s.pause = static_cast<uint32_t>(w.number());
  else if (is("k")) s.k = w.number();
  else return false;
  return true;
}

bool read_step(std::vector<Word> words, mixed::Program &p) {
  if (words.size() < 2) return false;
  Step s;
  s.k = 1;
  size_t at = 1;
  if (words[at].name == "empty") s.empty = true, ++at;
  int kind = 0;
  while (kind <= kLastKind && (at >= words.size() || words[at].name != mixed::name_of(static_cast<Kind>(kind)))) ++kind;
  if (kind > kLastKind) return false;
  s.kind = static_cast<Kind>(kind);
  for (++at; at < words.size(); ++at)
    if (!read_word(words[at], s)) return false;
  p.steps.push_back(std::move(s));
  p.dropped.push_back(0);
  return true;
}

bool read_slot(const std::vector<Word> &words, mixed::Program &p) {
  Slot x;
  for (const Word &w : words) {
    if (w.name == "vector") x.layout = Slot::kVector, x.nx = static_cast<int>(w.number());
    if (w.name == "matrix")
      x.layout = Slot::kMatrix, x.nx = static_cast<int>(w.number(0)), x.ny = static_cast<int>(w.number(1)),
      x.ld = static_cast<int>(w.number(2));
    if (w.name == "variable") x.layout = Slot::kVariable;
    if (w.name == "homeless") x.homeless = true;
    if (w.name == "shadow") x.shadow = true;
  }
  if (x.layout != Slot::kMatrix) x.ld = x.nx;
  if (x.nx < 1 || x.ny < 1 || x.ld < x.nx) return false;
  p.slots.push_back(x);
  p.own_slot = static_cast<int>(p.slots.size()) - 1;
  return true;
}

bool read_machine(const std::vector<Word> &words, Machine &m) {
  for (const Word &w : words) {
    const auto n = static_cast<int>(w.number());
    if (w.name == "simulated") m.simulated = true;
    else if (w.name == "threads") m.threads = true;
    else if (w.name == "cores") m.cores = n;
    else if (w.name == "devices") m.devices = n;
    else if (w.name == "units") m.units = n;
    else if (w.name == "memory") m.memory = static_cast<uint64_t>(w.number());
    else if (w.name == "bandwidth") m.bandwidth = n;
    else if (w.name == "peer") m.peer = true;
    else if (w.name == "noise") m.noise = n;
    else if (w.name == "teams") m.teams = true;
    else if (w.name == "window") m.window = n;
    else if (w.name == "bypass") m.bypass = n;
    else if (w.name == "seed") m.seed = n;
    else if (w.name != "machine" && w.name != "host") return false;
  }
  return m.cores > 0;
}

void read_faults(const std::vector<Word> &words, Machine &m) {
  for (const Word &w : words) {
    if (w.name == "allocation") m.allocation = static_cast<long>(w.number());
    if (w.name == "disk") m.disk = w.arg(0), m.host_memory = static_cast<uint64_t>(w.number(1));
    if (w.name == "device") m.device = w.arg(0);
    if (w.name == "plugin")
      m.plugin = w.arg(0), m.plugin_nth = static_cast<int>(w.number(1)), m.plugin_status = w.arg(2);
  }
}

}  // namespace

std::string text_of(const Case &c) {
  std::string all = "case of seed " + std::to_string(c.seed) + " turns(" + std::to_string(c.turns) + ")\n" + lines_of(c.machine);
  for (const mixed::Program &p : c.programs) {
    all += "program\n";
    for (size_t d = 0; d < p.slots.size(); ++d) all += line_of(p.slots[d], static_cast<int>(d)) + "\n";
    for (size_t s = 0; s < p.steps.size(); ++s)
      if (!p.dropped[s]) all += line_of(p.steps[s], static_cast<int>(s)) + "\n";
  }
  return all;
}

std::string parse(const std::string &text, Case *out) {
  *out = {};
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<Word> words = words_of(line);
    if (words.empty() || words[0].name[0] == '#') continue;
    const std::string &first = words[0].name;
    bool good = true;
    if (first == "case") {
      for (const Word &w : words)
        if (w.name == "turns") out->turns = static_cast<int>(w.number());
      out->seed = words.size() > 3 ? std::strtoull(words[3].name.c_str(), nullptr, 10) : 0;
    } else if (first == "machine") {
      good = read_machine(words, out->machine);
    } else if (first == "policy" && words.size() > 1) {
      out->machine.policy = words[1].name;
      for (const Word &w : words)
        if (w.name == "swaps") out->machine.swaps = w.args;
    } else if (first == "contexts" && words.size() > 1) {
      out->machine.context_policy = words[1].name;
      for (const Word &w : words) {
        if (w.name == "number") out->machine.contexts = static_cast<int>(w.number());
        if (w.name == "each") out->machine.context_cores = static_cast<int>(w.number());
      }
    } else if (first == "fault") {
      read_faults(words, out->machine);
    } else if (first == "program") {
      out->programs.emplace_back().seed = out->seed;
    } else if (out->programs.empty()) {
      good = false;
    } else if (first == "data" || first[0] == 'd') {
      good = read_slot(words, out->programs.back());
    } else {
      good = first[0] == 't' && read_step(words, out->programs.back());
    }
    if (!good) return "line " + std::to_string(number) + " is not understood: " + line;
  }
  for (mixed::Program &p : out->programs) {
    p.nworkers = static_cast<uint32_t>(out->machine.cores);
    p.alone = out->programs.size() == 1;
  }
  return out->programs.empty() ? "the text has no program" : "";
}

}  // namespace storm

#include "task/codelet.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "machine/topology.hpp"
#include "task/access_modes.hpp"
#include "task/task.hpp"

namespace consort {

Codelets::~Codelets() {
  const uint32_t n = n_.load(std::memory_order_relaxed);
  for (Codelet *c : free_) {
    if (slot(c->number).load(std::memory_order_relaxed) == c) slot(c->number).store(nullptr, std::memory_order_relaxed);
    delete c;
  }
  for (uint32_t i = 0; i < n; ++i) delete slot(i).load(std::memory_order_relaxed);
  for (auto &b : blocks_) delete[] b.load(std::memory_order_relaxed);
}

namespace {

constexpr uint32_t kForTeams = CONSORT_CL_FORKJOIN | CONSORT_CL_SPMD;

Result<void> check_teams(const std::string &name, const consort_codelet &d) {
  const std::string label = "codelet '" + name + "' ";
  if ((d.flags & kForTeams) == kForTeams)
    return error(CONSORT_E_INVAL, label + "says CL_FORKJOIN and CL_SPMD: its function is called by one member of a team, or "
                                        "by each, not both");
  if (d.reserved) return error(CONSORT_E_INVAL, label + "has `reserved` " + std::to_string(d.reserved) + ": it must be 0");
  if (d.max_team && !(d.flags & kForTeams))
    return error(CONSORT_E_INVAL, label + "has max_team " + std::to_string(d.max_team) +
                                      ", but no team may run it: add CL_FORKJOIN or CL_SPMD");
  if ((d.flags & kForTeams) && (d.flags & CONSORT_CL_ASYNC))
    return error(CONSORT_E_INVAL, label + "is for teams and says CL_ASYNC: a team's function returns when it is done");
  return {};
}

// Rejects modes that no submission could match, so that the error names the codelet.
Result<void> check_modes(const std::string &name, const consort_codelet &d) {
  const std::string label = "codelet '" + name + "' ";
  if (d.nmodes == CONSORT_NONE)
    return d.modes ? Result<void>(error(CONSORT_E_INVAL, label + "gives modes, but its nmodes is CONSORT_NONE, which means any "
                                                               "number of data: set nmodes to how many modes there are"))
                   : Result<void>();
  if (d.nmodes > kMostUses)
    return error(CONSORT_E_INVAL, label + "has nmodes " + std::to_string(d.nmodes) + ": a task uses " +
                                      std::to_string(kMostUses) + " data at most; CONSORT_NONE means any number");
  for (uint32_t i = 0; d.modes && i < d.nmodes; ++i)
    if (!is_mode(d.modes[i]) || (d.modes[i] & kHints)) {
      char mode[16];
      std::snprintf(mode, sizeof mode, "0x%x", d.modes[i]);
      return error(CONSORT_E_INVAL, label + "has modes[" + std::to_string(i) + "] " + mode +
                                        ", which is none of R, W, RW, SCRATCH, REDUX, RW|COMMUTE");
    }
  return {};
}

// For a team codelet: some class that it names must have units whose functions host threads call, or units that take
// ops for teams, or must be absent on this machine.
Result<void> check_units(const Codelet &c, const Topology &topology) {
  if (!c.for_teams()) return {};
  for (const Codelet::Impl &i : c.impls) {
    if (topology.class_bit(i.klass_name) < 0 && !i.portable) return {};
    for (const Unit &u : topology.units())
      if ((u.desc.flags & (CONSORT_UNIT_INLINE | CONSORT_UNIT_TEAMS)) && i.klass_name == u.desc.klass && i.fn && !i.text()) return {};
  }
  return error(CONSORT_E_UNSUPPORTED,
               "codelet '" + c.name + "' is for teams of workers, but has no function for units of the host, only for '" +
                   c.impls[0].klass_name + "', which runs by itself and alone: add a function for a class of the "
                   "host's, or leave " + (c.flags & CONSORT_CL_SPMD ? "CL_SPMD" : "CL_FORKJOIN") + " out");
}

// A host built with an older header gives fewer fields.
Result<consort_codelet> whole_description(const consort_codelet &given) {
  consort_codelet d = CONSORT_CODELET_INIT;
  constexpr uint32_t kTooLarge = 1 << 16;  // a larger size is an uninitialised word
  if (given.size < offsetof(consort_codelet, can_execute) || given.size > kTooLarge)
    return error(CONSORT_E_INVAL,
                 "codelet '': size is " + std::to_string(given.size) + ": set it to sizeof(consort_codelet)");
  std::memcpy(&d, &given, std::min<size_t>(given.size, sizeof d));
  return d;
}

Result<void> check_description(const consort_codelet &d) {
  constexpr uint32_t kKnown = CONSORT_CL_ASYNC | CONSORT_CL_STATS | kForTeams;
  const std::string name = d.name ? d.name : "";
  if (name.empty()) return error(CONSORT_E_INVAL, "a codelet has no name: give it one, errors and models go by it");
  if (!d.nimpls || !d.impls)
    return error(CONSORT_E_INVAL, "codelet '" + name + "' has no implementation: give it at least one");
  if (d.nimpls > 32)
    return error(CONSORT_E_INVAL,
                 "codelet '" + name + "' has " + std::to_string(d.nimpls) + " implementations, 32 are the most");
  if (d.flags & ~kKnown)
    return error(CONSORT_E_INVAL, "codelet '" + name + "' has flags " + std::to_string(d.flags) +
                                      ": known are CL_ASYNC, CL_STATS, CL_FORKJOIN and CL_SPMD");
  if (auto r = check_teams(name, d); !r) return r.error();
  return check_modes(name, d);
}

// Fills what does not depend on the implementations.
std::unique_ptr<Codelet> begin_codelet(const consort_codelet &d, const Topology &topology) {
  auto c = std::make_unique<Codelet>();
  c->name = d.name;
  c->can_execute = d.can_execute;
  c->can_execute_user = d.can_execute_user;
  if (d.flags & CONSORT_CL_STATS) c->ran.reset(new std::atomic<uint64_t>[topology.units().size()]());
  if (c->can_execute || c->ran || (d.flags & kForTeams)) c->bits = kWatched;
  c->flags = d.flags;
  c->nmodes = d.nmodes;
  if (d.nmodes != CONSORT_NONE) c->plain_from = d.nmodes;
  if (d.modes && d.nmodes != CONSORT_NONE) c->modes.assign(d.modes, d.modes + d.nmodes);
  c->entry.resize(topology.classes().size());
  return c;
}

// Returns the implementation whose function units of that class run; if they play another class, one of that class.
// Implementations declared for their own class make them eligible. nullptr: none.
const consort_impl *run_there(const consort_codelet &d, const consort_impl &impl, uint32_t klass,
                              const Topology &topology) {
  const std::string &played = topology.runs(klass);
  if (played.empty()) return &impl;
  const consort_impl *const end = d.impls + d.nimpls;
  const consort_impl *const found =
      std::find_if(d.impls, end, [&](const consort_impl &o) { return o.fn && o.klass && played == o.klass; });
  return found == end ? nullptr : found;
}

Result<void> add_implementation(Codelet &c, const consort_codelet &d, uint32_t i, const Topology &topology) {
  const consort_impl &impl = d.impls[i];
  const auto bad = [&](consort_status s, const std::string &why) {
    return error(s, "codelet '" + c.name + "', implementation " + std::to_string(i) + why);
  };
  if (!impl.klass || !*impl.klass) return bad(CONSORT_E_INVAL, ": no unit class is named");
  const std::string of_class = std::string(" for class '") + impl.klass + "': ";
  if (!impl.fn && !impl.text) return bad(CONSORT_E_INVAL, of_class + "neither a function nor a kernel text");
  std::unique_ptr<Portable> portable;
  if (!impl.fn) {
    auto made = Portable::make(impl, topology.devices().size());
    if (!made) return bad(made.error().status, of_class + made.error().text);
    portable = std::move(*made);
  }
  const int found = topology.class_bit(impl.klass);
  const auto bit = static_cast<uint32_t>(found);
  const consort_impl *const runs = found < 0 ? nullptr : run_there(d, impl, bit, topology);
  const bool usable = runs && (runs->fn || topology.takes_text(bit));
  const consort_impl &called = usable ? *runs : impl;
  consort_call_fn *const fn = called.fn ? called.fn : Portable::stand_in;
  void *const user = called.fn ? called.user : portable.get();
  c.impls.push_back(
      {fn, user, usable ? bit : CONSORT_NONE, impl.klass, impl.name ? impl.name : c.name, std::move(portable)});
  if (!usable) return {};
  c.where |= uint64_t{1} << bit;
  if (auto &e = c.entry[bit]; !e.fn) e = {fn, user, i};
  else c.several |= uint64_t{1} << bit;
  return {};
}

// Fills what policies see of its tasks. Call after it has its number.
void fill_blank(Codelet &c, uint32_t max_team, const Topology &topology) noexcept {
  c.blank.where = c.where;
  c.blank.codelet = c.number;
  c.blank.team_min = c.blank.team_max = 1;
  for (const Team &t : topology.teams())
    if (c.for_teams() && (c.where >> t.klass & 1) && (!max_team || t.size() <= max_team))
      c.blank.team_max = std::max(c.blank.team_max, static_cast<uint16_t>(t.size()));
  if (c.blank.team_max > 1)
    c.blank.flags |= CONSORT_TK_TEAM | (c.flags & CONSORT_CL_SPMD ? uint16_t{CONSORT_TK_SPMD} : uint16_t{0});
}

}  // namespace

void Codelets::remove(Codelet &c) noexcept {
  std::lock_guard lock(mutex_);
  free_.push_back(&c);  // capacity was reserved in give_number()
}

void Codelets::count(const Codelet &c, int by) noexcept {
  std::lock_guard lock(mutex_);
  uint64_t classes = classes_.load(std::memory_order_relaxed);
  for (uint64_t rest = c.where; rest; rest &= rest - 1) {
    const auto bit = static_cast<uint32_t>(__builtin_ctzll(rest));
    of_class_[bit] += static_cast<uint32_t>(by);
    classes = of_class_[bit] ? classes | uint64_t{1} << bit : classes & ~(uint64_t{1} << bit);
  }
  classes_.store(classes, std::memory_order_relaxed);
}

void Codelets::choose_way(Codelet &c) const noexcept {
  const bool plain = short_way_ && c.where && !c.bits && !is_foreseen(c);
  const uint32_t most = Codelet::kMostPlain, span = c.nmodes == CONSORT_NONE ? most + 1 : c.nmodes <= most;
  c.plain_span.store(plain ? span : 0, std::memory_order_relaxed);  // read by submit()
}

void Codelets::allow_short_way(bool allowed) noexcept {
  std::lock_guard lock(mutex_);
  if (short_way_ == allowed) return;
  short_way_ = allowed;
  for (uint32_t i = 0; i < n_.load(std::memory_order_relaxed); ++i)
    choose_way(*slot(i).load(std::memory_order_relaxed));
}

Result<uint32_t> Codelets::give_number(Codelet &c) {
  uint32_t n = n_.load(std::memory_order_relaxed);
  if (free_.size() > kResting || (n == kMost && !free_.empty())) {
    Codelet *old = free_.front();
    free_.erase(free_.begin());
    c.number = old->number;
    c.generation = old->generation + 1;
    delete old;
  } else {
    if (n == kMost)
      return error(CONSORT_E_NOMEM, "65536 codelets are alive in this runtime: add each once, not per task");
    if (n % kBlock == 0) blocks_[n / kBlock].store(new std::atomic<Codelet *>[kBlock](), std::memory_order_release);
    c.number = n++;
  }
  free_.reserve(n);
  return n;
}

Result<Codelet *> Codelets::add(const consort_codelet &given, const Topology &topology) {
  const auto whole = whole_description(given);
  if (!whole) return whole.error();
  const consort_codelet &d = *whole;
  if (auto r = check_description(d); !r) return r.error();
  auto c = begin_codelet(d, topology);
  for (uint32_t i = 0; i < d.nimpls; ++i)
    if (auto r = add_implementation(*c, d, i, topology); !r) return r.error();
  if (auto r = check_units(*c, topology); !r) return r.error();
  std::vector<const char *> names;
  for (const Codelet::Impl &i : c->impls) names.push_back(i.name.c_str());

  std::lock_guard lock(mutex_);
  choose_way(*c);
  const auto n = give_number(*c);
  if (!n) return n.error();
  fill_blank(*c, d.max_team, topology);
  std::lock_guard one_at_a_time(topology.control());
  // a driver that collects statistics learns the codelet's names before its first task
  for (const auto &device : topology.devices())
    if (device->ops->codelet) device->ops->codelet(device->dev, c->number, c->name.c_str(), names.data(), d.nimpls);
  Codelet *out = c.release();
  slot(out->number).store(out, std::memory_order_release);  // pairs with find()
  n_.store(*n, std::memory_order_release);
  return out;
}

}  // namespace consort

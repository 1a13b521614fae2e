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

Result<void> check_teams(const std::string &name, const consort_codelet &d) {
  constexpr uint32_t kBoth = CONSORT_CL_FORKJOIN | CONSORT_CL_SPMD;
  const std::string who = "codelet '" + name + "' ";
  if ((d.flags & kBoth) == kBoth)
    return error(CONSORT_E_INVAL, who + "says CL_FORKJOIN and CL_SPMD: its function is called by one member of a team, or "
                                        "by each, not both");
  if (d.reserved) return error(CONSORT_E_INVAL, who + "has `reserved` " + std::to_string(d.reserved) + ": it must be 0");
  if (d.max_team && !(d.flags & kBoth))
    return error(CONSORT_E_INVAL, who + "has max_team " + std::to_string(d.max_team) +
                                      ", but no team may run it: add CL_FORKJOIN or CL_SPMD");
  if ((d.flags & kBoth) && (d.flags & CONSORT_CL_ASYNC))
    return error(CONSORT_E_INVAL, who + "is for teams and says CL_ASYNC: a team's function returns when it is done");
  return {};
}

// What no submission could agree with is refused here, where the mistake is.
Result<void> check_modes(const std::string &name, const consort_codelet &d) {
  const std::string who = "codelet '" + name + "' ";
  if (d.nmodes == CONSORT_NONE)
    return d.modes ? Result<void>(error(CONSORT_E_INVAL, who + "gives modes, but its nmodes is CONSORT_NONE, which means any "
                                                               "number of data: set nmodes to how many modes there are"))
                   : Result<void>();
  if (d.nmodes > kMostUses)
    return error(CONSORT_E_INVAL, who + "has nmodes " + std::to_string(d.nmodes) + ": a task uses " +
                                      std::to_string(kMostUses) + " data at most; CONSORT_NONE means any number");
  for (uint32_t i = 0; d.modes && i < d.nmodes; ++i)
    if (!is_mode(d.modes[i]) || (d.modes[i] & kHints)) {
      char mode[16];
      std::snprintf(mode, sizeof mode, "0x%x", d.modes[i]);
      return error(CONSORT_E_INVAL, who + "has modes[" + std::to_string(i) + "] " + mode +
                                        ", which is none of R, W, RW, SCRATCH, REDUX, RW|COMMUTE");
    }
  return {};
}

// Of one for teams: some class that it names has units which the host's threads call, or which take ops for teams, or is
// not here.
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

}  // namespace

void Codelets::remove(Codelet &c) noexcept {
  std::lock_guard lock(mutex_);
  free_.push_back(&c);  // room was made in add()
}

void Codelets::choose_way(Codelet &c) const noexcept {
  const bool plain = short_way_ && c.where && !c.bits && !is_foreseen(c);
  const uint32_t most = kPayload / sizeof(consort_access),
                 span = c.nmodes == CONSORT_NONE ? most + 1 : c.nmodes <= most;
  c.plain_span.store(plain ? span : 0, std::memory_order_relaxed);  // read by submit()
}

void Codelets::allow_short_way(bool allowed) noexcept {
  std::lock_guard lock(mutex_);
  if (short_way_ == allowed) return;
  short_way_ = allowed;
  for (uint32_t i = 0; i < n_.load(std::memory_order_relaxed); ++i)
    choose_way(*slot(i).load(std::memory_order_relaxed));
}

Result<Codelet *> Codelets::add(const consort_codelet &given, const Topology &topology) {
  constexpr uint32_t kForTeams = CONSORT_CL_FORKJOIN | CONSORT_CL_SPMD;
  constexpr uint32_t kKnown = CONSORT_CL_ASYNC | CONSORT_CL_STATS | kForTeams;
  consort_codelet d = CONSORT_CODELET_INIT;  // a host built with an older header has fewer fields
  constexpr uint32_t kTooLarge = 1 << 16;  // a size beyond is an uninitialised word
  const bool whole = given.size >= offsetof(consort_codelet, can_execute) && given.size <= kTooLarge;
  if (whole) std::memcpy(&d, &given, std::min<size_t>(given.size, sizeof d));
  const std::string name = d.name ? d.name : "";
  if (!whole)
    return error(CONSORT_E_INVAL, "codelet '" + name + "': size is " + std::to_string(given.size) +
                                      ": set it to sizeof(consort_codelet)");
  if (name.empty()) return error(CONSORT_E_INVAL, "a codelet has no name: give it one, errors and models go by it");
  if (!d.nimpls || !d.impls)
    return error(CONSORT_E_INVAL, "codelet '" + name + "' has no implementation: give it at least one");
  if (d.nimpls > 32)
    return error(CONSORT_E_INVAL,
                 "codelet '" + name + "' has " + std::to_string(d.nimpls) + " implementations, 32 are the most");

  if (d.flags & ~kKnown)
    return error(CONSORT_E_INVAL, "codelet '" + name + "' has flags " + std::to_string(d.flags) +
                                      ": CL_ASYNC, CL_STATS, CL_FORKJOIN and CL_SPMD are those that there are");
  if (auto r = check_teams(name, d); !r) return r.error();
  if (auto r = check_modes(name, d); !r) return r.error();

  auto c = std::make_unique<Codelet>();
  c->name = name;
  c->can_execute = d.can_execute;
  c->can_execute_user = d.can_execute_user;
  if (d.flags & CONSORT_CL_STATS) c->ran.reset(new std::atomic<uint64_t>[topology.units().size()]());
  if (c->can_execute || c->ran || (d.flags & kForTeams)) c->bits = kWatched;
  c->flags = d.flags;
  c->nmodes = d.nmodes;
  if (d.nmodes != CONSORT_NONE) c->plain_from = d.nmodes;
  if (d.modes && d.nmodes != CONSORT_NONE) c->modes.assign(d.modes, d.modes + d.nmodes);
  c->entry.resize(topology.classes().size());
  for (uint32_t i = 0; i < d.nimpls; ++i) {
    const consort_impl &impl = d.impls[i];
    if (!impl.klass || !*impl.klass)
      return error(CONSORT_E_INVAL,
                   "codelet '" + name + "', implementation " + std::to_string(i) + ": no unit class is named");
    if (!impl.fn && !impl.text)
      return error(CONSORT_E_INVAL, "codelet '" + name + "', implementation " + std::to_string(i) + " for class '" +
                                        impl.klass + "': neither a function nor a kernel text");
    const int bit = topology.class_bit(impl.klass);
    // Units that only play their class say by whose functions; what was declared for the class makes them eligible.
    const consort_impl *runs = &impl;
    if (bit >= 0 && !topology.runs(static_cast<uint32_t>(bit)).empty()) {
      const std::string &klass = topology.runs(static_cast<uint32_t>(bit));
      const auto same = [&](const consort_impl &o) { return o.fn && o.klass && klass == o.klass; };
      runs = std::find_if(d.impls, d.impls + d.nimpls, same);
    }
    std::unique_ptr<Portable> portable;
    if (!impl.fn) {
      auto made = Portable::make(impl, topology.devices().size());
      if (!made)
        return error(made.error().status, "codelet '" + name + "', implementation " + std::to_string(i) +
                                              " for class '" + impl.klass + "': " + made.error().text);
      portable = std::move(*made);
    }
    const bool usable = bit >= 0 && runs != d.impls + d.nimpls &&
                        (runs->fn || topology.takes_text(static_cast<uint32_t>(bit)));
    const consort_impl &called = usable ? *runs : impl;
    const uint32_t klass = usable ? static_cast<uint32_t>(bit) : CONSORT_NONE;
    consort_call_fn *const fn = called.fn ? called.fn : Portable::stand_in;
    void *const user = called.fn ? called.user : portable.get();
    c->impls.push_back({fn, user, klass, impl.klass, impl.name ? impl.name : name, std::move(portable)});
    if (!usable) continue;
    c->where |= uint64_t{1} << bit;
    if (auto &e = c->entry[static_cast<size_t>(bit)]; !e.fn) e = {fn, user, i};
    else c->several |= uint64_t{1} << bit;
  }
  if (auto r = check_units(*c, topology); !r) return r.error();
  std::vector<const char *> names;
  for (const Codelet::Impl &i : c->impls) names.push_back(i.name.c_str());

  std::lock_guard lock(mutex_);
  choose_way(*c);
  uint32_t n = n_.load(std::memory_order_relaxed);
  if (free_.size() > kResting || (n == kMost && !free_.empty())) {
    Codelet *old = free_.front();
    free_.erase(free_.begin());
    c->number = old->number;
    c->generation = old->generation + 1;
    delete old;
  } else {
    if (n == kMost)
      return error(CONSORT_E_NOMEM, "65536 codelets are alive in this runtime: add each once, not per task");
    if (n % kBlock == 0) blocks_[n / kBlock].store(new std::atomic<Codelet *>[kBlock](), std::memory_order_release);
    c->number = n++;
  }
  free_.reserve(n);
  c->blank.where = c->where;
  c->blank.codelet = c->number;
  c->blank.team_min = c->blank.team_max = 1;
  for (const Team &t : topology.teams())
    if (c->for_teams() && (c->where >> t.klass & 1) && (!d.max_team || t.size() <= d.max_team))
      c->blank.team_max = std::max(c->blank.team_max, static_cast<uint16_t>(t.size()));
  if (c->blank.team_max > 1)
    c->blank.flags |= CONSORT_TK_TEAM | (d.flags & CONSORT_CL_SPMD ? uint16_t{CONSORT_TK_SPMD} : uint16_t{0});
  std::lock_guard one_at_a_time(topology.control());
  for (const auto &device : topology.devices())  // who keeps books by codelet hears its names before its first task
    if (device->ops->codelet) device->ops->codelet(device->dev, c->number, c->name.c_str(), names.data(), d.nimpls);
  Codelet *out = c.release();
  slot(out->number).store(out, std::memory_order_release);
  n_.store(n, std::memory_order_release);
  return out;
}

}  // namespace consort

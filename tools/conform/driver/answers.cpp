// The descriptions that a driver returns: devices, spaces, units, links.
#include <algorithm>

#include "conform/driver/queue.hpp"

namespace conform {
namespace {

bool is_power_of_two(uint64_t n) { return n && !(n & (n - 1)); }

constexpr uint32_t kSpaceFlags = CONSORT_SP_CPU | CONSORT_SP_OPAQUE | CONSORT_SP_PERSISTENT | CONSORT_SP_COHERENT;
constexpr uint32_t kUnitFlags = CONSORT_UNIT_INLINE | CONSORT_UNIT_SIMULATED | CONSORT_UNIT_TEAMS;
constexpr uint32_t kLinkFlags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_MANY | CONSORT_LK_LOADSTORE | CONSORT_LK_ASYNC;

}  // namespace

CONFORM_CASE(D, 1, behaviour, opens_all_it_counts) {
  Plugin p(t);
  const auto ops = p.ops<consort_driver_ops>();
  t.need(ops.count && ops.open && ops.close, "functions are missing in the table");
  t.doing("count");
  const uint32_t n = ops.count(p.self());
  if (n == 0) t.skip("there is no device here: %s", p.host().failure().c_str());
  t.need(n <= 4096, "count answers %u devices", n);
  for (int k = 0; k < 3; ++k) {
    const uint32_t again = ops.count(p.self());
    t.check(again == n, "count answers %u, and then %u", n, again);
  }
  for (const bool last_first : {false, true, false, true}) {
    std::vector<void *> devices(n, nullptr);
    for (uint32_t i = 0; i < n; ++i) {
      t.doing("open of device %u of %u", i, n);
      p.host().forget_failure();
      const consort_status s = ops.open(p.self(), i, 100 + i, &devices[i]);
      if (s == CONSORT_E_UNSUPPORTED) t.skip("device %u does not open here: %s", i, p.host().failure().c_str());
      t.need(s >= 0, "open of device %u of %u answers %d: %s", i, n, s, p.host().failure().c_str());
    }
    t.check(ops.count(p.self()) == n, "count answers %u while all %u devices are open", ops.count(p.self()), n);
    for (uint32_t i = 0; i < n; ++i) {
      t.doing("close of a device before any other call");
      ops.close(devices[last_first ? n - 1 - i : i]);
    }
  }
}

CONFORM_CASE(D, 2, behaviour, spaces_are_described) {
  Plugin p(t);
  Devices devices(t, p);
  std::vector<uint32_t> places(devices.all().size(), 0);
  for (const Devices::Space &s : devices.spaces()) {
    if (!s.is_own()) continue;
    const char *name = s.name.c_str();
    const consort_space_desc &d = s.desc;
    t.check(!s.name.empty(), "space %u of device %u has no name", places[s.device], s.device);
    t.check(!s.domain.empty(), "%s has no domain, by which peers would know it", name);
    t.check(!(d.flags & ~kSpaceFlags), "%s has flags 0x%x, which mean nothing", name, d.flags & ~kSpaceFlags);
    t.check(!(d.flags & CONSORT_SP_CPU) || !(d.flags & CONSORT_SP_OPAQUE), "%s is for the CPU to load and store, and opaque", name);
    t.check(d.granule > 0, "%s has granule 0", name);
    t.check(is_power_of_two(d.align), "%s is aligned to %llu, which is no power of two", name, static_cast<unsigned long long>(d.align));
    consort_space_desc again;
    const consort_status status = devices.ask_space(s.device, places[s.device]++, d.id, &again);
    t.check(status >= 0 && again.name && s.name == again.name && again.domain && s.domain == again.domain && again.flags == d.flags &&
                again.domain_key == d.domain_key && again.granule == d.granule && again.align == d.align && again.numa == d.numa,
            "%s is described otherwise when it is asked for again", name);
  }
  for (uint32_t i = 0; i < devices.all().size(); ++i)
    for (const uint32_t beyond : {devices.all()[i].nspaces, devices.all()[i].nspaces + 1}) {
      consort_space_desc none;
      const consort_status status = devices.ask_space(i, beyond, 60, &none);
      t.check(status == CONSORT_E_INVAL, "space(%u) of device %u answers %d; there are %u, so it has to be %d (E_INVAL)", beyond, i, status,
              devices.all()[i].nspaces, CONSORT_E_INVAL);
    }
}

CONFORM_CASE(D, 3, behaviour, units_are_described) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Unit &u : devices.units()) {
    const consort_unit_desc &d = u.desc;
    const char *klass = u.klass.c_str();
    t.check(!u.klass.empty(), "unit %u of device %u is of no class", u.index, u.device);
    t.check(!u.arch.empty(), "unit %u of class %s has no arch, the key of what is measured on it", u.index, klass);
    t.check(!(d.flags & ~kUnitFlags), "unit %u of class %s has flags 0x%x, which mean nothing", u.index, klass, d.flags & ~kUnitFlags);
    t.check(!(d.flags & CONSORT_UNIT_INLINE) || !(d.flags & CONSORT_UNIT_TEAMS), "unit %u of class %s is inline and takes teams", u.index,
            klass);
    t.check(d.depth > 0, "unit %u of class %s has depth 0", u.index, klass);
    t.check(d.space < devices.stranger(), "unit %u of class %s is at home in space %u, which it was never told of", u.index, klass, d.space);
    t.check(!d.cpuset || d.cpuset_words, "unit %u of class %s has a cpuset of 0 words", u.index, klass);
    consort_unit_desc again;
    const consort_status status = devices.ask_unit(u.device, u.index, d.id, &again);
    t.check(status >= 0 && again.klass && u.klass == again.klass && again.arch && u.arch == again.arch && again.flags == d.flags &&
                again.space == d.space && again.depth == d.depth,
            "unit %u of class %s is described otherwise when it is asked for again", u.index, klass);
  }
  for (uint32_t i = 0; i < devices.all().size(); ++i) {
    consort_unit_desc none;
    const consort_status status = devices.ask_unit(i, devices.all()[i].nunits, 4000, &none);
    t.check(status == CONSORT_E_INVAL, "unit(%u) of device %u answers %d; there are %u, so it has to be %d (E_INVAL)",
            devices.all()[i].nunits, i, status, devices.all()[i].nunits, CONSORT_E_INVAL);
  }
}

CONFORM_CASE(D, 4, behaviour, links_are_its_own) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.links()) {
    const char *from = devices.spaces()[l.src].name.c_str(), *to = devices.spaces()[l.dst].name.c_str();
    const consort_link_desc &d = l.desc;
    t.check(l.src != devices.stranger() && l.dst != devices.stranger(), "it offers a path from %s to %s, which is a space of no device that it knows",
            from, to);
    t.check(!(d.flags & ~kLinkFlags), "the link from %s to %s has flags 0x%x, which mean nothing", from, to, d.flags & ~kLinkFlags);
    t.check(l.grain() <= l.longest() && is_power_of_two(l.grain()), "the link from %s to %s takes runs of at most %llu bytes, aligned to %llu",
            from, to, static_cast<unsigned long long>(d.max_run), static_cast<unsigned long long>(d.min_align));
    t.check(d.bounce_space == CONSORT_NONE || d.bounce_space < devices.stranger(), "the link from %s to %s bounces in space %u, which is none",
            from, to, d.bounce_space);
    t.check(!d.bounce_bytes || d.bounce_space != CONSORT_NONE, "the link from %s to %s takes %llu bytes to bounce, nowhere", from, to,
            static_cast<unsigned long long>(d.bounce_bytes));
    consort_link_desc again;
    const consort_status status = devices.ask_link(l.device, devices.spaces()[l.src], devices.spaces()[l.dst], &again);
    t.check(status >= 0 && again.flags == d.flags && again.bytes_per_s == d.bytes_per_s && again.latency_ns == d.latency_ns &&
                again.max_run == d.max_run && again.min_align == d.min_align,
            "the link from %s to %s is described otherwise when it is asked for again", from, to);
  }
  for (const Devices::Space &s : devices.spaces())
    if (s.is_own())
      t.check(std::any_of(devices.links().begin(), devices.links().end(),
                          [&](const Devices::Link &l) { return l.src == s.desc.id || l.dst == s.desc.id; }),
              "no path leads to or from %s: no copy can use it", s.name.c_str());
}

}  // namespace conform

#include "conform/driver/devices.hpp"

#include "conform/driver/queue.hpp"

namespace conform {
namespace {

constexpr uint32_t kMostSpaces = 62, kMostUnits = 4096;

// A description with guard bytes behind it.
template <class T>
struct Guarded {
  T desc{};
  unsigned char guard[64];
  Guarded() {
    std::memset(guard, 0xA5, sizeof guard);
    desc.size = sizeof desc;
  }
  bool holds() const {
    for (const unsigned char g : guard)
      if (g != 0xA5) return false;
    return true;
  }
};

Devices::Space foreign(const char *name, const char *domain, uint32_t flags, int32_t numa, uint64_t key) {
  Devices::Space s{{}, name, domain, CONSORT_NONE};
  s.desc.size = sizeof s.desc;
  s.desc.flags = flags;
  s.desc.numa = numa;
  s.desc.domain_key = key;
  s.desc.capacity = uint64_t{1} << 34;
  s.desc.granule = s.desc.align = 64;
  return s;
}

std::string text_of(const char *text) { return text ? text : ""; }

}  // namespace

bool Devices::Space::is_plain() const { return (desc.flags & CONSORT_SP_CPU) && !(desc.flags & CONSORT_SP_OPAQUE); }

Devices::Devices(Trial &t, Plugin &plugin) : t_(t), plugin_(plugin), ops_(plugin.ops<consort_driver_ops>()) {
  t_.need(ops_.count && ops_.open && ops_.close && ops_.space && ops_.unit && ops_.link && ops_.alloc && ops_.free && ops_.queue_open &&
              ops_.queue_close && ops_.submit && ops_.poll,
          "functions are missing in the table");
  open_all();
  ask_all();
}

Devices::~Devices() {
  carriers_.clear();
  for (const Device &d : devices_) {
    t_.doing("close of a device");
    ops_.close(d.handle);
  }
}

void Devices::open_all() {
  t_.doing("count");
  const uint32_t n = ops_.count(plugin_.self());
  if (n == 0) t_.skip("there is no device here: %s", plugin_.host().failure().c_str());
  t_.need(n <= 4096, "count answers %u devices", n);
  for (uint32_t i = 0; i < n; ++i) {
    Device d;
    d.token = next_token();
    t_.doing("open of device %u", i);
    plugin_.host().forget_failure();
    const consort_status s = ops_.open(plugin_.self(), i, d.token, &d.handle);
    if (s == CONSORT_E_UNSUPPORTED) t_.skip("device %u does not open here: %s", i, plugin_.host().failure().c_str());
    t_.need(s >= 0, "open of device %u of %u answers %d: %s", i, n, s, plugin_.host().failure().c_str());
    devices_.push_back(d);
  }
}

consort_status Devices::ask_space(uint32_t device, uint32_t i, uint32_t id, consort_space_desc *out) {
  Guarded<consort_space_desc> g;
  g.desc.id = id;
  g.desc.numa = -1;
  t_.doing("space %u of device %u", i, device);
  const consort_status s = ops_.space(devices_[device].handle, i, &g.desc);
  t_.check(g.holds(), "space() wrote behind the %zu bytes that it was given", sizeof *out);
  *out = g.desc;
  out->id = id;
  return s;
}

consort_status Devices::ask_unit(uint32_t device, uint32_t i, uint32_t id, consort_unit_desc *out) {
  Guarded<consort_unit_desc> g;
  g.desc.id = id;
  g.desc.space = kHost;
  g.desc.numa = -1;
  t_.doing("unit %u of device %u", i, device);
  const consort_status s = ops_.unit(devices_[device].handle, i, &g.desc);
  t_.check(g.holds(), "unit() wrote behind the %zu bytes that it was given", sizeof *out);
  *out = g.desc;
  return s;
}

consort_status Devices::ask_link(uint32_t device, const Space &src, const Space &dst, consort_link_desc *out) {
  Guarded<consort_link_desc> g;
  g.desc.bounce_space = CONSORT_NONE;
  consort_space_desc ends[2] = {src.desc, dst.desc};
  ends[0].name = src.name.c_str(), ends[0].domain = src.domain.c_str();
  ends[1].name = dst.name.c_str(), ends[1].domain = dst.domain.c_str();
  t_.doing("link of device %u from space %u (%s) to space %u (%s)", device, src.desc.id, src.name.c_str(), dst.desc.id,
           dst.name.c_str());
  const consort_status s = ops_.link(devices_[device].handle, &ends[0], &ends[1], &g.desc);
  t_.check(g.holds(), "link() wrote behind the %zu bytes that it was given", sizeof *out);
  *out = g.desc;
  return s;
}

void Devices::ask_all() {
  constexpr uint32_t kHostFlags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  spaces_.push_back(foreign("ram", "host", kHostFlags, 0, 0));
  spaces_.push_back(foreign("ram1", "host", kHostFlags, 1, 1));
  for (uint32_t d = 0; d < devices_.size(); ++d)
    for (uint32_t i = 0;; ++i) {
      consort_space_desc desc;
      if (ask_space(d, i, static_cast<uint32_t>(spaces_.size()), &desc) < 0) break;
      t_.need(i < kMostSpaces, "space() of device %u describes more than %u and does not end", d, kMostSpaces);
      spaces_.push_back({desc, text_of(desc.name), text_of(desc.domain), d});
      ++devices_[d].nspaces;
    }
  spaces_.push_back(foreign("elsewhere", "com.example.elsewhere", CONSORT_SP_OPAQUE, -1, 7));
  for (uint32_t i = 0; i < spaces_.size(); ++i) spaces_[i].desc.id = i;
  for (uint32_t d = 0; d < devices_.size(); ++d)
    for (const Space &src : spaces_)
      for (const Space &dst : spaces_) {
        consort_link_desc desc;
        if (ask_link(d, src, dst, &desc) >= 0) links_.push_back({desc, d, src.desc.id, dst.desc.id});
      }
  for (uint32_t d = 0; d < devices_.size(); ++d)
    for (uint32_t i = 0;; ++i) {
      consort_unit_desc desc;
      if (ask_unit(d, i, static_cast<uint32_t>(units_.size()), &desc) < 0) break;
      t_.need(i < kMostUnits, "unit() of device %u describes more than %u and does not end", d, kMostUnits);
      units_.push_back({desc, text_of(desc.klass), text_of(desc.arch), d, i});
      ++devices_[d].nunits;
    }
}

const Devices::Link *Devices::find_link(uint32_t src, uint32_t dst) const {
  for (const Link &l : links_)
    if (l.src == src && l.dst == dst) return &l;
  return nullptr;
}

bool Devices::is_within_reach(uint32_t space) const {
  if (space == stranger()) return false;
  return spaces_[space].is_plain() || (find_link(kHost, space) && find_link(space, kHost));
}

std::vector<Devices::Link> Devices::some_links(size_t most) {
  std::vector<Link> found;
  for (const Link &l : links_)
    if (is_within_reach(l.src) && is_within_reach(l.dst)) found.push_back(l);
  if (found.empty()) t_.skip("it has no path between spaces that can be written and read from here");
  while (found.size() > most) found.erase(found.begin() + static_cast<ptrdiff_t>(t_.random().below(found.size())));
  return found;
}

std::vector<uint32_t> Devices::own_spaces() {
  std::vector<uint32_t> found;
  for (const Space &s : spaces_)
    if (s.is_own() && is_within_reach(s.desc.id)) found.push_back(s.desc.id);
  if (found.empty()) t_.skip("it has no memory of its own that can be written and read from here");
  return found;
}

DeviceQueue &Devices::carrier(uint32_t device) {
  carriers_.resize(devices_.size());
  if (!carriers_[device]) carriers_[device] = std::make_unique<DeviceQueue>(*this, device);
  return *carriers_[device];
}

bool Devices::step_clock() {
  Host &host = plugin_.host();
  bool any = false;                              // as in the kernel: while a queue has work, time stands still
  for (DeviceQueue *q : open_) any = q->poll() || any;
  if (any) return true;
  uint64_t next = CONSORT_NEVER;
  for (const DeviceQueue *q : open_) next = std::min(next, q->next_event());
  if (next == CONSORT_NEVER) return false;
  if (next > host.now()) host.set_virtual(next);
  return true;
}

}  // namespace conform

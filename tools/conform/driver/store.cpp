#include "conform/driver/store.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace conform {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t up(uint64_t n, uint64_t grain) { return (n + grain - 1) / grain * grain; }

// One end of a strided run: its begin and its steps.
struct Side {
  uint64_t off;
  int64_t step[2];
};

// Arranges rows so that no two share a byte; false: they do not fit.
bool lay(Random &random, uint64_t grain, uint64_t run, const uint64_t n[2], uint64_t room, Side *out) {
  const bool turned = random.one_in(5);          // slices within rows
  const uint64_t inner = turned ? 1 : 0;
  uint64_t step[2];
  step[inner] = up(run, grain) + grain * (random.one_in(3) ? 0 : random.below(9));
  step[1 - inner] = step[inner] * n[inner] + grain * (random.one_in(3) ? 0 : random.below(17));
  const uint64_t reach = (n[0] - 1) * step[0] + (n[1] - 1) * step[1] + run;
  if (reach > room) return false;
  out->off = grain * random.below((room - reach) / grain + 1);
  for (int k = 0; k < 2; ++k) {
    out->step[k] = n[k] > 1 || random.one_in(2) ? static_cast<int64_t>(step[k]) : 0;  // a single row may have any step
    if (n[k] > 1 && random.one_in(6)) {
      out->off += (n[k] - 1) * step[k];
      out->step[k] = -out->step[k];
    }
  }
  return true;
}

}  // namespace

Store::Store(Devices &devices, uint32_t space, uint64_t bytes, uint32_t flags, bool filled)
    : model(bytes), devices_(devices), t_(devices.trial()), space_(space) {
  const Devices::Space &s = devices.spaces()[space];
  if (bytes == 0)                                // a share of a capacity
    t_.skip("a space has too little room for a block: %s has %llu bytes", s.name.c_str(), big(s.desc.capacity));
  if (!s.is_own()) {
    void *p = nullptr;
    if (posix_memalign(&p, kPage, up(bytes, kPage)) != 0) t_.skip("no memory of %zu bytes here", model.size());
    addr_ = {reinterpret_cast<uint64_t>(p), 0};
    std::memset(p, 0, bytes);
  } else {
    t_.doing("alloc of %zu bytes in %s", model.size(), s.name.c_str());
    devices.plugin().host().forget_failure();
    const uint64_t align = s.desc.align ? s.desc.align : 1;
    const consort_status status = devices.ops().alloc(devices.all()[s.device].handle, space, bytes, align, flags, &addr_);
    if (status == CONSORT_E_UNSUPPORTED) t_.skip("%s gives no memory: %s", s.name.c_str(), devices.plugin().host().failure().c_str());
    if (status == CONSORT_E_NOMEM)                 // a small device; CONSORT-D-7 checks that it has any room
      t_.skip("%s has no room for another %zu bytes: %s", s.name.c_str(), model.size(), devices.plugin().host().failure().c_str());
    t_.need(status >= 0, "alloc of %zu bytes in %s answers %d: %s", model.size(), s.name.c_str(), status,
            devices.plugin().host().failure().c_str());
  }
  if (!filled) return;
  fill(t_.random());
  write();
}

Store::Store(Devices &devices, uint32_t space, consort_addr part, uint64_t bytes)
    : model(bytes), devices_(devices), t_(devices.trial()), space_(space), addr_(part), is_part_(true) {
  fill(t_.random());
  write();
}

Store::~Store() {
  if (is_part_) return;
  const Devices::Space &s = devices_.spaces()[space_];
  if (!s.is_own()) {
    std::free(reinterpret_cast<void *>(addr_.base));
    return;
  }
  t_.doing("free of %zu bytes in %s", model.size(), s.name.c_str());
  devices_.ops().free(devices_.all()[s.device].handle, space_, addr_, model.size());
}

void Store::fill(Random &random) {
  for (size_t i = 0; i < model.size(); i += 8) {
    const uint64_t word = random.next();
    std::memcpy(&model[i], &word, std::min<size_t>(8, model.size() - i));
  }
}

void Store::carry(bool in, uint8_t *bytes) {
  if (devices_.spaces()[space_].is_plain()) {
    void *p = reinterpret_cast<void *>(addr_.base + addr_.off);
    std::memcpy(in ? p : bytes, in ? bytes : p, model.size());
    return;
  }
  const Devices::Link *link = in ? devices_.find_link(Devices::kHost, space_) : devices_.find_link(space_, Devices::kHost);
  t_.need(link, "no path between %s and the host's memory", devices_.spaces()[space_].name.c_str());
  DeviceQueue &queue = devices_.carrier(link->device);
  void *p = nullptr;                             // aligned as usual for host memory
  if (posix_memalign(&p, kPage, up(model.size(), kPage)) != 0) t_.skip("no memory of %zu bytes here", model.size());
  if (in) std::memcpy(p, bytes, model.size());
  const uint64_t most = link->longest() / link->grain() * link->grain();
  for (uint64_t done = 0; done < model.size();) {
    const uint64_t n = std::min<uint64_t>(most, model.size() - done);
    const consort_addr here{reinterpret_cast<uint64_t>(p), done}, there = at(done);
    consort_copy c{link->src, link->dst, in ? here : there, in ? there : here, n, {1, 1}, {0, 0}, {0, 0}};
    t_.doing("copy of %llu bytes %s %s", static_cast<unsigned long long>(n), in ? "to" : "from",
             devices_.spaces()[space_].name.c_str());
    const consort_status status = queue.run(copy_op(c));
    t_.need(status >= 0, "a copy of %llu bytes %s %s ends with %d: %s", static_cast<unsigned long long>(n), in ? "to" : "from",
            devices_.spaces()[space_].name.c_str(), status, devices_.plugin().host().failure().c_str());
    done += n;
  }
  if (!in) std::memcpy(bytes, p, model.size());
  std::free(p);
}

void Store::write() { carry(true, model.data()); }

std::vector<uint8_t> Store::read() {
  std::vector<uint8_t> found(model.size(), 0xEE);
  carry(false, found.data());
  return found;
}

bool Store::holds(const char *after) {
  const std::vector<uint8_t> found = read();
  size_t wrong = 0, first = 0;
  for (size_t i = model.size(); i-- > 0;)
    if (found[i] != model[i]) ++wrong, first = i;
  return t_.check(wrong == 0, "%zu of %zu bytes in %s are wrong after %s; byte %zu is 0x%02x, it has to be 0x%02x", wrong, model.size(),
                  devices_.spaces()[space_].name.c_str(), after, first, wrong ? found[first] : 0, wrong ? model[first] : 0);
}

bool Store::has_arrived(const consort_copy &c) const {
  const Devices::Space &s = devices_.spaces()[space_];
  if (s.is_own() && !s.is_plain()) return true;
  const auto *const found = reinterpret_cast<const uint8_t *>(addr_.base + addr_.off);
  const auto to = static_cast<int64_t>(c.dst.off - addr_.off);
  for (uint64_t z = 0; z < c.n[1]; ++z)
    for (uint64_t y = 0; y < c.n[0]; ++y) {
      const int64_t at = to + static_cast<int64_t>(y) * c.dst_step[0] + static_cast<int64_t>(z) * c.dst_step[1];
      if (std::memcmp(found + at, &model[static_cast<uint64_t>(at)], c.run) != 0) return false;
    }
  return true;
}

consort_copy random_copy(Random &random, const Devices::Link &link, const Store &src, const Store &dst, bool plain) {
  const uint64_t grain = link.grain(), room = std::min(src.bytes(), dst.bytes());
  const bool rows = !plain && link.desc.flags & (CONSORT_LK_2D | CONSORT_LK_3D), slices = !plain && link.desc.flags & CONSORT_LK_3D;
  const uint64_t most = std::min(link.longest(), plain ? room : room / 4) / grain;
  uint64_t units = 1 + random.below(random.one_in(4) ? most : std::min<uint64_t>(most, 1 + 600 / grain));
  uint64_t n[2] = {rows ? 1 + random.below(random.one_in(4) ? 100 : 9) : 1, slices ? 1 + random.below(7) : 1};
  Side from, to;
  for (;; units = std::max<uint64_t>(1, units / 2)) {
    if (lay(random, grain, units * grain, n, src.bytes(), &from) && lay(random, grain, units * grain, n, dst.bytes(), &to)) break;
    if (units == 1) n[0] = n[1] = 1;
  }
  return {src.space(), dst.space(), src.at(from.off), dst.at(to.off), units * grain, {n[0], n[1]}, {from.step[0], from.step[1]},
          {to.step[0], to.step[1]}};
}

void apply(const consort_copy &c, const Store &src, Store &dst) {
  const uint64_t from = c.src.off - src.at().off, to = c.dst.off - dst.at().off;
  for (uint64_t z = 0; z < c.n[1]; ++z)
    for (uint64_t y = 0; y < c.n[0]; ++y) {
      const auto sy = static_cast<int64_t>(y), sz = static_cast<int64_t>(z);
      std::memcpy(&dst.model[to + static_cast<uint64_t>(sy * c.dst_step[0] + sz * c.dst_step[1])],
                  &src.model[from + static_cast<uint64_t>(sy * c.src_step[0] + sz * c.src_step[1])], c.run);
    }
}

uint64_t bytes_of(const consort_copy &c) { return c.run * c.n[0] * c.n[1]; }

std::string text_of(const consort_copy &c) {
  char text[200];
  std::snprintf(text, sizeof text, "a copy of %llu rows of %llu bytes, %llu slices, steps %lld %lld to %lld %lld",
                static_cast<unsigned long long>(c.n[0]), static_cast<unsigned long long>(c.run), static_cast<unsigned long long>(c.n[1]),
                static_cast<long long>(c.src_step[0]), static_cast<long long>(c.src_step[1]), static_cast<long long>(c.dst_step[0]),
                static_cast<long long>(c.dst_step[1]));
  return text;
}

}  // namespace conform

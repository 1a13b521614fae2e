// Opening and closing devices and queues.
#include <algorithm>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

// Resources before and after; the heap is measured in parts, because memory kept by the allocator is no leak.
class Ledger {
 public:
  Ledger(Trial &t, Host &host, uint32_t part) : t_(t), host_(host), part_(part), memory_(64 * size_t{part}, part) {}
  void mark(uint32_t round) {
    if (round == part_) threads_ = count_threads(), descriptors_ = count_descriptors(), blocks_ = host_.live_blocks();
    if (round % part_ == 0 && round) memory_.mark();
  }
  bool is_undecided() const { return memory_.is_undecided(); }
  void check(const char *what) {
    t_.check(threads_come_down_to(threads_), "%zu threads more after %s", count_threads() - threads_, what);
    t_.check(count_descriptors() <= descriptors_, "%zu descriptors more after %s", count_descriptors() - descriptors_, what);
    t_.check(host_.live_blocks() <= blocks_, "%zu blocks of host->alloc more after %s", host_.live_blocks() - blocks_, what);
    t_.check(!memory_.leaks(), "%zu bytes more after each %u times %s", memory_.growth(), part_, what);
  }

 private:
  Trial &t_;
  Host &host_;
  const uint32_t part_;
  size_t threads_ = 0, descriptors_ = 0, blocks_ = 0;
  MemoryMarks memory_;
};

}  // namespace

CONFORM_CASE(D, 70, life, devices_leave_nothing_behind) {
  Host host;
  Plugin p(t, host);
  constexpr uint32_t kPart = 10;
  Ledger ledger(t, host, kPart);
  const uint32_t rounds = static_cast<uint32_t>(t.scaled(14, 40)) * kPart;
  uint32_t round = 0;
  for (; ((round <= rounds && t.has_time()) || ledger.is_undecided()) && !t.failed(); ++round) {
    ledger.mark(round);
    Devices devices(t, p);
    DeviceQueue q(devices, 0);
    q.run(op_of(CONSORT_OP_MARK));
    for (const Devices::Space &s : devices.spaces())
      if (s.device == 0) {
        consort_addr a{};
        const uint64_t n = std::max<uint64_t>(4096, s.desc.granule);
        if (devices.ops().alloc(devices.all()[0].handle, s.desc.id, n, s.desc.align, 0, &a) >= 0)
          devices.ops().free(devices.all()[0].handle, s.desc.id, a, n);
      }
  }
  ledger.check("devices were opened and closed");
}

CONFORM_CASE(D, 71, life, queues_leave_nothing_behind) {
  Host host;
  Plugin p(t, host);
  Devices devices(t, p);
  constexpr uint32_t kPart = 12;
  Ledger ledger(t, host, kPart);
  const uint32_t rounds = static_cast<uint32_t>(t.scaled(17, 84)) * kPart;
  for (uint32_t round = 0; ((round <= rounds && t.has_time()) || ledger.is_undecided()) && !t.failed(); ++round) {
    ledger.mark(round);
    { const DeviceQueue unused(devices, 0); }
    const bool of_unit = round % 2 && !devices.units().empty();
    DeviceQueue q(devices, of_unit ? devices.units()[0].device : 0, of_unit ? devices.units()[0].index : CONSORT_NONE);
    q.run(op_of(CONSORT_OP_MARK));
  }
  ledger.check("queues were opened and closed");
}

}  // namespace conform

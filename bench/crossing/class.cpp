// class.cpp — the same ring as a class; the table is made of it.
#include <consort/plugin.hpp>

#include "ring.hpp"

namespace {
using namespace consort::plugin;

class Class : public Scheduler {
 public:
  static constexpr const char *summary = "a table made of a class", *license = "Apache-2.0";
  static constexpr uint32_t scheduler_flags = CONSORT_SF_NO_BYPASS;

  Class(Host host, const consort_topology &, uint64_t epoch) : Scheduler(host) { ring_.epoch = epoch; }
  void workers(const consort_topology &, Workers, Workers) {}
  uint32_t push(const consort_push &p) noexcept { return ring_.push(p); }
  uint32_t pop(uint32_t, std::span<consort_pick> out) noexcept { return ring_.pop(out.data(), static_cast<uint32_t>(out.size())); }
  uint32_t drain(uint64_t epoch, std::span<consort_task *>) noexcept {
    ring_.epoch = epoch;
    return 0;
  }
  consort_status quiesce(uint64_t) { return CONSORT_OK; }

 private:
  crossing::Ring ring_;
};
}  // namespace

CONSORT_PLUGIN(crossing_class, SCHEDULER, 0, "crossing_class", "1.0.0", Class);

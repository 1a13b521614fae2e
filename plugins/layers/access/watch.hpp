// watch.hpp — the layer's instance: runs each body on guarded copies, and names what a fault or a pattern shows.
//
// One per runtime. Any thread runs bodies. The handler of faults reads `current` and the tables of arena and homes.
#pragma once
#include <consort/bodies.h>
#include <consort/layer.h>
#include <consort/scheduler.h>

#include <mutex>
#include <string_view>

#include "faults.hpp"
#include "guarded.hpp"

namespace access_check {

// The body that runs on this thread; innermost.
struct Current {
  Owner *owner = nullptr;
  const std::vector<Range> *own = nullptr;  // the memory of the data that it declared
  bool trusted = false;                     // the layer itself runs
};
alignas(64) inline thread_local constinit Current current{};

struct Settings {
  bool fatal = false, twice = false, homes = true, homes_anyway = false;
  uint32_t place = 0;  // 0: alternate, 1: end, 2: begin
  uint64_t arena = 0;
};

inline constexpr const char kFatal[] = "the layer access found a wrong access, and access.fatal is set: see the log";

class Watch final : public Handler {
 public:
  Watch(const consort_host *, const Settings &);
  ~Watch();
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;

  consort_status open();
  void close() noexcept;
  void share_homes() noexcept {  // a plugin has started that uses them beside the bodies
    if (!settings_.homes_anyway) homes_.let_be();
  }

  bool handle(const Fault &) noexcept override;
  // A task changed what it declared R, or did not declare, in a device's memory.
  void found_on_device(Owner &, const What &, int64_t offset, uint32_t block, bool declared) noexcept;
  bool tell(const Owner &) noexcept;  // logs what was found; whether the task has to fail

  consort_status body(const consort_body &, consort_call &);
  void ended(uint64_t task) noexcept;
  void added(const consort_body_datum &d);
  void removed(uint64_t id) noexcept { homes_.remove(id); }
  void acquired(const consort_body_datum &d, bool on);

 private:
  struct Body;
  void fault_in_region(const Fault &, Region *) noexcept;
  void fault_at_home(const Fault &, const What &, int64_t offset) noexcept;
  void found(Kind, bool write, Owner *, const What &, int64_t offset, uint32_t block, uint32_t mode,
             const char *how = nullptr) noexcept;
  std::unique_ptr<Body> prepare(const consort_body &, const consort_call &);
  consort_status run(Body &, const consort_body &, consort_call &);
  void run_again(Body &, const consort_body &, consort_call &);
  void end(std::unique_ptr<Body>) noexcept;
  uint32_t count_workers() const noexcept;

  const consort_host *const host_;
  const Settings settings_;
  const consort_bodies *bodies_ = nullptr;
  const consort_sched_host *sched_ = nullptr;
  Arena arena_;
  Homes homes_;
  Findings findings_;
  bool handling_ = false;
  std::atomic<uint32_t> workers_{0};  // relaxed: 0 until the first body; each thread finds the same number
  std::atomic<uint32_t> turn_{0};  // relaxed: chooses where data are put
  std::mutex mutex_;               // guards parked_; held while a hold is counted
  std::map<uint64_t, std::unique_ptr<Body>> parked_;  // whose completion is held, by task
};

}  // namespace access_check

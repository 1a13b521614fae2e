// engine.hpp — the event simulation: ops of all queues of all devices on one time line.
//
// A discrete-event model: an op starts after its predecessors, a copy waits for its latency and then shares
// wires with other copies (max-min fair), a kernel takes its time. advance() performs all events up to a time. An op also
// has an effect: bytes moved or a function called. In real time a thread of the queue performs it while the model's
// time runs, in virtual time poll() does. An op is complete when both are done.
// One per driver. `mutex` guards everything; it is not held during functions of tasks or blocking calls.
#pragma once
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "machine.hpp"

namespace sim {

class Engine;
struct Device;
struct Queue;

struct Op {
  // kArrives: the host has not handed it over yet. kMeasured: takes the time of its function. kHeld: the modelled time has passed, its effect is pending.
  enum Stage : uint8_t { kArrives, kWaits, kLatency, kFlows, kTimed, kMeasured, kHeld };
  enum Effect : uint8_t { kNone, kDue, kRunning, kDone };
  consort_op op;
  std::vector<consort_ticket> wait;
  Queue *queue;
  uint64_t seq;
  Stage stage = kWaits;
  Effect effect = kNone;
  consort_status status = CONSORT_OK;
  uint64_t start = 0, until = 0, least = 0, took = 0, bytes = 0;  // least: earliest end of a measured op
  uint64_t moves = 0;                                             // when the first byte of a copy moves
  double stretch = 1, left = 0, pace = 0, most = 0;               // of a copy: bytes, bytes per ns
  bool parked = false;                                            // a copy that waits for its turn on a serial wire
  const Path *path = nullptr;
  int from = kHost, to = kHost;
};

struct Queue {
  Device *device;
  uint64_t token;
  bool in_order, armed = false, stop = false;
  uint32_t depth;
  int fd = -1;
  uint64_t accepted = 0;
  // Capacity for `depth` entries from the start: an accepted op allocates nothing.
  std::vector<std::unique_ptr<Op>> ops;  // in flight, by seq
  std::vector<consort_done> done;
  std::vector<Op *> effects;             // due effects, for the thread
  std::condition_variable changed;
  std::thread thread;                   // real time only
};

struct Chance {                         // splitmix64
  uint64_t state;
  double next() noexcept {              // [0, 1)
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
};

struct Device {
  Engine *engine;
  uint32_t index;
  uint64_t token;
  const DeviceSpec *spec;
  uint32_t space = CONSORT_NONE;
  bool lost = false, told = false, has_slab = false;
  uint64_t loss = CONSORT_NEVER;                // time of a loss by time, set by the engine
  uint64_t opened = 0, used = 0, seen[4] = {};  // seen: by Fault::Kind
  uint64_t busy = 0;                            // end of the work of its host core
  std::map<uint64_t, uint64_t> blocks;          // address, bytes; allocated in its own space
  std::map<uint64_t, uint64_t> pinned;          // allocated in the host's space
  std::map<uint64_t, uint64_t> lent;            // as blocks: attached memory of the application
  std::map<uint32_t, std::string> names;        // of codelets
  std::string space_name;
  Chance chance;
};

class Engine {
 public:
  Engine(const consort_host *, Machine);
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  // Mutex held:
  void advance(uint64_t now) noexcept;
  void accept(Queue &, const consort_op &);                    // throws bad_alloc
  uint64_t next_event() noexcept {                             // CONSORT_NEVER: no op in flight
    if (stale_) next_ = look_ahead(), stale_ = false;
    return next_;
  }
  bool is_in_use(uint64_t block, uint64_t bytes) const noexcept;  // a copy or a fill in flight uses it
  bool strikes(Device &, Fault::Kind) noexcept;                // counts; true: the fault hits this one
  void play_effects(std::unique_lock<std::mutex> &) noexcept;  // virtual time: performs due effects, without the mutex
  void tell_losses(std::unique_lock<std::mutex> &lock) noexcept {
    if (untold_) tell(lock);
  }
  void add(Device &);                                          // throws bad_alloc
  void remove(Device &) noexcept;
  void add(Queue &, std::unique_lock<std::mutex> &);           // throws if no thread can start
  void remove(Queue &, std::unique_lock<std::mutex> &) noexcept;
  bool idle() const noexcept { return queues_.empty(); }
  bool has_effects() const noexcept { return !effects_.empty(); }

  // Time by the machine's description, without the device's delay, slowdown and noise; NaN: unknown. Needs no mutex.
  double known_ns(const Device &, const char *codelet, uint64_t bytes, uint64_t work, uint32_t team = 1) const noexcept;
  uint64_t now() const noexcept { return host->now(host); }
  int end_of(uint32_t space) const noexcept;                   // -2: unknown
  consort_status fail(const Device &, consort_status, std::string_view text) const noexcept;

  const consort_host *const host;
  const Machine machine;
  std::mutex mutex;
  std::map<uint32_t, int> spaces;                              // by kernel id; host spaces of other drivers too

 private:
  void begin_ready(uint64_t t) noexcept;
  uint64_t handing_ns(const Device &, const consort_op &) const noexcept;
  bool may_begin(const Queue &, const Op &) const noexcept;
  void begin(Op &, uint64_t t) noexcept;
  void begin_copy(Op &, uint64_t t) noexcept;
  void begin_fill(Op &, uint64_t t) noexcept;
  void begin_call(Op &, uint64_t t) noexcept;
  static const char *name_of(const Device &, uint32_t codelet) noexcept;
  bool is_inside(const Op &, int end, consort_addr, const int64_t step[2]) const noexcept;
  uint64_t look_ahead() const noexcept;
  void settle(uint64_t t) noexcept;
  void share() noexcept;
  void take_turns() noexcept;
  void step(uint64_t t) noexcept;
  void modelled(Op &, uint64_t t) noexcept;
  void over(Op &, uint64_t t) noexcept;
  void count(const Op &, uint64_t t) noexcept;
  void report() const noexcept;
  void effect_over(Op &, consort_status) noexcept;
  void lose(Device &, uint64_t t) noexcept;
  void tell(std::unique_lock<std::mutex> &) noexcept;
  void say(const Device &, int32_t level, std::string_view text) const noexcept;
  void play(Op &, std::unique_lock<std::mutex> &) noexcept;
  void serve(Queue &) noexcept;
  void keep_time() noexcept;
  uint64_t varied(Device &, double ns) noexcept;

  std::vector<Device *> devices_;  // open devices
  uint32_t untold_ = 0;            // lost devices not yet reported to the host
  std::vector<Queue *> queues_;    // in the order of their opening
  std::vector<Op *> active_;      // running, in the order of their start
  std::vector<Op *> effects_;     // virtual time: due effects, in that order
  std::vector<Op *> due_, flowing_;  // scratch of step() and share(); all four have capacity for all ops in flight
  std::vector<double> left_;         // scratch of share(), by wire: unassigned bandwidth, number of flows
  std::vector<uint32_t> users_;
  uint64_t clock_ = 0;            // current time of the model
  // Cached next_event(), which every queue queries at every step. A change of an op's stage or time, of the open or
  // lost devices, makes it stale.
  uint64_t next_ = CONSORT_NEVER;
  bool stale_ = false;
  std::condition_variable news_;  // for the clock's thread
  std::thread clock_thread_;
  uint64_t waking_ = 0;           // next wake-up of that thread; 0: awake
  bool stop_ = false;
  std::FILE *trace_ = nullptr;
  struct Way { uint64_t copies = 0, bytes = 0; };
  struct Work { uint64_t kernels = 0, ns = 0; };
  std::map<std::pair<int, int>, Way> ways_;  // totals for the report, by the ends of the copies
  std::vector<Work> work_;                   // by device
  uint64_t last_ = 0;                        // completion time of the last op
};

// Copies the bytes of any strided shape.
void move_bytes(const consort_copy &) noexcept;
void fill_bytes(const consort_fill &) noexcept;

}  // namespace sim

// new-name: a driver. One device that is memory of the host: a space of its own, units that run functions there, copies
// between it and the host's memory. Each queue is a thread that carries out its operations in order.
//
// A start for a real device: put its calls in the place of memcpy() and of the thread. submit and poll never block;
// the lock of a queue is held for a few moves of a list.
#include <sys/eventfd.h>
#include <unistd.h>
#include <consort/plugin/driver.hpp>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

namespace {

using namespace consort::plugin;

class NewNameDriver;

// The device's memory is the host's: an address is a pointer.
char *at(consort_addr a) { return reinterpret_cast<char *>(a.base + a.off); }

class NewNameDevice : public consort::plugin::Device {
 public:
  NewNameDevice(NewNameDriver &driver, uint32_t index, uint64_t token);

  bool space(uint32_t i, consort_space_desc &out) {
    if (i > 0) return false;
    own_ = out.id;  // the kernel's number of it
    out.flags =
        0;  // the CPU reads copies of it; with SP_CPU | SP_COHERENT it would access it in place
    out.numa = -1;
    out.name = "new-name:memory";
    out.domain = "new-name";
    out.domain_key = token_;
    out.capacity = capacity_;
    out.granule = out.align = kAlign;
    return true;
  }
  bool unit(uint32_t i, consort_unit_desc &out) {
    if (i >= units_) return false;
    out.space = own_;
    out.depth = depth_;
    out.numa = -1;
    out.klass = "new-name";  // what a codelet names to have an implementation for these units
    out.arch = "new-name/host";
    return true;
  }
  // Every ordered pair of spaces is asked for, other drivers' too. Ours: from and to the host's memory, and within.
  bool link(const consort_space_desc &src, const consort_space_desc &dst, consort_link_desc &out) {
    const auto good = [this](const consort_space_desc &s) { return s.id == own_ || is_host_memory(s); };
    if (!good(src) || !good(dst) || (src.id != own_ && dst.id != own_)) return false;
    out.flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
    out.bytes_per_s = 4'000'000'000;  // the kernel measures
    out.latency_ns = 2000;
    out.engines = 1;
    out.max_run = UINT64_MAX;
    out.min_align = 1;
    out.bounce_space = CONSORT_NONE;
    return true;
  }

  consort_addr alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags) {
    if (space != own_ || bytes == 0 || (align & (align - 1)) != 0)
      throw Error(CONSORT_E_INVAL, "cannot allocate " + std::to_string(bytes) + " bytes aligned to " +
                                       std::to_string(align) + " in space " + std::to_string(space) +
                                       ": bytes must not be 0, the alignment a power of two, the space its own");
    constexpr uint32_t can = CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT;  // the last two are hints
    if (flags & ~can)
      throw Error(CONSORT_E_UNSUPPORTED, "this memory is neither pinned nor exported; leave these flags out");
    const uint64_t all = (bytes + kAlign - 1) / kAlign * kAlign;
    {
      const std::lock_guard guard(mutex_);
      if (all < bytes || all > capacity_ - used_)
        throw Error(CONSORT_E_NOMEM,
                    "no room for " + std::to_string(bytes) + " bytes; new-name.bytes says how much there is");
      used_ += all;
    }
    void *p = nullptr;
    if (posix_memalign(&p, align < kAlign ? kAlign : align, all) != 0) {
      const std::lock_guard guard(mutex_);
      used_ -= all;
      throw std::bad_alloc();
    }
    if (flags & CONSORT_AL_ZERO) std::memset(p, 0, all);
    return {reinterpret_cast<uint64_t>(p), 0};
  }
  void free(uint32_t, consort_addr a, uint64_t bytes) noexcept {
    std::free(at(a));
    const std::lock_guard guard(mutex_);
    used_ -= (bytes + kAlign - 1) / kAlign * kAlign;
  }
  // The host's memory needs no preparation.
  consort_addr attach(uint32_t, consort_addr a, uint64_t) { return a; }
  void detach(uint32_t, consort_addr) noexcept {}

  class Queue;
  uint32_t depth() const { return depth_; }

 private:
  static constexpr uint64_t kAlign = 64;
  const uint64_t token_, capacity_;
  const uint32_t units_, depth_;
  uint32_t own_ = CONSORT_NONE;
  std::mutex mutex_;   // guards used_
  uint64_t used_ = 0;  // bytes
};

// A ring of `depth` operations: accepted, then done, then told. Its thread is the device.
class NewNameDevice::Queue {
 public:
  Queue(NewNameDevice &device, uint32_t, uint64_t, consort_queue_desc &out)
      : device_(device),
        depth_(device.depth()),
        ring_(std::make_unique<Slot[]>(depth_)),
        fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (fd_ < 0) throw Error(CONSORT_E_IO, "no eventfd for a queue: raise the limit of open files (ulimit -n)");
    out.flags = CONSORT_Q_IN_ORDER;
    out.sync = 0;  // others' tickets are waited for by the kernel
    out.depth = depth_;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~Queue() {
    {
      const std::lock_guard guard(mutex_);
      stop_ = true;
    }
    more_.notify_one();
    thread_.join();
    ::close(fd_);
  }

  uint32_t submit(Ops ops) noexcept {
    uint32_t n = 0;
    {
      const std::lock_guard guard(mutex_);
      for (; n < ops.size() && accepted_ - told_ < depth_; ++n) ring_[accepted_++ % depth_].op = ops[n];
    }
    if (n) more_.notify_one();
    return n;
  }
  uint32_t poll(Dones out) noexcept {
    const std::lock_guard guard(mutex_);
    uint32_t n = 0;
    for (; n < out.size() && told_ < done_; ++n) {
      const Slot &slot = ring_[told_++ % depth_];
      out[n] = slot.done;
      if (slot.done.status == CONSORT_E_UNSUPPORTED)
        device_.host().fail(CONSORT_E_UNSUPPORTED, "new-name: an operation of a kind that this driver does not know");
    }
    return n;
  }
  int event_fd() noexcept { return fd_; }
  // E_BUSY: something is done already, poll again. Else the next completion makes the descriptor readable.
  consort_status arm() noexcept {
    const std::lock_guard guard(mutex_);
    if (told_ < done_) return CONSORT_E_BUSY;
    eventfd_t old;
    eventfd_read(fd_, &old);
    armed_ = true;
    return CONSORT_OK;
  }

 private:
  struct Slot {
    consort_op op;
    consort_done done;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [this] { return stop_ || done_ < accepted_; });
      if (done_ == accepted_) return;      // stopped, and nothing is left
      Slot &slot = ring_[done_ % depth_];  // no other thread uses it until it is done
      lock.unlock();
      const bool timed = slot.op.flags & CONSORT_OPF_TIME;
      slot.done = {slot.op.cookie, CONSORT_OK, CONSORT_NONE, 0, 0, 0, 0};
      if (timed) slot.done.t0 = device_.host().now();
      slot.done.status = execute(slot.op, &slot.done.bytes);
      if (timed) slot.done.t1 = device_.host().now();
      lock.lock();
      ++done_;
      if (armed_) {
        armed_ = false;
        eventfd_write(fd_, 1);
      }
    }
  }

  consort_status execute(const consort_op &op, uint64_t *bytes) {
    switch (op.kind) {
      case CONSORT_OP_COPY: {
        const consort_copy &c = op.u.copy;
        for (uint64_t z = 0; z < c.n[1]; ++z)
          for (uint64_t y = 0; y < c.n[0]; ++y)
            std::memcpy(at(c.dst) + static_cast<int64_t>(z) * c.dst_step[1] + static_cast<int64_t>(y) * c.dst_step[0],
                        at(c.src) + static_cast<int64_t>(z) * c.src_step[1] + static_cast<int64_t>(y) * c.src_step[0],
                        c.run);
        *bytes = c.run * c.n[0] * c.n[1];
        return CONSORT_OK;
      }
      case CONSORT_OP_FILL: {
        const consort_fill &f = op.u.fill;
        for (uint64_t i = 0; i < f.run; i += sizeof f.pattern)
          std::memcpy(at(f.dst) + i, &f.pattern, f.run - i < sizeof f.pattern ? f.run - i : sizeof f.pattern);
        *bytes = f.run;
        return CONSORT_OK;
      }
      case CONSORT_OP_CALL:  // the codelet's own function; a device with a native queue would hand it over here
        op.u.call.call->native_queue = nullptr;
        op.u.call.call->native_context = nullptr;
        return op.u.call.fn(op.u.call.call);
      case CONSORT_OP_MARK:
        return CONSORT_OK;
      default:
        return CONSORT_E_UNSUPPORTED;  // LAUNCH: load_impl() builds no kernels here
    }
  }

  NewNameDevice &device_;
  const uint32_t depth_;
  const std::unique_ptr<Slot[]> ring_;
  const int fd_;
  std::mutex mutex_;  // guards all below
  std::condition_variable more_;
  uint64_t accepted_ = 0, done_ = 0, told_ = 0;  // told <= done <= accepted <= told + depth
  bool armed_ = false, stop_ = false;
  std::thread thread_;  // last: what it uses is there
};

class NewNameDriver : public Driver {
 public:
  static constexpr const char *summary = "host memory as a device", *license = "Apache-2.0";
  static constexpr Param<uint32_t> units{"units", "1", "0..64", "units of the device; 0: memory alone"};
  static constexpr Param<uint32_t> depth{"depth", "32", "1..4096", "operations in flight per queue"};
  static constexpr Param<uint64_t> bytes{"bytes", "1073741824", "0..", "memory of the device"};
  static constexpr auto params = parameters(units, depth, bytes);
  using Device = NewNameDevice;

  using Driver::Driver;  // one device; count() would tell of more
};

NewNameDevice::NewNameDevice(NewNameDriver &driver, uint32_t, uint64_t token)
    : consort::plugin::Device(driver.host()),
      token_(token),
      capacity_(host().value(NewNameDriver::bytes)),
      units_(host().value(NewNameDriver::units)),
      depth_(host().value(NewNameDriver::depth)) {}

}  // namespace

CONSORT_PLUGIN(new_name, DRIVER, 0, "new-name", "0.1.0", NewNameDriver);

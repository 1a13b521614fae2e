// Ops other than copies: fills, functions on units, kernels, times.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

// A function called by a unit, and what it has recorded.
struct Function {
  consort_call call{}, as_made{};
  std::atomic<uint32_t> runs{0};
  std::atomic<uint64_t> at{0};                   // its position in the order of all
  std::atomic<bool> is_other{false};             // it got another struct, or a changed one
  std::atomic<bool> is_within{false};            // a [queue] function of the driver called it
  std::atomic<uint64_t> *clock = nullptr;
  std::atomic<bool> *may_end = nullptr;          // it waits for this, at most two seconds
  consort_status answer = CONSORT_OK;

  static consort_status run(const consort_call *given) {
    auto *f = static_cast<Function *>(given->user);
    consort_call now = *given;                   // the driver writes native_* alone
    now.native_queue = f->as_made.native_queue;
    now.native_context = f->as_made.native_context;
    if (given != &f->call || std::memcmp(static_cast<const void *>(&now), &f->as_made, sizeof now)) f->is_other = true;
    if (Inside::tag() == Tag::kQueue) f->is_within = true;
    for (int k = 0; f->may_end && !f->may_end->load(std::memory_order_acquire) && k < 2000 && !f->is_within; ++k) usleep(1000);
    f->at = f->clock->fetch_add(1);
    f->runs.fetch_add(1);
    return f->answer;
  }
  consort_op op(const consort_host *host, uint32_t unit, std::atomic<uint64_t> *c, consort_status a, uint16_t flags = 0) {
    clock = c;
    answer = a;
    call.size = sizeof call;
    call.unit = unit;
    call.team = 1;
    call.team_id = CONSORT_NONE;
    call.user = this;
    call.host = host;
    std::memcpy(static_cast<void *>(&as_made), &call, sizeof call);
    consort_op o = op_of(CONSORT_OP_CALL);
    o.flags = flags;
    o.u.call = {run, &call};
    return o;
  }
};

std::vector<Devices::Unit> some_units(Trial &t, const Devices &devices, size_t most) {
  std::vector<Devices::Unit> found;
  for (const Devices::Unit &u : devices.units())
    if (!(u.desc.flags & CONSORT_UNIT_INLINE) && found.size() < most) found.push_back(u);
  if (found.empty()) t.skip("it has no units, or the kernel calls what runs there itself (CONSORT_UNIT_INLINE)");
  return found;
}

}  // namespace

CONFORM_CASE(D, 17, behaviour, fills_in_memory_order) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const uint32_t space : devices.own_spaces()) {
    DeviceQueue q(devices, devices.spaces()[space].device);
    Store block(devices, space, 10'000);
    constexpr uint64_t kRuns[] = {1, 2, 3, 5, 7, 63, 65, 4095, 4097, 4099, 8190};
    const uint64_t rounds = t.scaled(30, 300) + std::size(kRuns);
    for (uint64_t k = 0; k < rounds && t.has_time() && !t.failed(); ++k) {
      const uint64_t off = t.random().below(t.random().one_in(2) ? 30 : block.bytes()), left = block.bytes() - off;
      const uint64_t chance = 1 + t.random().below(t.random().one_in(2) ? std::min<uint64_t>(left, 12) : left);
      const uint64_t run = k < std::size(kRuns) ? std::min(kRuns[k], left) : chance;
      const uint32_t pattern = t.random().one_in(4) ? 0x77777777u : static_cast<uint32_t>(t.random().next());
      consort_op op = op_of(CONSORT_OP_FILL);
      op.u.fill = {block.at(off), run, space, pattern};
      t.doing("fill of %llu bytes at %llu with 0x%08x", static_cast<unsigned long long>(run), static_cast<unsigned long long>(off), pattern);
      const size_t entry = q.send(op);
      q.wait();
      const consort_done &done = q[entry].done;
      if (done.status == CONSORT_E_UNSUPPORTED) break;
      ++tried;
      t.need(done.status == CONSORT_OK, "a fill of %llu bytes ends with %d: %s", static_cast<unsigned long long>(run), done.status,
             p.host().failure().c_str());
      t.check(done.bytes == run, "a fill of %llu bytes is reported with %llu", static_cast<unsigned long long>(run),
              static_cast<unsigned long long>(done.bytes));
      for (uint64_t i = 0; i < run; ++i) block.model[off + i] = reinterpret_cast<const uint8_t *>(&pattern)[i % 4];
      block.holds("a fill");
    }
  }
  if (!tried) t.skip("its queues for copies do not fill");
}

CONFORM_CASE(D, 19, behaviour, times_are_on_the_hosts_clock) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned told = 0, large = 0, took_time = 0;
  for (const Devices::Link &l : devices.some_links(t.scaled(4, 12))) {
    DeviceQueue q(devices, l.device);
    Store src(devices, l.src, std::min(devices.spaces()[l.src].desc.capacity / 16, uint64_t{200'000})), dst(devices, l.dst, src.bytes());
    for (int k = 0; k < 12 && !t.failed(); ++k) {
      consort_op op = copy_op(random_copy(t.random(), l, src, dst, true));
      op.flags = CONSORT_OPF_TIME;
      const size_t entry = q.send(op);
      q.wait();
      const DeviceQueue::Entry &e = q[entry];
      if (!e.done.t0 && !e.done.t1) continue;
      ++told, large += e.done.bytes >= 10'000, took_time += e.done.t1 != e.done.t0;
      const auto big = [](uint64_t n) { return static_cast<unsigned long long>(n); };
      const uint64_t slack = 1'000'000 + (e.told_ns - e.sent_ns) / 20;  // for a device with another clock
      t.check(e.done.t0 <= e.done.t1, "a copy is reported to begin at %llu ns and to end at %llu", big(e.done.t0), big(e.done.t1));
      t.check(e.done.t0 + slack >= e.sent_ns && e.done.t1 <= e.told_ns + slack,
              "a copy that was submitted at %llu ns and reported at %llu is said to have taken from %llu to %llu", big(e.sent_ns),
              big(e.told_ns), big(e.done.t0), big(e.done.t1));
    }
  }
  if (!told) t.skip("it does not know when copies begin and end");
  t.check(took_time || large < 4, "each of %u copies is reported to end when it begins, though %u moved 10000 bytes or more", told, large);
}

CONFORM_CASE(D, 20, behaviour, calls_each_function_once) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Unit &u : some_units(t, devices, t.scaled(4, 16)))
    for (const uint16_t flags : {uint16_t{0}, uint16_t{CONSORT_OPF_ENQUEUE}}) {
      DeviceQueue q(devices, u.device, u.index);
      const size_t n = t.scaled(60, 500);
      std::vector<Function> functions(n);
      std::atomic<uint64_t> clock{1};
      for (size_t k = 0; k < n; ++k) {
        t.doing("function %zu on unit %u of class %s", k, u.index, u.klass.c_str());
        q.send(functions[k].op(p.table(), u.desc.id, &clock, k % 7 == 3 ? CONSORT_E_IO : CONSORT_OK, flags));
      }
      q.wait();
      for (size_t k = 0; k < n; ++k) {
        const Function &f = functions[k];
        const consort_status status = q[k].done.status;
        t.check(f.runs == 1, "a function was called %u times", f.runs.load());
        t.check(!f.is_other, "a function was given another consort_call than its op has, or one with other fields than native_* written");
        t.check(status == f.answer, "a function answers %d, and its op ends with %d", f.answer, status);
        if (t.failed()) return;
      }
      for (size_t k = 1; k < n && q.is_in_order() && !flags; ++k)
        t.check(functions[k].at > functions[k - 1].at, "function %zu was called before function %zu, on a queue that is in order", k, k - 1);
    }
}

CONFORM_CASE(D, 37, threads, functions_are_not_called_within_submit_or_poll) {
  Plugin p(t);
  if (p.has_flag(CONSORT_PF_VIRTUAL)) t.skip("it says CONSORT_PF_VIRTUAL, and starts no thread that could call them");
  Devices devices(t, p);
  for (const Devices::Unit &u : some_units(t, devices, t.scaled(2, 8))) {
    DeviceQueue q(devices, u.device, u.index);
    std::vector<Function> functions(20);
    std::atomic<uint64_t> clock{1};
    std::atomic<bool> may_end{false};
    functions[0].may_end = &may_end;             // the unit has work while it is polled
    for (Function &f : functions) {
      t.doing("a function on unit %u of class %s", u.index, u.klass.c_str());
      const consort_op op = f.op(p.table(), u.desc.id, &clock, CONSORT_OK);
      if (q.submit(&op, 1)) q.poll();
    }
    for (int k = 0; k < 20; ++k) q.poll();
    may_end.store(true, std::memory_order_release);  // pairs with the function's load
    q.wait();
    for (const Function &f : functions)
      t.need(!f.is_within, "a function without CONSORT_OPF_ENQUEUE is called within submit, poll or arm on unit %u of class %s", u.index,
             u.klass.c_str());
  }
}

CONFORM_CASE(D, 21, behaviour, loads_no_kernel_of_an_unknown_format) {
  Plugin p(t);
  Devices devices(t, p);
  const char text[] = "this is no kernel of any kind";
  for (const Devices::Device &d : devices.all()) {
    uint64_t code = 0;
    p.host().forget_failure();
    t.doing("load_impl of format com.example.nothing");
    const Inside inside(Tag::kLoad, "load_impl");
    for (const char *format : {"com.example.nothing", "cl.nothing", "ptx.nothing", "cubin.nothing", "hsaco.nothing", "spirv.nothing", "c"}) {
      const consort_status s = devices.ops().load_impl(d.handle, format, text, sizeof text - 1, "main", &code);
      t.check(s < 0, "load_impl of format %s answers %d", format, s);
      t.check(s >= 0 || !p.host().failure().empty(), "load_impl answers %d without a word", s);
    }
  }
}

CONFORM_CASE(D, 23, behaviour, attaches_or_says_why_not) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned attached = 0;
  for (const Devices::Device &d : devices.all()) {
    Store ram(devices, Devices::kHost, 20'000);
    for (int k = 0; k < 5; ++k) {
      consort_addr local{};
      p.host().forget_failure();
      t.doing("attach of 20000 bytes of the host's memory");
      const consort_status s = devices.ops().attach(d.handle, Devices::kHost, ram.at(), ram.bytes(), &local);
      t.check(s >= 0 || !p.host().failure().empty(), "attach of the host's memory answers %d without a word", s);
      t.check(s >= 0 || k == 0, "memory that was attached and detached is attached again, and refused: %s", p.host().failure().c_str());
      if (s < 0) break;
      ++attached;
      Store other(devices, Devices::kHost, 20'000);
      consort_addr beside{};
      const consort_status second = devices.ops().attach(d.handle, Devices::kHost, other.at(), other.bytes(), &beside);
      t.check(second >= 0 || !p.host().failure().empty(), "attach of a second block answers %d without a word", second);
      if (second >= 0) devices.ops().detach(d.handle, Devices::kHost, beside);
      other.holds("attach and detach");
      t.doing("detach of what was attached");
      devices.ops().detach(d.handle, Devices::kHost, local);
    }
    ram.holds("attach and detach");
  }
  if (!attached && !t.failed()) t.skip("it attaches no memory of the host, and says why");
}

// Offsets within one block: what attach answers is that very place, unless it is another mapping of it.
CONFORM_CASE(D, 23, behaviour, attach_keeps_the_offset) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned attached = 0;
  for (const Devices::Device &d : devices.all()) {
    constexpr uint64_t kBytes = 65'536, kPart = 8192;
    Store ram(devices, Devices::kHost, kBytes);
    for (const uint64_t off : {uint64_t{4096}, uint64_t{24'576}, kBytes - kPart}) {
      const consort_addr part = ram.at(off);
      consort_addr local{};
      t.doing("attach of %llu bytes at offset %llu of a block of the host's memory", big(kPart), big(off));
      if (devices.ops().attach(d.handle, Devices::kHost, part, kPart, &local) < 0) break;
      ++attached;
      const bool is_mapping = local.base < ram.at().base || local.base >= ram.at().base + kBytes;
      t.check(is_mapping || local.base + local.off == part.base + part.off,
              "attach of memory at base 0x%llx with offset %llu answers base 0x%llx with offset %llu: another place", big(part.base),
              big(part.off), big(local.base), big(local.off));
      t.doing("detach of what was attached");
      devices.ops().detach(d.handle, Devices::kHost, local);
    }
    ram.holds("attach and detach");
  }
  if (!attached && !t.failed()) t.skip("it attaches no memory of the host");
}

// The kit has a kernel for drivers with a compiler for "cl"; other formats are tested by their drivers.
CONFORM_CASE(D, 22, behaviour, launches_a_kernel) {
  Plugin p(t);
  Devices devices(t, p);
  static const char text[] =
      "__kernel void conform_axpy(__global uint *y, __global const uint *x, ulong n, uint a) {\n"
      "  const ulong w = get_global_size(0), h = get_global_size(1), all = w * h * get_global_size(2);\n"
      "  for (ulong i = get_global_id(0) + w * (get_global_id(1) + h * get_global_id(2)); i < n; i += all) y[i] = a * x[i] + y[i];\n"
      "}\n";
  for (const Devices::Unit &u : some_units(t, devices, 2)) {
    const uint32_t home = u.desc.space;
    if (!devices.is_within_reach(home)) t.skip("what units compute with cannot be seen from here");
    uint64_t code = 0;
    consort_status s;
    {
      t.doing("load_impl of a kernel as \"cl\" text");
      const Inside inside(Tag::kLoad, "load_impl");
      s = devices.ops().load_impl(devices.all()[u.device].handle, "cl", text, sizeof text - 1, "conform_axpy", &code);
    }
    if (s < 0) t.skip("it builds no \"cl\" kernels, the only ones that are known here: %s", p.host().failure().c_str());
    constexpr uint64_t kN = 5000;
    Store x(devices, home, 4 * kN), y(devices, home, 4 * kN);
    const uint32_t a = static_cast<uint32_t>(t.random().next());
    const consort_arg args[] = {{CONSORT_ARG_ADDR, 0, y.at(), 4 * kN, 0},
                                {CONSORT_ARG_ADDR, 0, x.at(), 4 * kN, 0},
                                {CONSORT_ARG_SCALAR, 8, {0, 0}, 0, kN},
                                {CONSORT_ARG_SCALAR, 4, {0, 0}, 0, a}};
    consort_op op = op_of(CONSORT_OP_LAUNCH);
    op.u.launch = {code, args, 4, 0, {20, 1, 1}, {64, 1, 1}, 0};
    DeviceQueue q(devices, u.device, u.index);
    for (int round = 0; round < 4; ++round) {
      if (round == 2) op.u.launch = {code, args, 4, 0, {5, 4, 1}, {16, 2, 1}, 0};
      if (round == 3) op.u.launch = {code, args, 4, 0, {3, 2, 2}, {8, 2, 2}, 0};
      const size_t entry = q.send(op);
      t.doing("launch of a kernel on unit %u of class %s", u.index, u.klass.c_str());
      q.wait();
      t.need(q[entry].done.status == CONSORT_OK, "a launch ends with %d: %s", q[entry].done.status, p.host().failure().c_str());
      for (uint64_t i = 0; i < kN; ++i) {
        uint32_t from, to;
        std::memcpy(&from, &x.model[4 * i], 4);
        std::memcpy(&to, &y.model[4 * i], 4);
        to += a * from;
        std::memcpy(&y.model[4 * i], &to, 4);
      }
      y.holds("a kernel that computes y = a x + y");
    }
    x.holds("a kernel that reads it");
  }
}

}  // namespace conform

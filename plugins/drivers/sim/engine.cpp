#include "engine.hpp"

#include <consort/shared/plain_file.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "text.hpp"

namespace sim {
namespace {

constexpr uint64_t kInline = 32 << 10;  // smaller copies are done inline: a thread costs more

bool is_timed(const Op &op) noexcept {  // it has an event at `until`
  return op.stage == Op::kArrives || op.stage == Op::kLatency || op.stage == Op::kFlows || op.stage == Op::kTimed;
}

}  // namespace

// -- life -------------------------------------------------------------------------------------------------------------

Engine::Engine(const consort_host *h, Machine m) : host(h), machine(std::move(m)) {
  work_.resize(machine.devices.size());
  left_.resize(machine.wires.size()), users_.resize(machine.wires.size());
  for (const auto &[ends, path] : machine.paths) ways_[ends];
  if (machine.trace.empty()) return;
  if (const int fd = consort::shared::open_to_write(machine.trace, O_TRUNC); fd >= 0 && !(trace_ = ::fdopen(fd, "w"))) ::close(fd);
  if (!trace_) throw Bad{"sim: trace = \"" + machine.trace + "\" cannot be written"};
  std::fputs("# start end device queue op seq codelet bytes status\n", trace_);
}

Engine::~Engine() {
  if (!machine.report.empty()) report();
  if (trace_) std::fclose(trace_);
}

consort_status Engine::fail(const Device &d, consort_status s, std::string_view text) const noexcept {
  return host->fail(host, s, Text("sim: %s: %.*s", d.spec->name.c_str(), static_cast<int>(text.size()), text.data()).c_str());
}

void Engine::say(const Device &d, int32_t level, std::string_view text) const noexcept {
  host->log(host, level, Text("sim: %s: %.*s", d.spec->name.c_str(), static_cast<int>(text.size()), text.data()).c_str());
}

int Engine::end_of(uint32_t space) const noexcept {
  const auto it = spaces.find(space);
  return it == spaces.end() ? -2 : it->second;
}

void Engine::add(Device &d) {
  devices_.push_back(&d);
  for (const Fault &f : machine.faults)
    if (f.kind == Fault::kLost && f.at_ns && (f.device < 0 || f.device == static_cast<int>(d.index)))
      d.loss = std::min(d.loss, d.opened + f.at_ns);
  stale_ = true;
}

void Engine::remove(Device &d) noexcept {
  std::erase(devices_, &d);
  if (d.lost && !d.told) --untold_;
  stale_ = true;
}

void Engine::add(Queue &q, std::unique_lock<std::mutex> &lock) {
  size_t most = q.depth;
  for (const Queue *other : queues_) most += other->depth;
  for (auto *list : {&active_, &effects_, &due_, &flowing_}) list->reserve(most);
  q.ops.reserve(q.depth), q.done.reserve(q.depth), q.effects.reserve(q.depth);
  queues_.push_back(&q);
  if (machine.virtual_time) return;
  try {
    q.thread = std::thread([this, &q] { serve(q); });
    if (!clock_thread_.joinable()) {
      stop_ = false;
      clock_thread_ = std::thread([this] { keep_time(); });
    }
  } catch (...) {
    remove(q, lock);  // also stops the one of the two threads that may have started
    throw;
  }
}

void Engine::remove(Queue &q, std::unique_lock<std::mutex> &lock) noexcept {
  q.stop = true;
  q.changed.notify_all();
  std::erase(queues_, &q);
  for (const auto &op : q.ops) {  // empty if the queue is idle, as required
    std::erase(active_, op.get());
    std::erase(effects_, op.get());
  }
  stale_ = true;
  std::thread last;
  if (queues_.empty() && clock_thread_.joinable()) {
    stop_ = true;
    news_.notify_all();
    last.swap(clock_thread_);
  }
  std::thread mine;
  mine.swap(q.thread);
  lock.unlock();
  if (mine.joinable()) mine.join();
  if (last.joinable()) last.join();
  lock.lock();
}

// -- time -------------------------------------------------------------------------------------------------------------

uint64_t Engine::look_ahead() const noexcept {
  uint64_t t = CONSORT_NEVER;
  for (const Op *op : active_)
    if (is_timed(*op)) t = std::min(t, op->until);
  for (const Device *d : devices_)
    if (!d->lost) t = std::min(t, d->loss);
  return t;
}

void Engine::advance(uint64_t now) noexcept {
  for (uint64_t t; (t = next_event()) <= now;) {
    t = std::max(t, clock_);
    settle(t);
    step(t);
    stale_ = true;
  }
  settle(std::max(now, clock_));
}

void Engine::settle(uint64_t t) noexcept {
  if (t == clock_) return;
  const auto passed = static_cast<double>(t - clock_);
  for (Op *op : active_)
    if (op->stage == Op::kFlows) op->left = std::max(0.0, op->left - op->pace * passed);
  clock_ = t;
}

// A serial wire moves one copy at a time, in the order in which they begin; one that moves keeps the wire.
void Engine::take_turns() noexcept {
  const auto is_free = [&](const Op &op) {
    return std::none_of(op.path->wires.begin(), op.path->wires.end(),
                        [&](uint32_t w) { return w < machine.serial.size() && machine.serial[w] && users_[w]; });
  };
  const auto each = [&](auto use) {
    for (Op *op : active_)
      if (op->stage == Op::kFlows) use(*op);
  };
  each([&](Op &op) {
    if (op.pace > 0)
      for (uint32_t w : op.path->wires) ++users_[w];
  });
  each([&](Op &op) {
    if (op.pace > 0) return;
    op.parked = !is_free(op);
    if (op.parked) op.until = CONSORT_NEVER;
    else op.moves = clock_;
    if (!op.parked)
      for (uint32_t w : op.path->wires) ++users_[w];
  });
  std::fill(users_.begin(), users_.end(), 0);
}

// Max-min fairness: flows over the tightest wire get equal shares of it; the rest is divided among the others.
void Engine::share() noexcept {
  auto &left = left_;
  auto &users = users_;
  auto &open = flowing_;
  std::copy(machine.wires.begin(), machine.wires.end(), left.begin());
  std::fill(users.begin(), users.end(), 0);
  open.clear();
  if (!machine.serial.empty()) take_turns();
  for (Op *op : active_)
    if (op->stage == Op::kFlows && !op->parked) {
      open.push_back(op);
      for (uint32_t w : op->path->wires) ++users[w];
    }
  while (!open.empty()) {
    size_t slowest = 0;
    double least = INFINITY;
    for (size_t i = 0; i < open.size(); ++i) {
      double limit = open[i]->most;
      for (uint32_t w : open[i]->path->wires) limit = std::min(limit, left[w] / users[w]);
      if (limit < least) least = limit, slowest = i;
    }
    Op *op = open[slowest];
    op->pace = std::max(least, 1e-9);
    op->until = clock_ + static_cast<uint64_t>(std::ceil(op->left / op->pace));
    for (uint32_t w : op->path->wires) {
      left[w] = std::max(0.0, left[w] - op->pace);
      --users[w];
    }
    open.erase(open.begin() + static_cast<ptrdiff_t>(slowest));
  }
}

// Performs all events due at t, the current clock.
void Engine::step(uint64_t t) noexcept {
  bool flows = false;
  for (Device *d : devices_)
    if (!d->lost && d->loss <= t) lose(*d, t), flows = !machine.serial.empty();
  due_.clear();
  for (Op *op : active_)
    if (is_timed(*op) && op->until <= t) due_.push_back(op);
  for (Op *op : due_) {
    if (std::find(active_.begin(), active_.end(), op) == active_.end() || op->stage == Op::kHeld)
      continue;  // its device was lost meanwhile
    if (op->stage == Op::kArrives) {
      op->stage = Op::kWaits;
      std::erase(active_, op);
    } else if (op->stage == Op::kLatency && op->left > 0) {
      op->stage = Op::kFlows;
      op->moves = t;
      flows = true;
    } else {
      flows |= op->stage == Op::kFlows;
      modelled(*op, t);
    }
  }
  begin_ready(t);
  if (flows) share();
}

// -- ops --------------------------------------------------------------------------------------------------------------

void Engine::accept(Queue &q, const consort_op &given) {
  auto op = std::make_unique<Op>();
  op->op = given;
  op->wait.assign(given.wait, given.wait + given.nwait);
  op->queue = &q;
  op->seq = q.accepted + 1;
  Device &d = *q.device;
  if (const uint64_t ns = handing_ns(d, given); ns && !d.lost) {
    op->stage = Op::kArrives;
    op->until = d.busy = std::max(d.busy, clock_) + ns;
  }
  q.ops.push_back(std::move(op));
  ++q.accepted;
  stale_ = true;
  if (q.ops.back()->stage == Op::kArrives)
    active_.push_back(q.ops.back().get());  // capacity is reserved for all ops in flight
  else
    begin_ready(clock_);
  if (!machine.virtual_time && next_event() < waking_) news_.notify_all();
}

// Overhead on the core that drives the device.
uint64_t Engine::handing_ns(const Device &d, const consort_op &op) const noexcept {
  if (d.spec->host || op.kind == CONSORT_OP_MARK) return 0;
  const Overheads &o = machine.overheads;
  if (op.kind != CONSORT_OP_CALL) return o.copy;
  return o.launch + o.task + o.fetch * (op.u.call.call ? op.u.call.call->nviews : 0);
}

bool Engine::may_begin(const Queue &q, const Op &op) const noexcept {
  if (op.stage != Op::kWaits) return false;
  if (q.in_order && &op != q.ops.front().get()) return false;
  for (const consort_ticket &t : op.wait)
    for (const Queue *other : queues_) {
      if (other->token != t.queue) continue;
      for (const auto &open : other->ops)
        if (open->seq == t.seq && open.get() != &op) return false;
    }
  return true;
}

// Repeats until no op begins: some complete at once.
void Engine::begin_ready(uint64_t t) noexcept {
  for (bool again = true; again;) {
    again = false;
    for (Queue *q : queues_)
      for (size_t i = 0; i < q->ops.size() && (i == 0 || !q->in_order); ++i)
        if (may_begin(*q, *q->ops[i])) {
          begin(*q->ops[i], t);
          again = true;
          break;
        }
  }
}

uint64_t Engine::varied(Device &d, double ns) noexcept {
  if (machine.noise > 0) ns *= 1 + machine.noise * (2 * d.chance.next() - 1);
  return static_cast<uint64_t>(std::llround(std::max(0.0, ns)));
}

bool Engine::strikes(Device &d, Fault::Kind kind) noexcept {
  const uint64_t n = ++d.seen[kind];
  bool yes = false;
  for (const Fault &f : machine.faults) {
    if (f.kind != kind || (f.device >= 0 && f.device != static_cast<int>(d.index))) continue;
    if (f.chance > 0)
      yes |= d.chance.next() < f.chance;
    else
      yes |= f.nth == n;
  }
  constexpr const char *kWhat[] = {"an allocation", "a copy", "a kernel", "the device"};
  if (yes) say(d, 3, Text("faults = strikes %s, number %" PRIu64, kWhat[kind], n));
  return yes;
}

void Engine::begin(Op &op, uint64_t t) noexcept {
  Device &d = *op.queue->device;
  op.start = t;
  op.stage = Op::kTimed;
  op.until = t;
  active_.push_back(&op);
  if (!d.lost && strikes(d, Fault::kLost)) return lose(d, t);
  if (d.lost)
    op.status = CONSORT_E_DEVICE_LOST;
  else if (op.op.kind == CONSORT_OP_COPY)
    begin_copy(op, t);
  else if (op.op.kind == CONSORT_OP_FILL)
    begin_fill(op, t);
  else if (op.op.kind == CONSORT_OP_CALL)
    begin_call(op, t);
  else if (op.op.kind != CONSORT_OP_MARK)
    op.status = fail(d, CONSORT_E_UNSUPPORTED, Text("ops of kind %u are not supported: sim calls host functions", op.op.kind));
  if (op.effect == Op::kDue) {
    if (machine.virtual_time)
      effects_.push_back(&op);
    else
      op.queue->effects.push_back(&op), op.queue->changed.notify_all();
  }
  if (op.stage == Op::kTimed && op.until <= t) modelled(op, t);
}

bool Engine::is_in_use(uint64_t block, uint64_t bytes) const noexcept {
  const auto inside = [&](consort_addr a) { return a.base + a.off - block < bytes; };
  for (const Queue *q : queues_)
    for (const auto &op : q->ops) {
      if (op->status < 0) continue;
      if (op->op.kind == CONSORT_OP_COPY && (inside(op->op.u.copy.src) || inside(op->op.u.copy.dst))) return true;
      if (op->op.kind == CONSORT_OP_FILL && inside(op->op.u.fill.dst)) return true;
    }
  return false;
}

// Whether all rows lie in one block of the device, if that end is a device.
bool Engine::is_inside(const Op &op, int end, consort_addr a, const int64_t step[2]) const noexcept {
  if (end == kHost) return true;
  const consort_copy &c = op.op.u.copy;
  int64_t low = 0, high = static_cast<int64_t>(c.run);
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = static_cast<int64_t>(c.n[i] - 1) * step[i];
    (reach < 0 ? low : high) += reach;
  }
  for (const Device *d : devices_) {
    if (d->index != static_cast<uint32_t>(end)) continue;
    const uint64_t first = a.base + a.off + static_cast<uint64_t>(low);
    for (const auto *blocks : {&d->blocks, &d->lent}) {
      auto it = blocks->upper_bound(first);
      if (it == blocks->begin()) continue;
      --it;
      if (first + static_cast<uint64_t>(high - low) <= it->first + it->second) return true;
    }
    return false;
  }
  return false;
}

void Engine::begin_copy(Op &op, uint64_t t) noexcept {
  Device &d = *op.queue->device;
  const consort_copy &c = op.op.u.copy;
  op.from = end_of(c.src_space);
  op.to = end_of(c.dst_space);
  op.path = machine.path(op.from, op.to);
  if (!op.path) {
    op.status = fail(d, CONSORT_E_UNSUPPORTED, Text("no path from space %u to space %u", c.src_space, c.dst_space));
    return;
  }
  const uint64_t bytes = c.run * c.n[0] * c.n[1];
  if (bytes && (!is_inside(op, op.from, c.src, c.src_step) || !is_inside(op, op.to, c.dst, c.dst_step))) {
    const Text text("a copy of %" PRIu64 " bytes from space %u to space %u exceeds the allocated memory", bytes,
                    c.src_space, c.dst_space);
    op.status = fail(d, CONSORT_E_INVAL, text);
    say(d, 1, text);
    return;
  }
  double slow = 1;
  for (int end : {op.from, op.to})
    if (end != kHost) slow = std::max(slow, machine.devices[static_cast<size_t>(end)].slow);
  if (machine.link_noise > 0) slow *= 1 + machine.link_noise * d.chance.next();
  op.most = op.path->bytes_per_s / 1e9 / slow;
  op.left = static_cast<double>(bytes);
  op.bytes = bytes;
  op.stage = Op::kLatency;
  op.until = t + static_cast<uint64_t>(static_cast<double>(op.path->latency_ns) * slow);
  if (strikes(d, Fault::kCopy)) {
    op.status = fail(d, CONSORT_E_IO, "the copy fails, as set by faults");
    return;
  }
  if (!machine.move) return;
  if (machine.virtual_time || bytes <= kInline)
    move_bytes(c);
  else
    op.effect = Op::kDue;
}

void Engine::begin_fill(Op &op, uint64_t t) noexcept {
  Device &d = *op.queue->device;
  const consort_fill &f = op.op.u.fill;
  const int end = end_of(f.space);
  const Path *path = machine.path(end, end);
  consort_copy &c = op.op.u.copy;  // same union: f is read before
  const consort_fill fill = f;
  c = {fill.space, fill.space, fill.dst, fill.dst, fill.run, {1, 1}, {0, 0}, {0, 0}};
  const bool inside = path && is_inside(op, end, fill.dst, c.dst_step);
  op.op.u.fill = fill;
  if (!inside) {
    op.status = fail(d, CONSORT_E_INVAL, Text("a fill of %" PRIu64 " bytes exceeds the allocated memory", fill.run));
    return;
  }
  op.bytes = fill.run;
  op.until = t + varied(d, static_cast<double>(fill.run) * 1e9 / path->bytes_per_s * d.spec->slow);
  if (!machine.move) return;
  if (machine.virtual_time || fill.run <= kInline)
    fill_bytes(fill);
  else
    op.effect = Op::kDue;
}

// Time of a team relative to one unit: the serial share plus the member's part of the parallel share.
static double shared(const DeviceSpec &d, uint32_t team) noexcept { return 1 - d.parallel + d.parallel / team; }

void Engine::begin_call(Op &op, uint64_t t) noexcept {
  Device &d = *op.queue->device;
  if (strikes(d, Fault::kKernel)) {
    op.status = fail(d, CONSORT_E_IO, "the kernel fails, as set by faults");
    op.until = t + d.spec->delay_ns;
    return;
  }
  const bool calls = machine.execute && op.op.u.call.fn;
  if (calls) op.effect = Op::kDue;
  const double slow = d.spec->slow, delay = static_cast<double>(d.spec->delay_ns) * slow;
  if (d.spec->host)  // a host core performs these overheads itself
    t += machine.overheads.task + machine.overheads.fetch * (op.op.u.call.call ? op.op.u.call.call->nviews : 0);
  const uint32_t team = op.op.u.call.call ? std::max(1u, op.op.u.call.call->team) : 1;
  const double known = known_ns(d, name_of(d, op.op.codelet), op.op.bytes, op.op.work, team);
  if (!std::isnan(known)) {
    op.until = t + varied(d, delay + known * slow);
  } else if (machine.virtual_time || !calls) {
    const double usual = static_cast<double>(machine.usual_ns) * shared(*d.spec, team);
    op.until = t + varied(d, delay + usual * slow / d.spec->speed);
  } else {
    op.stage = Op::kMeasured;
    op.stretch = slow / d.spec->speed;
    op.least = t + varied(d, delay);
  }
}

const char *Engine::name_of(const Device &d, uint32_t codelet) noexcept {
  const auto it = d.names.find(codelet);
  return it == d.names.end() ? nullptr : it->second.c_str();
}

double Engine::known_ns(const Device &d, const char *codelet, uint64_t bytes, uint64_t work,
                        uint32_t team) const noexcept {
  const double share = shared(*d.spec, team);
  if (codelet) {
    if (const auto own = d.spec->team_kernels.find(team); own != d.spec->team_kernels.end() && bytes)
      if (const auto it = own->second.find(std::string_view(codelet)); it != own->second.end())
        return it->second.ns(bytes);
    if (const auto it = d.spec->kernels.find(std::string_view(codelet)); it != d.spec->kernels.end() && bytes)
      return it->second.ns(bytes) * share;
    if (const auto given = machine.times.find(std::string_view(codelet)); given != machine.times.end())
      return static_cast<double>(given->second) * share;
  }
  if (machine.rate > 0 && work) return static_cast<double>(work) * share * 1e9 / machine.rate / d.spec->speed;
  return NAN;
}

// The modelled time has passed; the op completes when its effect is done.
void Engine::modelled(Op &op, uint64_t t) noexcept {
  op.stage = Op::kHeld;
  if (op.effect == Op::kNone || op.effect == Op::kDone) over(op, t);
}

void Engine::count(const Op &op, uint64_t t) noexcept {
  last_ = std::max(last_, t);
  if (op.op.kind == CONSORT_OP_COPY) {
    if (const auto it = ways_.find({op.from, op.to}); it != ways_.end()) ++it->second.copies, it->second.bytes += op.bytes;
  } else if (op.op.kind == CONSORT_OP_CALL) {
    Work &w = work_[op.queue->device->index];
    ++w.kernels;
    w.ns += t - op.start;
  }
}

// One "time NS", then "kernels DEVICE COUNT NS" (of all its units) and "way FROM TO COPIES BYTES", for used links only.
void Engine::report() const noexcept {
  const int fd = consort::shared::open_to_write(machine.report, O_APPEND);
  std::FILE *f = fd < 0 ? nullptr : ::fdopen(fd, "a");
  if (!f) {
    if (fd >= 0) ::close(fd);
    host->log(host, 1, ("sim: report = \"" + machine.report + "\" cannot be written").c_str());
    return;
  }
  const auto name = [&](int end) { return end == kHost ? "host" : machine.devices[static_cast<size_t>(end)].name.c_str(); };
  std::fprintf(f, "time %llu\n", (unsigned long long)last_);
  for (size_t i = 0; i < work_.size(); ++i)
    if (const Work &w = work_[i]; w.kernels)
      std::fprintf(f, "kernels %s %llu %llu\n", machine.devices[i].name.c_str(), (unsigned long long)w.kernels,
                   (unsigned long long)(w.ns / std::max(1u, machine.devices[i].units)));
  for (const auto &[ends, w] : ways_)
    if (w.copies)
      std::fprintf(f, "way %s %s %llu %llu\n", name(ends.first), name(ends.second), (unsigned long long)w.copies,
                   (unsigned long long)w.bytes);
  std::fclose(f);
}

void Engine::over(Op &op, uint64_t t) noexcept {
  Queue &q = *op.queue;
  for (int end : {op.from, op.to})  // the other end may be closed meanwhile
    for (const Device *d : devices_)
      if (op.path && d->index == static_cast<uint32_t>(end) && d->lost && op.status == CONSORT_OK)
        op.status = CONSORT_E_IO;
  consort_done done{};
  done.cookie = op.op.cookie;
  done.status = op.status;
  done.source = CONSORT_NONE;
  done.bytes = op.status < 0 ? 0 : op.bytes;
  if (op.op.flags & CONSORT_OPF_TIME) done.t0 = op.moves ? op.moves : op.start, done.t1 = t;
  if (op.status >= 0) count(op, t);
  if (trace_)
    std::fprintf(trace_, "%llu %llu %u %llu %u %llu %d %llu %d\n", (unsigned long long)op.start, (unsigned long long)t,
                 q.device->index, (unsigned long long)q.token, op.op.kind, (unsigned long long)op.seq,
                 static_cast<int>(op.op.codelet), (unsigned long long)done.bytes, op.status);
  std::erase(active_, &op);
  q.done.push_back(done);
  std::erase_if(q.ops, [&](const auto &o) { return o.get() == &op; });
  if (q.armed) {
    q.armed = false;
    eventfd_write(q.fd, 1);
  }
}

}  // namespace sim

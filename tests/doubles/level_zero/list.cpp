#include "list.hpp"

#include <chrono>

namespace ze_double {
namespace {

void take_out(Machine &m, const Command &c) {
  for (const auto &e : c.waits) --e->used;
  if (c.signal) --c.signal->used;
  for (const uint64_t at : c.touched)
    if (Block *b = m.block_of(at)) --b->pending;
}

// Which command runs next; -1: none may.
long choose(Machine &m, const List &l) {
  std::vector<long> may;
  for (size_t i = 0; i < l.queue.size(); ++i) {
    const Command &c = l.queue[i];
    bool ready = c.run || !c.waits.empty() || i == 0;  // a barrier that waits for no events waits for all before it
    for (const auto &e : c.waits) ready &= e->signalled;
    if (ready) may.push_back(static_cast<long>(i));
    if (!c.run) break;  // nothing overtakes a barrier
  }
  return may.empty() ? -1 : may[m.random() % may.size()];
}

bool overlap(const Range &a, const Range &b) { return (a.write || b.write) && a.at < b.at + b.size && b.at < a.at + a.size; }

void execute(Lock &lock, Machine &m, List &l, Command c) {
  Device &d = *l.device;
  ++m.commands;
  const auto lost = m.settings.lost.find(d.index);
  if (lost != m.settings.lost.end() && ++d.commands >= lost->second) {
    take_out(m, c);
    return m.lose(lock, d);
  }
  for (const Range &r : c.ranges)
    for (const auto &[other, what] : m.running)
      if (overlap(r, other)) m.violate(c.what + " of device " + std::to_string(d.index) + " touches what " + what + " is under way on");
  for (const Range &r : c.ranges) m.running.emplace_back(r, c.what);
  ++d.running;
  const uint64_t start = Machine::ticks();
  const Settings &s = m.settings;
  const uint64_t slow = c.run ? s.latency_us + (s.bandwidth ? c.bytes * 1'000'000 / s.bandwidth : 0) : 0;
  bool good = true;
  if (c.run) {
    lock.unlock();
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds(slow));  // nap: the latency that a test has set
    good = c.run(lock);  // takes the lock where it needs it
    if (!lock.owns_lock()) lock.lock();
  }
  --d.running;
  for (const Range &r : c.ranges)
    for (auto at = m.running.begin(); at != m.running.end(); ++at)
      if (at->first.at == r.at && at->first.size == r.size && at->first.write == r.write) {
        m.running.erase(at);
        break;
      }
  take_out(m, c);
  if (!good) m.lose(lock, d);
  if (c.signal && !d.lost) {
    if (c.signal->signalled) m.violate(c.what + " signals an event that is signalled already");
    c.signal->signalled = true;
    c.signal->start = start;
    c.signal->end = Machine::ticks();
  }
  ++l.done;
  m.changed.notify_all();
}

void run(Machine &m, const std::shared_ptr<List> &l) {
  Lock lock(m.mutex);
  for (;;) {
    long next = -1;
    m.changed.wait(lock, [&] {
      if (l->closing || l->device->lost) return true;
      return !l->device->losing && (next = choose(m, *l)) >= 0;
    });
    if (l->device->lost || l->closing) {
      for (const Command &c : l->queue) take_out(m, c);
      l->done += l->queue.size();
      l->queue.clear();
      m.changed.notify_all();
      if (l->closing) return;
      m.changed.wait(lock, [&] { return l->closing; });
      return;
    }
    Command c = std::move(l->queue[next]);
    l->queue.erase(l->queue.begin() + next);
    // Until it is done a barrier stands in its way as if it were there: this thread alone takes commands out.
    execute(lock, m, *l, std::move(c));
  }
}

}  // namespace

std::shared_ptr<List> make_list(Machine &m, const std::shared_ptr<Device> &d, uint64_t context) {
  if (d->lost) refuse(ZE_RESULT_ERROR_DEVICE_LOST);
  auto l = std::make_shared<List>();
  l->device = d;
  l->thread = std::thread([&m, l] { run(m, l); });
  m.add(l, context);
  return l;
}

void append(Lock &lock, Machine &m, const std::shared_ptr<List> &l, Command c) {
  if (l->device->lost) refuse(ZE_RESULT_ERROR_DEVICE_LOST);
  for (const auto &e : c.waits)
    if (e->context != l->context) m.violate(c.what + " waits for an event of another context");
  if (c.signal && c.signal->signalled) m.violate(c.what + " is to signal an event that is signalled already");
  for (const auto &e : c.waits) ++e->used;
  if (c.signal) {
    for (const auto &[handle, o] : m.objects)
      if (c.signal->used && o->kind == Kind::list)
        for (const Command &other : static_cast<const List &>(*o).queue)
          if (other.signal == c.signal) m.violate(c.what + " and " + other.what + " signal the same event");
    ++c.signal->used;
  }
  for (uint64_t &at : c.touched) {
    Block *b = m.block_of(at);
    at = b ? b->at : 0;
    if (b) ++b->pending;
  }
  l->queue.push_back(std::move(c));
  const uint64_t mine = ++l->given;
  m.changed.notify_all();
  if (!l->synchronous) return;
  m.changed.wait(lock, [&] { return l->done >= mine || l->device->lost; });
  if (l->device->lost) refuse(ZE_RESULT_ERROR_DEVICE_LOST);
}

void close_list(Lock &lock, Machine &m, const std::shared_ptr<List> &l) {
  if (l->done != l->given && !l->device->lost)
    m.violate("a command list is destroyed with " + std::to_string(l->given - l->done) + " commands under way");
  l->closing = true;
  m.changed.notify_all();
  m.remove(*l);
  std::thread thread = std::move(l->thread);
  lock.unlock();
  thread.join();
  lock.lock();
}

}  // namespace ze_double

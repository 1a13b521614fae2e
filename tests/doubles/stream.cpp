#include "stream.hpp"

#include <system_error>
#include <thread>

#include "call.hpp"
#include "code.hpp"
#include "graph.hpp"
#include "machine.hpp"

namespace gpu {

namespace {

bool counted(const Work &work) {  // work of a device, as against mere ordering
  return std::holds_alternative<Kernel>(work) || std::holds_alternative<Copy>(work) ||
         std::holds_alternative<Fill>(work);
}

std::chrono::microseconds duration(Stream &stream, const Work &work) {
  const Settings &settings = machine().settings;
  if (!counted(work)) {
    return {};
  }
  uint64_t us = settings.latency_us;
  if (settings.jitter) {
    us += stream.random() % (settings.jitter + 1);
  }
  const auto *copy = std::get_if<Copy>(&work);
  if (copy && settings.bandwidth) {
    us += copy->bytes() * 1'000'000 / settings.bandwidth;
  }
  return std::chrono::microseconds(us);
}

// Whether the context's error, or a fault that comes now, leaves nothing to execute.
bool refused(Context &context, const Op &op) {
  Machine &m = machine();
  if (context.error || !counted(op.work)) {
    return context.error != 0;
  }
  Device &device = context.device;
  ++device.operations;
  ++m.operations;
  auto lost = m.settings.lost.find(device.index);
  if (lost != m.settings.lost.end() && device.operations > lost->second.first) {
    m.lose(device, lost->second.second);
  } else if (op.fault) {
    context.error = op.fault;
  }
  return context.error != 0;
}

void finish(Stream &stream, Op &op) {
  Machine &m = machine();
  if (auto *release = std::get_if<Release>(&op.work)) {
    m.memory.give(release->block);
  }
  if (op.record) {
    op.record->when = std::chrono::steady_clock::now();
  }
  stream.done = op.serial;
  m.changed.notify_all();
  for (Stream *other : m.blocked) {
    other->wake.notify_all();
  }
}

void execute(Lock &lock, Stream &stream, Op &op) {
  Machine &m = machine();
  Context &context = *stream.context;
  bool skip = refused(context, op);
  auto *host = std::get_if<HostCall>(&op.work);
  if (host) {
    join(m.host, op.clock);  // it learns that all before has been executed
  }
  if (skip && !(host && host->always)) {
    return;
  }
  int status = context.error;
  auto time = duration(stream, op.work);
  lock.unlock();
  if (time.count()) {
    std::this_thread::sleep_for(time);  // nap: the latency that a test has set
  }
  in_callback() = host != nullptr;
  int fault = perform(op.work, status);
  in_callback() = false;
  lock.lock();
  if (fault && !context.error) {
    context.error = fault;
  }
}

void run(std::shared_ptr<Stream> stream) {
  Machine &m = machine();
  Lock lock(m.mutex);
  while (true) {
    stream->wake.wait(lock, [&] { return stream->closing || !stream->queue.empty(); });
    if (stream->queue.empty()) {
      break;
    }
    {
      Op op = std::move(stream->queue.front());
      stream->queue.pop_front();
      m.blocked.insert(stream.get());
      for (const Dep &dep : op.deps) {
        stream->wake.wait(lock, [&] { return dep.stream->done >= dep.serial; });
      }
      m.blocked.erase(stream.get());
      op.deps.clear();
      execute(lock, *stream, op);
      finish(*stream, op);
    }
  }
  stream->ended = true;  // so all of it is done, and no clock need say so
  m.host.erase(stream->number);
  for (auto &[handle, other] : m.streams.all) {
    other->clock.erase(stream->number);
  }
  m.changed.notify_all();
}

bool known(const Access &access, const Stream &stream) {
  const Machine &m = machine();
  auto in = [&](const Clock &clock) {
    auto at = clock.find(access.stream->number);
    return at != clock.end() && access.serial <= at->second;
  };
  return access.stream.get() == &stream || access.stream->ended || in(m.host) || in(stream.clock);
}

// Blocking streams wait for the default stream, and the default stream waits for them.
void default_order(const std::shared_ptr<Stream> &stream, std::vector<Dep> &deps) {
  const auto &null = stream->context->null_stream;
  auto after = [&](const std::shared_ptr<Stream> &other) {
    if (other->done < other->submitted) {
      deps.push_back({other, other->submitted});
    }
    join(stream->clock, other->clock);
  };
  if (!null || !stream->blocking) {
    return;
  }
  refuse_implicit(*stream);
  if (stream != null) {
    after(null);
    return;
  }
  for (auto &[handle, other] : machine().streams.all) {
    if (other->context == stream->context && other->blocking && other != stream) {
      after(other);
    }
  }
}

}  // namespace

std::shared_ptr<Stream> make_stream(const std::shared_ptr<Context> &context, bool blocking, int priority,
                                    unsigned flags, bool hidden) {
  Machine &m = machine();
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->number = ++m.next_stream;
  stream->blocking = blocking;
  stream->priority = priority;
  stream->flags = flags;
  stream->hidden = hidden;
  stream->random.seed(m.settings.seed * 1000003 + stream->number);
  try {
    std::thread(run, stream).detach();
  } catch (const std::system_error &) {
    fail(out_of_memory);
  }
  m.streams.add(stream);
  return stream;
}

std::shared_ptr<Stream> stream_of(const void *handle, const std::shared_ptr<Context> &current, bool submits) {
  auto value = reinterpret_cast<uint64_t>(handle);
  if (value <= 1) {
    if (!current->null_stream) {
      current->null_stream = make_stream(current, true, 0, 0, true);
    }
    return current->null_stream;
  }
  if (value == 2) {
    auto &own = current->per_thread[std::hash<std::thread::id>()(std::this_thread::get_id())];
    if (!own) {
      own = make_stream(current, true, 0, 0, true);
    }
    return own;
  }
  auto stream = object(machine().streams, handle, "the stream");
  if (submits && stream->context != current) {
    machine().violate("the stream is of another context than the one that is current");
  }
  return stream;
}

void close_stream(const std::shared_ptr<Stream> &stream) {
  stream->closing = true;
  stream->wake.notify_all();
  machine().streams.remove(*stream);
}

void end_stream(Lock &lock, const std::shared_ptr<Stream> &stream) {
  close_stream(stream);
  machine().changed.wait(lock, [&] { return stream->ended; });
}

void order(const std::shared_ptr<Stream> &stream, uint64_t serial, const std::vector<Touch> &all) {
  Machine &m = machine();
  for (const Touch &touch : all) {
    auto block = m.memory.find(touch.region.address);
    if (!block) {
      continue;
    }
    for (const Access &access : block->accesses) {
      if (!known(access, *stream) && conflict(touch, access.touch)) {
        m.violate(std::string(touch.mode == Mode::read    ? "reads"
                              : touch.mode == Mode::write ? "writes"
                                                          : "uses") +
                  " a " + block->words() + " beside " + access.what + " in another stream, which " +
                  (access.touch.mode == Mode::read    ? "reads"
                   : access.touch.mode == Mode::write ? "writes"
                                                      : "uses") +
                  " it and is not ordered with this");
      }
    }
    std::erase_if(block->accesses, [&](const Access &old) {
      if (old.stream == stream) {  // successors of this come after that, too
        return old.touch.region.address == touch.region.address && old.touch.region.end() == touch.region.end() &&
               (touch.mode == Mode::write || touch.mode == old.touch.mode);
      }
      auto seen = m.host.find(old.stream->number);
      return old.stream->ended || (seen != m.host.end() && old.serial <= seen->second);
    });
    block->accesses.push_back({touch, stream, serial, this_call()});
  }
}

uint64_t submit(const std::shared_ptr<Stream> &stream, Work work, std::vector<Dep> deps, const Clock *after) {
  healthy(*stream->context);
  int fault = counted(work) ? this_fault() : 0;
  check(work, *stream->context, fault);
  if (stream->capture) {
    capture(stream, std::move(work));
    return 0;
  }
  Op op;
  op.fault = fault;
  op.deps = std::move(deps);
  if (after) {
    join(stream->clock, *after);
  }
  default_order(stream, op.deps);
  op.serial = ++stream->submitted;
  stream->clock[stream->number] = op.serial;
  std::erase_if(stream->clock, [&](const auto &entry) {  // shared knowledge is in no clock
    auto seen = machine().host.find(entry.first);
    return entry.first != stream->number && seen != machine().host.end() && entry.second <= seen->second;
  });
  order(stream, op.serial, touches(work));
  if (std::holds_alternative<HostCall>(work)) {
    op.clock = stream->clock;
  }
  op.work = std::move(work);
  stream->queue.push_back(std::move(op));
  stream->wake.notify_all();
  return stream->submitted;
}

void wait_done(Lock &lock, const std::shared_ptr<Stream> &stream, uint64_t serial) {
  Clock clock;
  bool last = serial == stream->submitted;
  if (last) {
    clock = stream->clock;
  }
  machine().changed.wait(lock, [&] { return stream->done >= serial; });
  clock[stream->number] = serial;
  join(machine().host, clock);
}

void synchronize(Lock &lock, const std::shared_ptr<Stream> &stream) {
  wait_done(lock, stream, stream->submitted);
  healthy(*stream->context);
}

bool idle(const Stream &stream) {
  if (stream.done < stream.submitted) {
    return false;
  }
  join(machine().host, stream.clock);
  return true;
}

void record(Event &event, const std::shared_ptr<Stream> &stream) {
  healthy(*stream->context);
  auto made = std::make_shared<Record>();
  if (stream->capture) {
    made->capture = stream->capture;
    made->nodes = stream->frontier;
    event.record = made;
    return;
  }
  uint64_t serial = submit(stream, Nothing{});
  made->at = {stream, serial};
  made->clock = stream->clock;
  if (!stream->queue.empty()) {  // it is there still, for the lock was not given back
    stream->queue.back().record = made;
  }
  event.record = made;
}

void wait_event(const std::shared_ptr<Stream> &stream, Event &event) {
  healthy(*stream->context);
  if (!event.record) {
    return;
  }
  if (auto from = event.record->capture.lock()) {
    capture_wait(stream, from, *event.record);
    return;
  }
  if (!event.record->at.stream) {
    machine().violate("the event was recorded into a graph, which is captured no more");
    fail(invalid_value);
  }
  if (stream->capture) {
    machine().violate("a stream under capture waits for an event that was recorded outside of it");
    fail(capture_isolation);
  }
  submit(stream, Nothing{}, {event.record->at}, &event.record->clock);
}

bool reached(const Event &event) {
  if (!event.record) {
    return true;
  }
  const Record &record = *event.record;
  if (!record.at.stream) {
    machine().violate("the event was recorded into a graph: it is reached at no time");
    fail(captured_event);
  }
  healthy(*record.at.stream->context);
  if (record.at.stream->done < record.at.serial) {
    return false;
  }
  join(machine().host, record.clock);
  return true;
}

void synchronize(Lock &lock, const Event &event) {
  if (auto record = event.record) {
    if (record->at.stream) {
      machine().changed.wait(lock, [&] { return record->at.stream->done >= record->at.serial; });
    }
    Event same;
    same.record = record;
    reached(same);
  }
}

void await_users(Lock &lock, const std::shared_ptr<Block> &block, const char *how) {
  auto users = block->accesses;
  for (const Access &user : users) {
    auto seen = machine().host.find(user.stream->number);
    bool known = user.stream->ended || (seen != machine().host.end() && user.serial <= seen->second);
    if (!known && !user.stream->context->error) {
      machine().violate("a " + block->words() + " is " + how + " while " + user.what +
                        ", whose end the host has not seen, uses it");
    }
    machine().changed.wait(lock, [&] { return user.stream->done >= user.serial; });
  }
}

}  // namespace gpu

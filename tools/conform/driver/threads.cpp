// Many threads: each queue used by its own thread, [control] calls beside them; calls out of hot functions.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "conform/calls.hpp"
#include "conform/driver/store.hpp"

namespace conform {
namespace {

// A thread's part: copies on a queue of its own, between blocks of its own.
struct Part {
  std::unique_ptr<DeviceQueue> there, back;
  std::unique_ptr<Store> in, place, out;
  Random random{0};
};

// Returns paths from host memory to the driver's and back.
std::vector<std::pair<Devices::Link, Devices::Link>> ways_of(Trial &t, const Devices &devices) {
  std::vector<std::pair<Devices::Link, Devices::Link>> found;
  for (const Devices::Link &l : devices.links()) {
    const Devices::Link *back = devices.find_link(l.dst, l.src);
    if (l.src == Devices::kHost && l.dst != l.src && back && devices.is_within_reach(l.dst)) found.push_back({l, *back});
  }
  if (found.empty()) t.skip("it has no path from the host's memory to another one and back");
  return found;
}

void catching(const std::function<void()> &body) {
  try {
    body();
  } catch (const Stop &) {                       // reported before
  }
}

}  // namespace

CONFORM_CASE(D, 30, threads, a_queue_for_each_thread) {
  Plugin p(t);
  Devices devices(t, p);
  const auto ways = ways_of(t, devices);
  constexpr size_t kThreads = 4;
  std::vector<Part> parts(kThreads);
  for (size_t k = 0; k < kThreads; ++k) {
    const auto &[there, back] = ways[k % ways.size()];
    const uint64_t n = std::min(devices.spaces()[there.dst].desc.capacity / 32, uint64_t{20'000});
    parts[k].there = std::make_unique<DeviceQueue>(devices, there.device);
    parts[k].back = std::make_unique<DeviceQueue>(devices, back.device);
    parts[k].in = std::make_unique<Store>(devices, there.src, n);
    parts[k].place = std::make_unique<Store>(devices, there.dst, n);
    parts[k].out = std::make_unique<Store>(devices, there.src, n);
    parts[k].random = Random(t.random().next());
  }
  std::atomic<size_t> left{kThreads};
  t.doing("copies by %zu threads, each on its own queues, beside alloc, free, queue_open and queue_close", kThreads);
  std::vector<std::thread> threads;
  const uint64_t rounds = t.scaled(60, 1500);
  for (size_t k = 0; k < kThreads; ++k)
    threads.emplace_back([&, k] {
      Part &m = parts[k];
      const auto &[there, back] = ways[k % ways.size()];
      catching([&] {
        for (uint64_t round = 0; round < rounds && t.has_time() && !t.failed(); ++round) {
          m.in->fill(m.random);
          std::memcpy(reinterpret_cast<void *>(m.in->at().base), m.in->model.data(), m.in->bytes());
          const consort_copy c = random_copy(m.random, there, *m.in, *m.place, true);
          apply(c, *m.in, *m.place);
          t.need(m.there->run(copy_op(c)) == CONSORT_OK, "a copy beside others ends with an error");
          const consort_copy d = random_copy(m.random, back, *m.place, *m.out, true);
          apply(d, *m.place, *m.out);
          t.need(m.back->run(copy_op(d)) == CONSORT_OK, "a copy beside others ends with an error");
          t.need(!std::memcmp(reinterpret_cast<void *>(m.out->at().base), m.out->model.data(), m.out->bytes()),
                 "a copy beside those of other threads brings wrong bytes");
        }
      });
      left.fetch_sub(1);
    });
  const uint32_t space = ways[0].first.dst;
  const Devices::Space &s = devices.spaces()[space];
  void *const device = devices.all()[ways[0].first.device].handle;
  while (left.load() > 0) {                      // [control], one thread at a time
    consort_addr a{};
    if (s.is_own() && devices.ops().alloc(device, space, 4096, s.desc.align, 0, &a) >= 0) devices.ops().free(device, space, a, 4096);
    consort_queue_desc desc{};
    desc.size = sizeof desc;
    void *q = nullptr;
    if (devices.ops().queue_open(device, CONSORT_NONE, 999, &desc, &q) >= 0) devices.ops().queue_close(q);
    std::this_thread::yield();
  }
  for (auto &thread : threads) thread.join();
}

CONFORM_CASE(D, 31, threads, a_queue_goes_from_thread_to_thread) {
  Plugin p(t);
  Devices devices(t, p);
  DeviceQueue q(devices, 0);
  std::mutex mutex;                              // serialises as [queue] demands
  std::atomic<uint64_t> sent{0};
  const uint64_t all = t.scaled(1500, 30'000);
  std::vector<std::thread> threads;
  t.doing("submit and poll of one queue by three threads, one at a time");
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      catching([&] {
        for (uint64_t refused = 0; t.has_time() && !t.failed();) {
          const std::lock_guard lock(mutex);
          if (sent >= all) return;
          const consort_op mark = op_of(CONSORT_OP_MARK);
          const bool idle = q.in_flight() == 0, accepted = q.submit(&mark, 1);
          sent += accepted;
          refused = accepted || !idle ? 0 : refused + 1;
          t.need(refused < 100, "a thread that comes after others is refused again and again, though nothing is in flight");
          q.poll(3);
        }
      });
    });
  for (auto &thread : threads) thread.join();
  q.wait();
}

CONFORM_CASE(D, 35, threads, hot_calls_do_not_block) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(3)) {
    DeviceQueue q(devices, l.device);
    Store src(devices, l.src, std::min(devices.spaces()[l.src].desc.capacity / 32, uint64_t{40'000})), dst(devices, l.dst, src.bytes());
    q.run(copy_op(random_copy(t.random(), l, src, dst, true)));
    Calls::forget();
    for (int k = 0; k < 200; ++k) {
      q.send(k % 2 ? op_of(CONSORT_OP_MARK) : copy_op(random_copy(t.random(), l, src, dst, true)));
      if (devices.ops().arm) {
        const Inside inside(Tag::kQueue, "arm");
        devices.ops().arm(q.raw());
      }
      if (k % 5 == 0) q.wait();
    }
    q.wait();
    for (const Calls::Seen &s : Calls::seen())
      if ((s.kind == Calls::kBlocking || s.kind == Calls::kThread) && s.tag == Tag::kQueue)
        t.check(false, "%s, which is [queue], calls %s (%llu times)", s.function.c_str(), s.name.c_str(),
                static_cast<unsigned long long>(s.count));
  }
}

CONFORM_CASE(P, 51, threads, threads_of_a_driver_ask_nothing) {
  if (t.subject().note.kind != CONSORT_KIND_DRIVER) t.skip("it is no driver: its functions are called by the kit's threads alone");
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(2)) {
    DeviceQueue q(devices, l.device);
    Store src(devices, l.src, std::min(devices.spaces()[l.src].desc.capacity / 32, uint64_t{4096})), dst(devices, l.dst, src.bytes());
    for (int k = 0; k < 10; ++k) q.run(copy_op(random_copy(t.random(), l, src, dst, true)));
  }
  for (uint32_t d = 0; d < devices.all().size() && d < 3; ++d) DeviceQueue(devices, d).run(op_of(CONSORT_OP_MARK));
  for (const std::string &what : p.host().complaints()) t.check(what.find("thread of the plugin") == what.npos, "%s", what.c_str());
}

CONFORM_CASE(D, 36, threads, hot_calls_ask_nothing) {
  Plugin p(t);
  Devices devices(t, p);
  for (uint32_t d = 0; d < devices.all().size() && d < 3; ++d) {
    DeviceQueue q(devices, d);
    for (int k = 0; k < 100; ++k) q.send(op_of(CONSORT_OP_MARK)), q.poll();
    q.wait();
  }
  for (const std::string &what : p.host().complaints()) t.check(what.find("which is [") == what.npos, "%s", what.c_str());
}

}  // namespace conform

// Copies of sizes at which implementations split, align or round; and the bytes present when a copy is reported.
#include <algorithm>
#include <cstring>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

constexpr uint64_t kPage = 4096, kMiB = uint64_t{1} << 20;
constexpr uint64_t kRuns[] = {1, 7, 63, 64, 65, kPage - 1, kPage, kPage + 1, 65'536, kMiB - 1, kMiB, kMiB + 1};

struct Edge {
  uint64_t run, rows;
  int64_t src_step, dst_step;
};
// One run of each size, and some rows with gaps.
std::vector<Edge> edges() {
  std::vector<Edge> all;
  for (const uint64_t run : kRuns) all.push_back({run, 1, 0, 0});
  for (const uint64_t run : {uint64_t{1}, uint64_t{7}, uint64_t{63}, uint64_t{65}, kPage + 1})
    for (const int64_t gap : {1, 7, 64}) {
      const auto step = static_cast<int64_t>(run) + gap;
      all.push_back({run, 5, step, step + gap});
    }
  all.push_back({65, 3, 40'000, 70'000});          // far apart
  all.push_back({65, 4, 100, -100});
  return all;
}

bool takes(const Devices::Link &l, const Edge &e, uint64_t room) {
  const auto is_whole = [&](int64_t n) { return static_cast<uint64_t>(n < 0 ? -n : n) % l.grain() == 0; };
  const uint64_t reach = (e.rows - 1) * static_cast<uint64_t>(std::max(std::abs(e.src_step), std::abs(e.dst_step))) + e.run + l.grain();
  return e.run % l.grain() == 0 && is_whole(e.src_step) && is_whole(e.dst_step) && e.run <= l.longest() && reach <= room &&
         (e.rows == 1 || l.desc.flags & (CONSORT_LK_2D | CONSORT_LK_3D));
}

consort_copy copy_of(const Devices::Link &l, const Edge &e, const Store &src, const Store &dst) {
  const uint64_t back = e.dst_step < 0 ? (e.rows - 1) * static_cast<uint64_t>(-e.dst_step) : 0;
  return {l.src, l.dst, src.at(l.grain()), dst.at(back), e.run, {e.rows, 1}, {e.src_step, 0}, {e.dst_step, 0}};
}

uint64_t room_of(const Devices &devices, const Devices::Link &l, const Edge &e) {
  uint64_t room = 2 * kMiB;
  for (const uint32_t s : {l.src, l.dst}) room = std::min(room, devices.spaces()[s].desc.capacity / 8);
  const uint64_t reach = (e.rows - 1) * static_cast<uint64_t>(std::max(std::abs(e.src_step), std::abs(e.dst_step))) + e.run;
  return std::min(room, (reach + 200 + l.grain()) / l.grain() * l.grain());
}

void for_each_edge(Trial &t, bool rows, void (*body)(Trial &, Devices &, const Devices::Link &, const Edge &)) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Devices::Link &l : devices.some_links(t.scaled(3, 12)))
    for (const Edge &e : edges()) {
      if ((e.rows > 1) != rows || !takes(l, e, room_of(devices, l, e))) continue;
      ++tried;
      body(t, devices, l, e);
      if (t.failed()) return;
    }
  if (!tried) t.skip("none of its links takes such copies");
}

void copy_and_compare(Trial &t, Devices &devices, const Devices::Link &l, const Edge &e) {
  const uint64_t room = room_of(devices, l, e);
  DeviceQueue q(devices, l.device);
  Store src(devices, l.src, room), dst(devices, l.dst, room);
  const consort_copy c = copy_of(l, e, src, dst);
  const std::string what = conform::text_of(c);
  t.doing("%s", what.c_str());
  t.need(q.run(copy_op(c)) == CONSORT_OK, "%s fails: %s", what.c_str(), devices.plugin().host().failure().c_str());
  apply(c, src, dst);
  dst.holds(what.c_str());
  src.holds("a copy from it");
}

// The bytes must be there when the copy is reported, and its source may be written then. First one copy at a time; then
// several, each looked at in the poll that reports it while others are in flight.
void copy_and_go_on(Trial &t, Devices &devices, const Devices::Link &l, const Edge &e) {
  constexpr size_t kMost = 4;
  const uint64_t room = room_of(devices, l, e);
  DeviceQueue q(devices, l.device);
  Store src(devices, l.src, room);
  std::vector<std::unique_ptr<Store>> dst;
  for (size_t k = 0; k < kMost; ++k) dst.push_back(std::make_unique<Store>(devices, l.dst, room));
  const std::string what = conform::text_of(copy_of(l, e, src, *dst[0]));
  const auto plain = [&](uint32_t space) { return devices.spaces()[space].is_plain() || !devices.spaces()[space].is_own(); };
  for (const size_t n : {size_t{1}, size_t{1}, kMost, kMost}) {
    if (t.failed()) return;
    if (q.accepted()) src.fill(t.random()), src.write();
    t.doing("%zu times %s, and its source is written when it is reported", n, what.c_str());
    for (size_t k = 0; k < n; ++k) apply(copy_of(l, e, src, *dst[k]), src, *dst[k]);
    const size_t first = q.accepted();
    size_t seen = first;
    const auto look = [&] {
      for (; seen < q.order().size(); ++seen) {
        const size_t k = q.order()[seen];
        t.need(q[k].done.status == CONSORT_OK, "%s fails: %s", what.c_str(), devices.plugin().host().failure().c_str());
        t.need(dst[k - first]->has_arrived(copy_of(l, e, src, *dst[k - first])), "%s is reported before its bytes are there", what.c_str());
      }
    };
    for (size_t k = 0; k < n; ++k) {
      q.send(copy_op(copy_of(l, e, src, *dst[k])));
      look();
    }
    for (uint64_t idle = 0; q.in_flight() && !t.failed(); look())
      if (q.poll(1)) idle = 0;
      else q.rest(&idle);
    if (plain(l.src)) std::memset(reinterpret_cast<void *>(src.at().base + src.at().off), 0x5A, room);
    for (size_t k = 0; k < n; ++k) dst[k]->holds((what + ", after whose report its source was written").c_str());
  }
}

}  // namespace

CONFORM_CASE(D, 8, behaviour, one_run_of_any_size) { for_each_edge(t, false, copy_and_compare); }
CONFORM_CASE(D, 9, behaviour, rows_with_gaps) { for_each_edge(t, true, copy_and_compare); }
CONFORM_CASE(D, 26, behaviour, runs_are_there_when_reported) { for_each_edge(t, false, copy_and_go_on); }
CONFORM_CASE(D, 26, behaviour, rows_are_there_when_reported) { for_each_edge(t, true, copy_and_go_on); }

CONFORM_CASE(D, 25, behaviour, what_was_copied_outlives_its_queue) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(t.scaled(6, 20))) {
    const uint64_t n = std::min({l.longest(), uint64_t{10'000}, devices.spaces()[l.src].desc.capacity / 8, devices.spaces()[l.dst].desc.capacity / 8}) /
                       l.grain() * l.grain();
    for (int round = 0; round < 3 && n > 0 && !t.failed(); ++round) {
      Store src(devices, l.src, n), dst(devices, l.dst, n);
      const consort_copy c{l.src, l.dst, src.at(), dst.at(), n, {1, 1}, {0, 0}, {0, 0}};
      {
        DeviceQueue q(devices, l.device);
        t.need(q.run(copy_op(c)) == CONSORT_OK, "%s fails: %s", conform::text_of(c).c_str(), p.host().failure().c_str());
      }
      apply(c, src, dst);
      dst.holds("the queue that copied them was closed");
    }
  }
}

}  // namespace conform

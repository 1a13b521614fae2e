// program.hpp — a small program over vectors, a matrix and their parts, on a machine of choice. Its result is one list
// of numbers, independent of where and in which order its tasks ran.
#pragma once
#include <consort/partition.h>

#include "../api/harness.hpp"
#include "../support/folder.hpp"

namespace consort_test {

enum class On { kCores, kSim, kVirtual, kStream };
struct Place {
  On on;
  const char *scheduler;
};

// The lines of the runtime's log, by level. Any thread may log.
class Lines {
 public:
  static void write(void *user, int32_t level, const char *text) {
    auto &me = *static_cast<Lines *>(user);
    const std::lock_guard lock(me.mutex_);
    me.all_ += std::to_string(level) + " " + text + "\n";
  }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  bool has(const std::string &part) const { return all().find(part) != std::string::npos; }

 private:
  mutable std::mutex mutex_;
  std::string all_;
};

inline Pairs machine(const Place &s) {
  static const std::string stream = "+" CONSORT_TEST_PLUGIN_DIR "/stream.so";
  Pairs p = {{"scheduler", s.scheduler}, {"keep_models", "no"}, {"log", "info"}};
  switch (s.on) {
    case On::kCores:
      p.insert(p.end(), {{"drivers", "cpu"}, {"workers", "3"}, {"cpu.topology", kFourCores}});
      break;
    case On::kSim:
      p.insert(p.end(), {{"drivers", "cpu,sim"},
                         {"cpu.topology", kFourCores},
                         {"cpu.workers", "2"},
                         {"sim.devices", "2"},
                         {"sim.latency", "1us"},
                         {"sim.memory", "4M"}});
      break;
    case On::kVirtual:
      p.insert(p.end(), {{"drivers", "sim"},
                         {"time", "virtual"},
                         {"sim.cores", "2"},
                         {"sim.devices", "2"},
                         {"sim.memory", "4M"},
                         {"sim.usual", "1ms"}});
      break;
    case On::kStream:
      p.insert(p.end(), {{"plugins", stream.c_str()},
                         {"drivers", "cpu, stream"},
                         {"cpu.workers", "2"},
                         {"cpu.topology", kFourCores},
                         {"stream.space", "apart"},
                         {"stream.units", "2"}});
  }
  return p;
}

struct Outcome {
  consort_status started = CONSORT_OK, ran = CONSORT_OK, stopped = CONSORT_OK;
  std::string error;              // of the first that is not OK
  std::vector<uint64_t> numbers;  // empty: something failed
};

inline consort_status mix(const consort_call &c) {
  const auto step = value<uint64_t>(c, 0);
  if (c.nviews > 1) {  // a matrix' part: lines with a gap between
    const auto &m = *static_cast<const consort_matrix_view *>(c.views[1]);
    for (uint64_t y = 0; y < m.ny; ++y)
      for (uint64_t x = 0; x < m.nx; ++x) {
        uint64_t &e = static_cast<uint64_t *>(consort_ptr(m.addr))[y * m.ld + x];
        e = e * 5 + step;
      }
  }
  const auto &v = *static_cast<const consort_vector_view *>(c.views[0]);
  for (uint64_t i = 0; i < v.n; ++i) {
    uint64_t &e = static_cast<uint64_t *>(consort_ptr(v.addr))[i];
    e = e * 3 + step + i;
  }
  return CONSORT_OK;
}

inline Outcome run_program(const Place &place, const Pairs &more, Lines *lines, int rounds = 12) {
  Outcome o;
  Pairs pairs = machine(place);
  pairs.insert(pairs.end(), more.begin(), more.end());
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = pairs.data(), s.nset = static_cast<uint32_t>(pairs.size());
  s.log = Lines::write, s.log_user = lines;
  consort_runtime *rt = nullptr;
  const auto keep = [&](consort_status status, consort_status *where) {
    if (status < 0 && *where >= 0) *where = status;
    if (status < 0 && o.error.empty()) o.error = consort_error();
    return status >= 0;
  };
  if (!keep(consort_start(&s, &rt), &o.started)) return o;
  {
    const std::lock_guard lock(watch().mutex);
    watch().runtimes.push_back(rt);
  }
  std::vector<uint64_t> a(40, 1), b(8, 2), m(10 * 8, 3);
  consort_data_id va{0}, vb{0}, mm{0};
  consort_data_id part[4] = {}, tile[4] = {};
  const auto body = +[](const consort_call *c) { return mix(*c); };
  const consort_impl impls[] = {{"cpu", body, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                {place.on == On::kStream ? "stream" : "gpu", place.on == On::kStream ? body : nullptr,
                                 nullptr, nullptr, place.on == On::kStream ? nullptr : "cl",
                                 place.on == On::kStream ? nullptr : "__kernel void k() {}", nullptr, 0}};
  const auto set_up = [&] {
    if (!keep(consort_register_vector(rt, a.data(), a.size(), sizeof a[0], &va), &o.ran)) return false;
    if (!keep(consort_register_vector(rt, b.data(), b.size(), sizeof b[0], &vb), &o.ran)) return false;
    if (!keep(consort_register_matrix(rt, m.data(), 8, 8, 10, sizeof m[0], &mm), &o.ran)) return false;
    const consort_split four{4, 0};
    const consort_tiles tiles{2, 2};
    consort_plan_desc d = CONSORT_PLAN_INIT;
    consort_plan_id plan{0};
    d.filter = "blocks", d.params = &four, d.params_bytes = sizeof four;
    if (!keep(consort_plan_create(rt, va, &d, &plan), &o.ran)) return false;
    if (!keep(static_cast<consort_status>(consort_plan_parts(rt, plan, part, 4)), &o.ran)) return false;
    d.filter = "tiles", d.params = &tiles, d.params_bytes = sizeof tiles;
    if (!keep(consort_plan_create(rt, mm, &d, &plan), &o.ran)) return false;
    return keep(static_cast<consort_status>(consort_plan_parts(rt, plan, tile, 4)), &o.ran);
  };
  if (set_up()) {
    const auto mixing = codelet_of(rt, "mix", {impls, place.on == On::kCores ? 1u : 2u});
    consort_info info{};
    info.size = sizeof info;
    keep(consort_get_info(rt, &info), &o.ran);
    const uint32_t last = info.nworkers - 1;  // a device's, where there are devices
    for (int r = 0; r < rounds && o.ran >= 0; ++r) {
      for (uint32_t i = 0; i < 4; ++i) {
        keep(Desc(mixing).rw(part[i]).arg(uint64_t(r)).to(rt), &o.ran);
        keep(Desc(mixing).rw(part[i]).rw(tile[(i + 1) % 4]).arg(uint64_t(r + 1)).to(rt), &o.ran);
      }
      keep(Desc(mixing).rw(vb).arg(uint64_t(r)).to(rt), &o.ran);
      keep(Desc(mixing).rw(vb).arg(uint64_t(r)).on(last).to(rt), &o.ran);
      keep(Desc(mixing).rw(va).arg(uint64_t(r)).to(rt), &o.ran);
    }
    keep(consort_wait_all(rt, kLong, 0), &o.ran);
    for (const consort_data_id x : {va, vb, mm}) keep(consort_unregister(rt, x), &o.ran);
  }
  {
    const std::lock_guard lock(watch().mutex);
    std::erase(watch().runtimes, rt);
  }
  keep(consort_stop(rt), &o.stopped);
  if (o.ran < 0) return o;
  for (const auto *v : {&a, &b, &m}) o.numbers.insert(o.numbers.end(), v->begin(), v->end());
  return o;
}

inline const std::vector<Place> &places() {
  static const std::vector<Place> all = {{On::kCores, "eager"}, {On::kCores, "lws"},    {On::kCores, "dmda"},
                                         {On::kSim, "dmda"},    {On::kSim, "eager"},    {On::kVirtual, "dmda"},
                                         {On::kVirtual, "lws"}, {On::kStream, "eager"}, {On::kStream, "lws"},
                                         {On::kStream, "dmda"}};
  return all;
}
inline std::string text_of(const Place &s) {
  constexpr const char *names[] = {"cores", "sim", "virtual", "stream"};
  return std::string(s.scheduler) + " on " + names[static_cast<int>(s.on)];
}

}  // namespace consort_test

// device_home.hpp — a machine for tests of data whose home is on a device: cores, and simulated devices.
#pragma once
#include <consort/memory.h>

#include <numeric>

#include "harness.hpp"

namespace consort_test {

using Words = std::vector<uint64_t>;

// One core or two, and simulated devices; a device's memory is the process's, kept apart, so a vector stands for it.
struct Machine {
  Bodies bodies;
  std::unique_ptr<Rt> rt;
  std::vector<uint32_t> cores, devices, space;  // workers; the space of each device
  uint32_t host = 0;                            // the space of the cores
  consort_codelet_id add{0}, sum{0};
  explicit Machine(const Pairs &more = Pairs{}, bool is_virtual = false) {
    Pairs pairs = is_virtual ? Pairs{{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "2"}, {"sim.usual", "1ms"}}
                             : Pairs{{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"}, {"sim.latency", "1us"}};
    pairs.insert(pairs.end(), {{"sim.devices", "2"}, {"log", "error"}});
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    for (uint32_t w = 0; w < info.nworkers; ++w) {
      consort_worker_info worker{};
      worker.size = sizeof worker;
      need(consort_get_worker(*rt, w, &worker), "worker");
      if (worker.klass == std::string("gpu")) devices.push_back(w), space.push_back(worker.space);
      else cores.push_back(w), host = worker.space;
    }
    add = on_any("add", [](const consort_call &c) {
      const auto &v = *static_cast<const consort_vector_view *>(c.views[0]);
      for (uint64_t i = 0; i < v.n; ++i) pointer<uint64_t>(c, 0)[i] += value<uint64_t>(c, 0);
      return CONSORT_OK;
    });
    sum = on_any("sum", [](const consort_call &c) {
      const auto &v = *static_cast<const consort_vector_view *>(c.views[0]);
      *value<uint64_t *>(c, 0) = std::accumulate(pointer<uint64_t>(c, 0), pointer<uint64_t>(c, 0) + v.n, uint64_t{0});
      return CONSORT_OK;
    });
  }
  ~Machine() { rt.reset(); }  // before the bodies
  operator consort_runtime *() const { return *rt; }
  consort_codelet_id on_any(const char *name, Body body) {
    kept.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impls[] = {{"cpu", run_body, kept.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", run_body, kept.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(*rt, name, impls);
  }
  consort_status try_born(Words &there, uint32_t device, consort_data_id *id, const char *name = "x") {
    const consort_vector_args a{there.data(), there.size(), sizeof(uint64_t)};
    const consort_data_desc d{sizeof d, 0, "vector", &a, sizeof a, name};
    return consort_register_in(*rt, &d, space[device], id);
  }
  consort_data_id born(Words &there, uint32_t device, const char *name = "x") {
    consort_data_id id{0};
    need(try_born(there, device, &id, name), "register_in");
    return id;
  }
  uint64_t bytes(uint32_t from, uint32_t to) const {
    consort_link_use use = CONSORT_LINK_USE_INIT;
    return consort_get_link_use(*rt, from, to, &use) == CONSORT_OK ? use.bytes : 0;
  }
  uint64_t moved() const {  // over all links, once nothing runs
    need(consort_wait_all(*rt, kLong, 0), "wait");
    return moved_now();
  }
  uint64_t moved_now() const {
    uint64_t all = 0;
    for (uint32_t from = 0; from < 3; ++from)
      for (uint32_t to = 0; to < 3; ++to) all += bytes(from, to);
    return all;
  }
  consort_space_use use(uint32_t s) const {
    consort_space_use u = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(*rt, s, &u), "space use");
    return u;
  }
  bool is_in(consort_data_id x, uint32_t s) const {
    uint32_t bits = 0;
    need(consort_data_in(*rt, x, s, &bits), "data_in");
    return bits & CONSORT_IN_VALID;
  }
  std::vector<std::unique_ptr<Body>> kept;
};

}  // namespace consort_test

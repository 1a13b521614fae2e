// memory_machine.hpp — a machine with two memories for tests: workers at home, and the stream double with a space of its own.
#pragma once
#include <consort/memory.h>

#include <memory>

#include "../api/harness.hpp"
#include "../plugins/stream/stream.h"

namespace consort_test {

struct MemoryMachine {
  uint64_t counters[STREAM_COUNTERS] = {};
  std::string address, plugin = "+" CONSORT_TEST_PLUGIN_DIR "/stream.so";
  Pairs pairs;
  std::unique_ptr<Rt> rt;
  Bodies bodies;
  explicit MemoryMachine(const Pairs &more = {}, const char *workers = "2") {
    char text[32];
    std::snprintf(text, sizeof text, "%p", static_cast<void *>(counters));
    address = text;
    pairs = {{"plugins", plugin.c_str()}, {"drivers", "cpu, stream"}, {"cpu.workers", workers}, {"cpu.topology", kFourCores},
             {"stream.counters", address.c_str()}, {"stream.space", "apart"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
  }
  operator consort_runtime *() const { return *rt; }
  consort_codelet_id on(const char *klass, const char *second, Body body) {
    static std::vector<std::unique_ptr<Body>> all;
    all.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impls[] = {{klass, run_body, all.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
                                  {second, run_body, all.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(*rt, "body", {impls, second ? 2u : 1u});
  }
  std::string space_name() const {
    consort_space_info info{sizeof info, 0, nullptr, nullptr, nullptr, 0, 0, 0};
    need(consort_get_space(*rt, 1, &info), "space");
    return info.name;
  }
};

inline consort_space_use use_of(consort_runtime *rt, uint32_t space) {
  consort_space_use use = CONSORT_SPACE_USE_INIT;
  need(consort_get_space_use(rt, space, &use), "space use");
  return use;
}

inline consort_status triple(const consort_call &c) {
  uint64_t *x = pointer<uint64_t>(c, 0);
  *x = *x * 3 + 1;
  return CONSORT_OK;
}

}  // namespace consort_test

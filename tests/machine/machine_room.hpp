// machine_room.hpp — the state of a room on a machine of the driver cpu, without a Runtime: settings, plugins, topology.
//
// RoomOn<S> is an S, the struct of a room (docs/decisions/036-floors.md). Each room above has a header of this kind,
// which adds the fields of its struct. So a test is linked with its room and those below alone. One thread steps the
// workers.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/platform.hpp"

namespace consort_test {

using Pairs = std::vector<consort_setting>;

// For what a test can not go on without.
template <class R>
auto must(R result) {
  if (!result) {
    std::fprintf(stderr, "\n%s\n", result.error().text.c_str());
    std::abort();
  }
  if constexpr (!std::is_same_v<R, consort::Result<void>>) return std::move(*result);
}

// The given settings, and two cores with a manual pump where these say nothing else.
inline std::shared_ptr<consort::Config> config_of(Pairs pairs) {
  for (const consort_setting &s : Pairs{{"workers", "2"}, {"cpu.topology", "pack:1 core:4 pu:1"}, {"pump", "manual"},
                                        {"keep_models", "no"}})
    if (std::none_of(pairs.begin(), pairs.end(), [&](const consort_setting &p) { return !std::strcmp(p.key, s.key); }))
      pairs.push_back(s);
  consort_settings all = CONSORT_SETTINGS_INIT;
  all.set = pairs.data();
  all.nset = static_cast<uint32_t>(pairs.size());
  return must(consort::Config::load(&all));
}

template <class S>
class RoomOn : public S {
 public:
  template <class... A>
  explicit RoomOn(const Pairs &pairs, A... more) : S(std::move(more)..., config_of(pairs)) {}

  bool logged(std::string_view words) const {  // [any] has a line with these words been logged?
    const std::lock_guard lock(lines_mutex_);
    return std::any_of(lines_.begin(), lines_.end(), [&](const auto &l) { return l.find(words) != l.npos; });
  }

 protected:
  // user: what hosts of plugins carry
  void open_machine(void *user) {
    this->log_to = {log, this, consort::kLogInfo};
    this->manual = true;
    const consort::HostHooks hooks{user, nullptr, nullptr, nullptr, nullptr};
    this->registry = must(consort::Registry::open(this->config, hooks, log, this, nullptr, 0));
    this->topology = must(consort::Topology::open({must(this->registry->load(CONSORT_KIND_DRIVER, "cpu"))}, {}));
  }

 private:
  static void log(void *user, int32_t, const char *utf8) {
    auto *me = static_cast<RoomOn *>(user);
    const std::lock_guard lock(me->lines_mutex_);
    me->lines_.push_back(utf8);
  }
  mutable std::mutex lines_mutex_;
  std::vector<std::string> lines_;
};

struct MachineRoom : RoomOn<consort::Platform> {
  explicit MachineRoom(const Pairs &pairs = {}) : RoomOn(pairs) { open_machine(nullptr); }
};

}  // namespace consort_test

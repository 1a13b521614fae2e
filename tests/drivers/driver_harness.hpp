// driver_harness.hpp — a driver under test. It opens the devices and asks for spaces, links and units in the order of
// driver.h, as the kernel does. Owned by one test.
#pragma once
#include <consort/driver.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/plugin_host.hpp"

namespace consort_test {

class DriverHarness {
 public:
  // foreign: spaces of other drivers, which get the ids behind this driver's own.
  explicit DriverHarness(const std::string &name, PluginHost::Params params = {},
                         const std::string &folder = CONSORT_PLUGIN_DIR, std::vector<consort_space_desc> foreign = {})
      : plugin(name, std::move(params), folder) {
    if (!plugin.ready()) {
      ADD_FAILURE() << plugin.failure();
      return;
    }
    ops = plugin.ops<consort_driver_ops>();
    status = ops->open(plugin.self(), 0, kToken, &dev);
    if (status < 0) return;
    for (uint32_t i = 0;; ++i) {
      consort_space_desc s{};
      s.size = sizeof s;
      s.id = kFirstSpace + i;
      if (ops->space(dev, i, &s) != CONSORT_OK) break;
      spaces.push_back(s);
    }
    own_spaces = spaces.size();
    for (consort_space_desc s : foreign) {
      s.size = sizeof s;
      s.id = kFirstSpace + static_cast<uint32_t>(spaces.size());
      spaces.push_back(s);
    }
    for (const auto &src : spaces)
      for (const auto &dst : spaces) {
        consort_link_desc l{};
        l.size = sizeof l;
        if (ops->link(dev, &src, &dst, &l) != CONSORT_OK) l.size = 0;
        links.push_back(l);
      }
    for (uint32_t i = 0;; ++i) {
      consort_unit_desc u{};
      u.size = sizeof u;
      u.id = i;
      u.space = CONSORT_NONE;
      if (ops->unit(dev, i, &u) != CONSORT_OK) break;
      units.push_back(u);
    }
  }
  ~DriverHarness() {
    for (void *q : queues) ops->queue_close(q);
    if (dev) ops->close(dev);
  }

  void *open_queue(uint64_t token = 1, uint32_t unit = 0) {
    void *q = nullptr;
    desc = {};
    desc.size = sizeof desc;
    EXPECT_EQ(ops->queue_open(dev, unit, token, &desc, &q), CONSORT_OK) << plugin.failure();
    queues.push_back(q);
    return q;
  }
  // Polls until n have come.
  std::vector<consort_done> collect(void *q, size_t n) {
    std::vector<consort_done> all;
    consort_done some[8];
    while (all.size() < n) {
      const uint32_t k = ops->poll(q, some, 8);
      all.insert(all.end(), some, some + k);
    }
    return all;
  }
  const consort_link_desc &link(size_t src, size_t dst) const { return links[src * spaces.size() + dst]; }

  static constexpr uint64_t kToken = 77;
  static constexpr uint32_t kFirstSpace = 3;
  PluginHost plugin;
  const consort_driver_ops *ops = nullptr;
  consort_status status = CONSORT_OK;
  void *dev = nullptr;
  size_t own_spaces = 0;
  std::vector<consort_space_desc> spaces;
  std::vector<consort_link_desc> links;
  std::vector<consort_unit_desc> units;
  consort_queue_desc desc{};
  std::vector<void *> queues;
};

inline consort_op op_of(uint16_t kind, uint64_t cookie) {
  consort_op o{};
  o.kind = kind;
  o.cookie = cookie;
  o.codelet = o.impl = CONSORT_NONE;
  return o;
}

}  // namespace consort_test

// layout_harness.hpp — a data interface under test: shapes, views on plain memory, and runs that are carried out here.
#pragma once
#include <consort/interface.h>
#include <consort/layouts.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/plugin_host.hpp"

namespace consort_test {

struct Pod {  // a shape or a view: as large as the kernel allows, filled so that a missing store shows
  alignas(16) unsigned char bytes[256];
  Pod() { std::memset(bytes, 0xee, sizeof bytes); }
  operator void *() { return bytes; }
  operator const void *() const { return bytes; }
};

class LayoutHarness {
 public:
  explicit LayoutHarness(const std::string &name, const std::string &folder = CONSORT_PLUGIN_DIR)
      : plugin(name, {}, folder) {
    if (plugin.ready()) ops = plugin.ops<consort_interface_ops>();
    else ADD_FAILURE() << plugin.failure();
  }
  template <class Args>
  consort_status make(const Args &args, Pod &shape, Pod &view) const {
    return ops->shape(&args, sizeof args, shape, view);
  }

  // A replica as the kernel makes one: its blocks one after the other in `memory`, which grows as needed.
  Pod replica(const Pod &shape, std::vector<unsigned char> &memory) const {
    consort_space_desc space{};
    space.size = sizeof space;
    consort_block blocks[16];
    consort_addr at[17] = {};
    const uint32_t n = ops->blocks(shape, &space, blocks, 16);
    EXPECT_LE(n, 16u);
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; ++i) all += blocks[i].bytes;
    memory.assign(all, 0);
    all = 0;
    for (uint32_t i = 0; i < n; all += blocks[i++].bytes) at[i] = {reinterpret_cast<uint64_t>(memory.data()), all};
    Pod view;
    EXPECT_EQ(ops->view(shape, &space, at, n, view), CONSORT_OK);
    EXPECT_EQ(ops->view(shape, &space, at, n + 1, view), CONSORT_E_INVAL);
    EXPECT_TRUE(n == 0 || ops->view(shape, &space, at, n - 1, view) == CONSORT_E_INVAL);
    EXPECT_EQ(ops->view(shape, &space, at, n, view), CONSORT_OK);
    return view;
  }

  // Which bytes of `memory` the runs touch, on the given side, how often each.
  std::vector<int> touched(const Pod &shape, const Pod &src, const Pod &dst, bool of_src,
                           const std::vector<unsigned char> &memory) const {
    std::vector<int> map(memory.size());
    for (const consort_run &r : runs(shape, src, dst))
      each(r, [&](char *s, char *d, uint64_t n) {
        const char *p = of_src ? s : d;
        for (uint64_t i = 0; i < n; ++i) ++map.at(p + i - reinterpret_cast<const char *>(memory.data()));
      });
    return map;
  }
  void copy(const Pod &shape, const Pod &src, const Pod &dst) const {
    for (const consort_run &r : runs(shape, src, dst))
      each(r, [](char *s, char *d, uint64_t n) { std::memcpy(d, s, n); });
  }
  std::vector<consort_run> runs(const Pod &shape, const Pod &src, const Pod &dst) const {
    std::vector<consort_run> r(ops->runs(shape, src, dst, nullptr, 0));
    EXPECT_EQ(ops->runs(shape, src, dst, r.data(), static_cast<uint32_t>(r.size())), r.size());
    return r;
  }
  std::string describe(const Pod &shape) const {
    std::string text(ops->describe(shape, nullptr, 0), 0);
    std::vector<char> room(text.size() + 1, 'x');
    EXPECT_EQ(ops->describe(shape, room.data(), static_cast<uint32_t>(room.size())), text.size());
    EXPECT_EQ(room.back(), 0);
    char small[5];
    EXPECT_EQ(ops->describe(shape, small, 5), text.size());
    EXPECT_EQ(std::string(small), std::string(room.data()).substr(0, 4));
    return room.data();
  }
  std::vector<unsigned char> wire(const Pod &shape) const {
    std::vector<unsigned char> w(ops->encode(shape, nullptr, 0));
    EXPECT_EQ(ops->encode(shape, w.data(), static_cast<uint32_t>(w.size())), w.size());
    return w;
  }

  PluginHost plugin;
  const consort_interface_ops *ops = nullptr;

 private:
  template <class F>
  static void each(const consort_run &r, F f) {
    for (uint64_t z = 0; z < r.n[1]; ++z)
      for (uint64_t y = 0; y < r.n[0]; ++y)
        f(reinterpret_cast<char *>(r.src.base + r.src.off) + int64_t(z) * r.src_step[1] + int64_t(y) * r.src_step[0],
          reinterpret_cast<char *>(r.dst.base + r.dst.off) + int64_t(z) * r.dst_step[1] + int64_t(y) * r.dst_step[0],
          r.run);
  }
};

}  // namespace consort_test

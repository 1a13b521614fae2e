// disk_machine.hpp — one of the drivers of files under test, with a folder of its own and the host's memory beside it.
#pragma once
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "drivers/driver_harness.hpp"
#include "drivers/ram.hpp"
#include "support/folder.hpp"

namespace consort_test {

using Params = PluginHost::Params;

// Where files are on a disk, on most machines.
struct DiskFolder : Folder {
  explicit DiskFolder(const char *in = "/var/tmp") : Folder("disk", in) {}
};

// Why a driver cannot be tried here; "": it can.
inline std::string missing(const std::string &driver, const Params &p = {}) {
  if (!std::filesystem::exists(CONSORT_PLUGIN_DIR "/" + driver + ".so")) return driver + " was not built here";
  const PluginHost probe(driver, p);
  return probe.ready() ? "" : probe.failure();
}

struct Box {  // a copy's shape: rows of `run` bytes
  uint64_t run, rows = 1;
  int64_t src_step = 0, dst_step = 0;
  uint64_t slices = 1;
  int64_t src_slice = 0, dst_slice = 0;
};

struct Disk : DiskFolder, DriverHarness {
  explicit Disk(const std::string &driver, Params more = {}, const char *in = "/var/tmp")
      : DiskFolder(in), DriverHarness(driver, with_path(std::move(more), path()), CONSORT_PLUGIN_DIR, {ram()}) {}
  ~Disk() {
    for (const auto &[a, n] : blocks) ops->free(dev, own(), a, n);
  }
  static Params with_path(Params p, const std::string &path) {
    p.emplace("path", path);
    p.emplace("capacity", "64M");
    return p;
  }
  uint32_t own() const { return spaces[0].id; }
  uint32_t host() const { return spaces[1].id; }
  consort_status try_alloc(uint64_t bytes, consort_addr *a, uint32_t flags = 0) {
    const consort_status s = ops->alloc(dev, own(), bytes, 64, flags, a);
    if (s >= 0) blocks.push_back({*a, bytes});
    return s;
  }
  consort_addr alloc(uint64_t bytes, uint32_t flags = 0) {
    consort_addr a{};
    EXPECT_EQ(try_alloc(bytes, &a, flags), CONSORT_OK) << plugin.failure();
    return a;
  }
  void give_back(size_t i) {
    ops->free(dev, own(), blocks[i].first, blocks[i].second);
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
  }
  static consort_addr at(consort_addr a, uint64_t bytes) { return {a.base, a.off + bytes}; }

  consort_op out(const void *from, consort_addr to, const Box &b, uint64_t cookie = 0) const {
    return copy(host(), {reinterpret_cast<uint64_t>(from), 0}, own(), to, b, cookie);
  }
  consort_op in(consort_addr from, void *to, const Box &b, uint64_t cookie = 0) const {
    return copy(own(), from, host(), {reinterpret_cast<uint64_t>(to), 0}, b, cookie);
  }
  static consort_op copy(uint32_t s, consort_addr src, uint32_t d, consort_addr dst, const Box &b, uint64_t cookie) {
    consort_op o = op_of(CONSORT_OP_COPY, cookie);
    o.u.copy = {s, d, src, dst, b.run, {b.rows, b.slices}, {b.src_step, b.src_slice}, {b.dst_step, b.dst_slice}};
    return o;
  }
  // All of them, at once as far as there is room; in the order of their cookies (0, 1, ...), which it sets.
  std::vector<consort_done> run(void *q, std::vector<consort_op> list) {
    std::vector<consort_done> all(list.size());
    for (size_t i = 0; i < list.size(); ++i) list[i].cookie = i;
    size_t sent = 0, over = 0;
    while (over < list.size()) {
      sent += ops->submit(q, list.data() + sent, static_cast<uint32_t>(list.size() - sent));
      consort_done some[8];
      const uint32_t n = ops->poll(q, some, 8);
      for (uint32_t i = 0; i < n; ++i) all[some[i].cookie] = some[i];
      over += n;
      if (!n) std::this_thread::yield();
    }
    return all;
  }
  consort_status run_one(void *q, consort_op o) { return run(q, {o})[0].status; }

  std::vector<std::pair<consort_addr, uint64_t>> blocks;
};

// Memory that begins at a page, for direct transfers straight from and to it.
struct Pages {
  char *p;
  explicit Pages(size_t bytes) : p(static_cast<char *>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {}
  ~Pages() { std::free(p); }
  Pages(const Pages &) = delete;
};

inline std::vector<uint8_t> noise(size_t bytes, uint64_t seed) {
  std::vector<uint8_t> v(bytes);
  std::mt19937_64 random(seed);
  for (auto &b : v) b = static_cast<uint8_t>(random() >> 13);
  return v;
}

// Each driver, through the page cache and around it.
struct Kind {
  const char *driver, *direct;
};
inline std::string name_of(const testing::TestParamInfo<Kind> &i) {
  return std::string(i.param.driver + 5) + "_" + i.param.direct;
}
inline constexpr Kind kKinds[] = {
    {"disk_posix", "off"}, {"disk_posix", "auto"}, {"disk_uring", "off"}, {"disk_uring", "auto"}};

struct EachDisk : testing::TestWithParam<Kind> {
  void SetUp() override {
    const std::string why = missing(GetParam().driver);
    if (!why.empty()) GTEST_SKIP() << why;
  }
  static Params params(Params more = {}) {
    more.emplace("direct", GetParam().direct);
    return more;
  }
};

}  // namespace consort_test

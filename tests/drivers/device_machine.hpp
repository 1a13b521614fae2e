// device_machine.hpp — a driver on one device with memory of its own, the host's memory beside it: blocks, copies, launches.
//
// Owned by one test.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <utility>

#include "drivers/driver_harness.hpp"
#include "drivers/ram.hpp"

namespace consort_test {

using Params = PluginHost::Params;

struct DeviceMachine : DriverHarness {
  explicit DeviceMachine(const char *driver, Params params) : DriverHarness(driver, std::move(params), CONSORT_PLUGIN_DIR, {ram()}) {}
  uint32_t own() const { return spaces[0].id; }
  uint32_t host() const { return spaces[1].id; }
  consort_addr alloc(uint64_t bytes, uint32_t flags = 0) {
    consort_addr a{};
    EXPECT_EQ(ops->alloc(dev, own(), bytes, 64, flags, &a), CONSORT_OK) << plugin.failure();
    blocks.push_back({a, bytes});
    return a;
  }
  ~DeviceMachine() {
    for (void *q : queues) ops->queue_close(q);
    queues.clear();
    for (auto &[a, n] : blocks) ops->free(dev, own(), a, n);
  }
  // Submits and waits; the status of each.
  std::vector<consort_status> run(void *q, std::vector<consort_op> list) {
    for (size_t i = 0; i < list.size(); ++i) list[i].cookie = i;
    std::vector<consort_status> out;
    size_t given = 0;
    while (out.size() < list.size()) {
      given += ops->submit(q, list.data() + given, static_cast<uint32_t>(list.size() - given));
      consort_done some[8];
      const uint32_t k = ops->poll(q, some, 8);
      for (uint32_t i = 0; i < k; ++i) {
        EXPECT_EQ(some[i].cookie, out.size()) << "in order";
        out.push_back(some[i].status);
      }
    }
    return out;
  }
  consort_op copy(uint32_t from, consort_addr src, uint32_t to, consort_addr dst, uint64_t run, uint64_t rows = 1,
                  int64_t src_step = 0, int64_t dst_step = 0, uint64_t slices = 1, int64_t src_slice = 0, int64_t dst_slice = 0) {
    consort_op o = op_of(CONSORT_OP_COPY, 0);
    o.u.copy = {from, to, src, dst, run, {rows, slices}, {src_step, src_slice}, {dst_step, dst_slice}};
    return o;
  }
  consort_op to_device(const void *p, consort_addr dst, uint64_t n) { return copy(host(), addr(p), own(), dst, n); }
  consort_op from_device(consort_addr src, void *p, uint64_t n) { return copy(own(), src, host(), addr(p), n); }
  static consort_addr addr(const void *p) { return {reinterpret_cast<uint64_t>(p), 0}; }
  uint64_t load(const char *text, const char *entry, const char *format, consort_status want = CONSORT_OK) {
    uint64_t code = 0;
    EXPECT_EQ(ops->load_impl(dev, format, text, std::strlen(text), entry, &code), want) << plugin.failure();
    return code;
  }
  std::vector<std::pair<consort_addr, uint64_t>> blocks;
};

inline consort_arg at(consort_addr a, uint64_t extent) { return {CONSORT_ARG_ADDR, 8, a, extent, 0}; }
template <class T>
consort_arg value(T v) {
  consort_arg a{CONSORT_ARG_SCALAR, sizeof v, {0, 0}, 0, 0};
  std::memcpy(&a.scalar, &v, sizeof v);
  return a;
}
inline consort_op launch_of(uint64_t code, const std::vector<consort_arg> &args, uint64_t n, uint32_t block = 1) {
  consort_op o = op_of(CONSORT_OP_LAUNCH, 0);
  o.u.launch = {code, args.data(), static_cast<uint32_t>(args.size()), 0, {n, 1, 1}, {block, 1, 1}, 0};
  return o;
}

// A host function as an op.
struct Call {
  consort_call call{};
  std::function<consort_status(const consort_call *)> body;
  explicit Call(std::function<consort_status(const consort_call *)> f) : body(std::move(f)) {
    call.size = sizeof call;
    call.user = this;
  }
  static consort_status run(const consort_call *c) { return static_cast<Call *>(c->user)->body(c); }
  consort_op op(bool enqueues) {
    consort_op o = op_of(CONSORT_OP_CALL, 0);
    o.flags = enqueues ? CONSORT_OPF_ENQUEUE : 0;
    o.u.call = {run, &call};
    return o;
  }
};

}  // namespace consort_test

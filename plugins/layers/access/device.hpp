// device.hpp — what a task changes in the memory of a device, by contents read back before and after it.
//
// One for each device of a driver that the layer wraps. The layer lets a unit run one task at a time. A datum that the
// task declared R, or did not declare, must be the same after it. Replicas are known from the tasks that used them; one
// that the kernel copies to, or that another task may write meanwhile, is forgotten until the next task uses it. Calls
// come from the threads of several units; the mutex guards all.
#pragma once
#include <sched.h>

#include <chrono>
#include <map>
#include <mutex>

#include "findings.hpp"
#include "layout.hpp"

namespace access_check {

// A replica in a device's memory.
struct DeviceReplica {
  What what{};
  const consort_interface_ops *ops = nullptr;
  uint32_t mode = 0, space = 0;
  Store shape, view;
  std::vector<consort_extent> extents;

  DeviceReplica() = default;
  DeviceReplica(const consort_body_datum &d, uint32_t in) : ops(d.ops), mode(d.mode), space(in) {
    what = {d.id, d.ops->bytes(d.shape), {}};
    set(what.name, sizeof what.name, d.name);
    keep(shape, d.shape, ops->shape_size), keep(view, d.view, ops->view_size);
    extents.resize(16);
    const uint32_t n = ops->extents ? ops->extents(shape.data(), view.data(), extents.data(), 16) : 0;
    extents.resize(n <= 16 ? n : 0);
  }
  bool writes() const noexcept { return mode & (CONSORT_M_W | CONSORT_M_SCRATCH | CONSORT_M_REDUX); }
  bool meets(consort_addr a, uint64_t bytes) const noexcept {
    for (const consort_extent &e : extents)
      if (e.addr.base == a.base && e.addr.off < a.off + bytes && a.off < e.addr.off + e.bytes) return true;
      else if (e.addr.base != a.base && address(e.addr) < address(a) + bytes && address(a) < address(e.addr) + e.bytes) return true;
    return false;
  }
  bool meets(const DeviceReplica &o) const noexcept {
    for (const consort_extent &e : o.extents)
      if (meets(e.addr, e.bytes)) return true;
    return false;
  }
};

// The contents of a replica, in host memory.
struct DeviceContents {
  std::vector<std::vector<char>> blocks;
  std::vector<consort_copy> copies;  // that bring them
};

// A task between its submission and its end.
struct DeviceTask {
  std::shared_ptr<Owner> owner = std::make_shared<Owner>();
  std::vector<DeviceReplica> data;
  std::map<uint64_t, DeviceContents> before;  // by handle
};

class DeviceMemory {
 public:
  using D = consort_driver_ops;
  DeviceMemory() = default;

  // A link to host memory: contents can be read back over it.
  void note_link(const consort_space_desc &from, const consort_space_desc &to, const consort_link_desc &link) {
    constexpr uint32_t host = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
    const std::lock_guard lock(mutex_);
    if ((to.flags & host) == host && !(from.flags & CONSORT_SP_CPU)) links_.try_emplace(from.id, Link{to.id, link.flags});
  }
  // Before the task's operation is issued.
  void begin(const D &ops, void *dev, DeviceTask &t, uint64_t most) {
    const std::lock_guard lock(mutex_);
    if (off_ || t.data.empty() || !links_.contains(t.data.front().space)) return;
    std::erase_if(known_, [&](const auto &k) { return writes(t, k.second); });
    uint64_t left = most;
    for (const DeviceReplica &d : t.data)
      if (!d.writes()) look(ops, dev, d, t, left);
    for (const auto &[id, k] : known_) {
      const bool declared = std::any_of(t.data.begin(), t.data.end(), [&](const DeviceReplica &d) { return d.what.id == id; });
      if (!declared && k.space == t.data.front().space) look(ops, dev, k, t, left);
    }
  }
  // After it has completed. Calls f(replica, block, offset, declared) for each that has changed.
  template <class F>
  void end(const D &ops, void *dev, const DeviceTask &t, F f) {
    const std::lock_guard lock(mutex_);
    for (const auto &[id, was] : t.before) {
      const auto mine = std::find_if(t.data.begin(), t.data.end(), [&](const DeviceReplica &d) { return d.what.id == id; });
      const auto known = known_.find(id);
      if (mine == t.data.end() && known == known_.end()) continue;  // others may have written it meanwhile
      const DeviceReplica &d = mine != t.data.end() ? *mine : known->second;
      DeviceContents now;
      if (off_ || !read(ops, dev, d, now)) continue;
      for (size_t b = 0; b < now.blocks.size(); ++b) {
        const auto at = std::mismatch(was.blocks[b].begin(), was.blocks[b].end(), now.blocks[b].begin()).first;
        if (at == was.blocks[b].end()) continue;
        f(d, static_cast<uint32_t>(b), at - was.blocks[b].begin(), mine != t.data.end());
        break;
      }
    }
    for (const DeviceReplica &d : t.data)
      if (!(d.mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX)) && !d.extents.empty()) known_[d.what.id] = d;
  }
  // The kernel writes there, or frees it.
  void forget(uint32_t space, consort_addr a, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const auto &k) { return k.second.space == space && k.second.meets(a, bytes); });
  }
  void close(const D &ops) noexcept {
    if (queue_) ops.queue_close(std::exchange(queue_, nullptr));
  }

 private:
  struct Link { uint32_t space, flags; };
  static bool writes(const DeviceTask &t, const DeviceReplica &k) {
    return std::any_of(t.data.begin(), t.data.end(),
                       [&](const DeviceReplica &d) { return d.writes() && d.space == k.space && d.meets(k); });
  }
  void look(const D &ops, void *dev, const DeviceReplica &d, DeviceTask &t, uint64_t &left) {
    if (d.what.bytes > left) return;
    left -= d.what.bytes;
    DeviceContents now;
    if (read(ops, dev, d, now)) t.before[d.what.id] = std::move(now);
  }
  // False: it has no flat form, or the device does not give it.
  bool read(const D &ops, void *dev, const DeviceReplica &d, DeviceContents &out) {
    const std::vector<consort_block> blocks = blocks_of(*d.ops, d.shape.data());
    std::vector<consort_addr> at;
    for (const consort_block &b : blocks)
      at.push_back({reinterpret_cast<uintptr_t>(out.blocks.emplace_back(b.bytes).data()), 0});
    Store view = d.view;
    const consort_space_desc space = host_space();
    if (blocks.empty() || (d.ops->flags & CONSORT_IF_PACK_ONLY) ||
        d.ops->view(d.shape.data(), &space, at.data(), static_cast<uint32_t>(at.size()), view.data()) < 0)
      return false;
    const Link link = links_.at(d.space);
    for (const consort_run &r : runs_between(*d.ops, d.shape.data(), d.view.data(), view.data())) add(r, d.space, link, out.copies);
    if (out.copies.empty()) return false;
    if (run(ops, dev, out.copies)) return true;
    off_ = true;
    new DeviceContents(std::move(out));  // a copy may still write there
    return false;
  }
  // Splits a copy into forms of the link.
  static void add(const consort_run &r, uint32_t space, const Link &link, std::vector<consort_copy> &out) {
    const bool whole = (r.n[1] == 1 || (link.flags & CONSORT_LK_3D)) && (r.n[0] == 1 || (link.flags & (CONSORT_LK_2D | CONSORT_LK_3D)));
    if (whole) {
      out.push_back({space, link.space, r.src, r.dst, r.run, {r.n[0], r.n[1]}, {r.src_step[0], r.src_step[1]}, {r.dst_step[0], r.dst_step[1]}});
      return;
    }
    for (uint64_t z = 0; z < r.n[1]; ++z)
      for (uint64_t y = 0; y < r.n[0]; ++y) {
        consort_copy c{space, link.space, r.src, r.dst, r.run, {1, 1}, {0, 0}, {0, 0}};
        c.src.off += z * static_cast<uint64_t>(r.src_step[1]) + y * static_cast<uint64_t>(r.src_step[0]);
        c.dst.off += z * static_cast<uint64_t>(r.dst_step[1]) + y * static_cast<uint64_t>(r.dst_step[0]);
        out.push_back(c);
      }
  }
  // Waits for them. False: some failed, or none ended for long.
  bool run(const D &ops, void *dev, const std::vector<consort_copy> &copies) {
    constexpr auto kLong = std::chrono::seconds(20);
    if (!queue_) {
      static std::atomic<uint64_t> number{0};  // relaxed: unique
      consort_queue_desc desc{};
      desc.size = sizeof desc;
      const uint64_t token = (uint64_t{0xacce55} << 32) + number.fetch_add(1, std::memory_order_relaxed);
      if (ops.queue_open(dev, CONSORT_NONE, token, &desc, &queue_) < 0) return queue_ = nullptr, false;
    }
    bool fine = true;
    size_t next = 0, ended = 0;
    for (auto last = std::chrono::steady_clock::now(); ended < copies.size();) {
      if (next < copies.size()) {
        consort_op op{};
        op.kind = CONSORT_OP_COPY;
        op.cookie = next;
        op.codelet = op.impl = CONSORT_NONE;
        op.u.copy = copies[next];
        next += ops.submit(queue_, &op, 1);
      }
      consort_done done[16];
      const uint32_t n = ops.poll(queue_, done, 16);
      for (uint32_t i = 0; i < n; ++i) fine &= done[i].status >= 0;
      ended += n;
      if (n) last = std::chrono::steady_clock::now();
      else if (std::chrono::steady_clock::now() - last > kLong) return false;
      else sched_yield();
    }
    return fine;
  }

  std::mutex mutex_;
  std::map<uint32_t, Link> links_;             // by the space from which they lead
  std::map<uint64_t, DeviceReplica> known_;    // by handle
  void *queue_ = nullptr;                      // of its own
  bool off_ = false;                           // the device did not give contents
};

}  // namespace access_check

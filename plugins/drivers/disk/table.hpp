// table.hpp — the driver table of a file driver, for any kind of queue.
//
// A Queue has open(Device &, consort_queue_desc *, Queue **), submit, poll, arm, fd. A Maker is a disk::Driver with
// start(), which reads its own settings and fails if the driver cannot be used.
#pragma once
#include <consort/plugin/host.hpp>

#include <memory>

#include "device.hpp"
#include "files.hpp"

namespace disk {

template <class Maker, class Queue>
struct Table {
  static Device &device(void *d) noexcept { return *static_cast<Device *>(d); }
  static Queue &queue(void *q) noexcept { return *static_cast<Queue *>(q); }

  template <class F>
  static consort_status guarded(const consort_host *host, F body) noexcept {
    try {
      return body();
    } catch (...) {
      return consort::plugin::caught(host, "out of memory for a disk");
    }
  }

  static consort_status init(const consort_host *host, void **self) noexcept {
    return guarded(host, [&]() -> consort_status {
      auto d = std::make_unique<Maker>();
      d->host = host;
      d->name = Maker::kName;
      if (!d->read()) return CONSORT_E_INVAL;
      const consort_status s = d->start();
      if (s >= 0) *self = d.release();
      return s;
    });
  }
  static void fini(void *self) noexcept { delete static_cast<Maker *>(self); }

  static uint32_t count(void *self) noexcept {
    return static_cast<uint32_t>(static_cast<Maker *>(self)->settings.folders.size());
  }
  static consort_status open(void *self, uint32_t index, uint64_t, void **out) noexcept {
    auto &driver = *static_cast<Maker *>(self);
    if (index >= driver.settings.folders.size())
      return driver.fail(CONSORT_E_INVAL, "there is no folder number " + std::to_string(index));
    return guarded(driver.host, [&] {
      auto d = std::make_unique<Device>(driver, index);
      const consort_status s = d->open();
      if (s >= 0) *out = d.release();
      return s;
    });
  }
  static void close(void *dev) noexcept {
    const std::unique_ptr<Device> d(&device(dev));
    if (const size_t n = d->taken())
      d->driver.log(2, d->name() + " is closed with " + std::to_string(n) + " blocks that were not freed");
  }

  static consort_status space(void *dev, uint32_t i, consort_space_desc *out) noexcept {
    return device(dev).space(i, out);
  }
  static consort_status unit(void *, uint32_t, consort_unit_desc *) noexcept { return CONSORT_E_INVAL; }
  static consort_status link(void *dev, const consort_space_desc *src, const consort_space_desc *dst,
                             consort_link_desc *out) noexcept {
    return device(dev).link(src, dst, out);
  }
  static consort_status alloc(void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags,
                              consort_addr *out) noexcept {
    return guarded(device(dev).driver.host, [&] { return device(dev).alloc(space, bytes, align, flags, out); });
  }
  static void free(void *dev, uint32_t space, consort_addr addr, uint64_t) noexcept { device(dev).free(space, addr); }
  // Host memory is read and written in place.
  static consort_status attach(void *dev, uint32_t space, consort_addr addr, uint64_t, consort_addr *local) noexcept {
    if (device(dev).owns(space))
      return device(dev).driver.fail(CONSORT_E_UNSUPPORTED, "only the driver allocates in its file; for a "
                                                              "file of the application, mmap() it and register the mapping");
    *local = addr;
    return CONSORT_OK;
  }
  static void detach(void *, uint32_t, consort_addr) noexcept {}
  static consort_status load_impl(void *dev, const char *, const void *, uint64_t, const char *, uint64_t *) noexcept {
    return device(dev).driver.fail(CONSORT_E_UNSUPPORTED, "a disk runs no kernels");
  }

  static consort_status queue_open(void *dev, uint32_t, uint64_t, consort_queue_desc *out, void **result) noexcept {
    Device &d = device(dev);
    return guarded(d.driver.host, [&]() -> consort_status {
      Queue *q = nullptr;
      const consort_status s = Queue::open(d, &q);
      if (s < 0) return s;
      const consort_queue_desc desc{out->size, 0, 0, d.driver.settings.depth, 0};  // no order
      Device::answer(out, desc);
      *result = q;
      return CONSORT_OK;
    });
  }
  static void queue_close(void *q) noexcept { delete &queue(q); }
  static uint32_t submit(void *q, const consort_op *ops, uint32_t n) noexcept { return queue(q).submit(ops, n); }
  static uint32_t poll(void *q, consort_done *out, uint32_t max) noexcept { return queue(q).poll(out, max); }
  static int32_t event_fd(void *q) noexcept { return queue(q).fd(); }
  static consort_status arm(void *q) noexcept { return queue(q).arm(); }

  static const void *get(void *, const char *id) noexcept {
    return std::strcmp(id, CONSORT_FILES_ID) == 0 ? &Files<Maker>::ops : nullptr;
  }

  static constexpr consort_driver_ops ops = {
      .size = sizeof(consort_driver_ops),
      .flags = CONSORT_DRV_FD,
      .count = count,
      .open = open,
      .close = close,
      .space = space,
      .unit = unit,
      .link = link,
      .alloc = alloc,
      .free = free,
      .attach = attach,
      .detach = detach,
      .load_impl = load_impl,
      .queue_open = queue_open,
      .queue_close = queue_close,
      .submit = submit,
      .poll = poll,
      .event_fd = event_fd,
      .arm = arm,
      .next_event = nullptr,
      .codelet = nullptr,
  };
};

}  // namespace disk

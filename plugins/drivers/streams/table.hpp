// table.hpp — the driver table for devices with command queues.
//
// A Driver is created by init(): host, name(), read() (settings), start() (opens the vendor's library, selects devices), count().
// A Device derives from Owner and adds open(), space, unit, link, alloc, free, attach, detach, load.
#pragma once
#include <consort/plugin/host.hpp>
#include <consort/start.h>

#include <cstring>
#include <memory>

#include "queue.hpp"

namespace streams {

template <class Driver, class Device, class Lane>
struct Table {
  using DriverQueue = Queue<Lane>;
  static Device &device(void *d) noexcept { return *static_cast<Device *>(d); }
  static DriverQueue &queue(void *q) noexcept { return *static_cast<DriverQueue *>(q); }

  template <class F>
  static consort_status guarded(const consort_host *host, F body) noexcept {
    try {
      return body();
    } catch (...) {
      return consort::plugin::caught(host, "out of memory for the records of a device");
    }
  }

  static consort_status init(const consort_host *host, void **self) noexcept {
    return guarded(host, [&]() -> consort_status {
      auto d = std::make_unique<Driver>();
      d->host = host;
      consort_status s = d->read();
      if (s >= 0) s = d->start();
      if (s >= 0) *self = d.release();
      return s;
    });
  }
  static void fini(void *self) noexcept { delete static_cast<Driver *>(self); }
  static uint32_t count(void *self) noexcept { return static_cast<Driver *>(self)->count(); }
  static consort_status open(void *self, uint32_t index, uint64_t token, void **out) noexcept {
    auto &driver = *static_cast<Driver *>(self);
    return guarded(driver.host, [&]() -> consort_status {
      if (index >= driver.count())
        return driver.host->fail(driver.host, CONSORT_E_INVAL,
                                 (std::string(Driver::kName) + ": no device number " + std::to_string(index) + " is selected").c_str());
      auto d = std::make_unique<Device>(driver, index, token);
      const consort_status s = d->open();
      if (s >= 0) *out = d.release();
      return s;
    });
  }
  static void close(void *dev) noexcept { delete &device(dev); }

  static consort_status space(void *dev, uint32_t i, consort_space_desc *out) noexcept { return device(dev).space(i, out); }
  static consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) noexcept { return device(dev).unit(i, out); }
  static consort_status link(void *dev, const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) noexcept {
    return guarded(device(dev).host, [&] { return device(dev).link(src, dst, out); });
  }
  static consort_status alloc(void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) noexcept {
    return guarded(device(dev).host, [&] { return device(dev).alloc(space, bytes, align, flags, out); });
  }
  static void free(void *dev, uint32_t space, consort_addr addr, uint64_t bytes) noexcept { device(dev).free(space, addr, bytes); }
  static consort_status attach(void *dev, uint32_t space, consort_addr addr, uint64_t bytes, consort_addr *local) noexcept {
    return guarded(device(dev).host, [&] { return device(dev).attach(space, addr, bytes, local); });
  }
  static void detach(void *dev, uint32_t space, consort_addr local) noexcept { device(dev).detach(space, local); }
  static consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) noexcept {
    return guarded(device(dev).host, [&] { return device(dev).load(format, text, n, entry, code); });
  }
  static consort_status queue_open(void *dev, uint32_t unit, uint64_t token, consort_queue_desc *out, void **q) noexcept {
    return guarded(device(dev).host, [&] {
      DriverQueue *made = nullptr;
      const consort_status status = DriverQueue::open(device(dev), unit, token, out, &made);
      *q = made;
      return status;
    });
  }
  static void queue_close(void *q) noexcept { delete &queue(q); }
  static uint32_t submit(void *q, const consort_op *list, uint32_t n) noexcept { return queue(q).submit(list, n); }
  static uint32_t poll(void *q, consort_done *out, uint32_t max) noexcept { return queue(q).poll(out, max); }
  static int32_t event_fd(void *q) noexcept { return queue(q).fd(); }
  static consort_status arm(void *q) noexcept { return queue(q).arm(); }

  // Driver::place(index) returns the bus address of a device, "" if unknown.
  static consort_status place(void *self, uint32_t index, char *out, uint32_t n) noexcept {
    const auto &d = *static_cast<Driver *>(self);
    return guarded(d.host, [&]() -> consort_status {
      const std::string at = index < d.count() ? d.place(index) : "";
      if (at.empty() || at.size() >= n) return CONSORT_E_UNSUPPORTED;
      std::memcpy(out, at.c_str(), at.size() + 1);
      return CONSORT_OK;
    });
  }
  static constexpr consort_places places = {sizeof(consort_places), 0, place};
  static const void *get(void *, const char *id) noexcept { return std::strcmp(id, CONSORT_PLACES_ID) == 0 ? &places : nullptr; }

  static constexpr consort_driver_ops ops = {
      .size = sizeof(consort_driver_ops), .flags = CONSORT_DRV_FD,
      .count = count, .open = open, .close = close, .space = space, .unit = unit, .link = link, .alloc = alloc,
      .free = free, .attach = attach, .detach = detach, .load_impl = load_impl, .queue_open = queue_open,
      .queue_close = queue_close, .submit = submit, .poll = poll, .event_fd = event_fd, .arm = arm,
      .next_event = nullptr, .codelet = nullptr,
  };
};

// Whether no setting names the driver: its devices were found.
inline bool is_by_default(const consort_host *host) noexcept {
  const auto *start = static_cast<const consort_start_mode *>(host->get(host, CONSORT_START_ID));
  return start && CONSORT_HAS(start, consort_start_mode, flags) && (start->flags & CONSORT_START_BY_DEFAULT);
}

inline std::string bus_address(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function) {
  char text[40];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

// Writes the answer to a query, cut to the size of the caller's struct.
template <class T>
void answer(T *out, const T &d) noexcept {
  std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
}

inline bool is_host_memory(const consort_space_desc *s) noexcept {
  constexpr uint32_t need = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  return (s->flags & need) == need && !(s->flags & CONSORT_SP_OPAQUE);
}

}  // namespace streams

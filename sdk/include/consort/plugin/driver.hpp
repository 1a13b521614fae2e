// plugin/driver.hpp — a driver as three classes: the driver, its devices, their queues.
//
//   class Mine : public consort::plugin::Driver {              // one for each runtime
//    public:
//     class Queue {
//      public:
//       Queue(Device &, uint32_t unit_or_none, uint64_t token, consort_queue_desc &);  // [control] may throw
//       uint32_t submit(std::span<const consort_op>) noexcept;                         // [queue] accepted prefix
//       uint32_t poll(std::span<consort_done>) noexcept;                               // [queue]
//     };
//     class Device : public consort::plugin::Device {
//      public:
//       Device(Mine &, uint32_t index, uint64_t token);                                // [control] may throw
//       bool space(uint32_t i, consort_space_desc &out);                               // [control] false: no i-th one
//       bool link(const consort_space_desc &src, const consort_space_desc &dst, consort_link_desc &out);
//                                                                      // false: no path by me
//       using Queue = Mine::Queue;
//     };
//     explicit Mine(Host);
//   };
//   CONSORT_PLUGIN(mine, DRIVER, 0, "mine", "1.0.0", Mine);
//
// Optional; without it the table has NULL, or for unit, alloc, attach and load_impl a refusal:
//   driver   uint32_t count() (may throw; without: one device), `static constexpr uint32_t driver_flags`, quiesce,
//            extension
//   device   unit, alloc with free, attach with detach, load_impl, codelet
//   queue    event_fd with arm (the flag DRV_FD comes by itself), next_event
// Descriptions may be filled as if they had their full size. What each function means stands in driver.h.
#pragma once
#include "../driver.h"
#include "table.hpp"

namespace consort::plugin {

using Ops = std::span<const consort_op>;
using Dones = std::span<consort_done>;

namespace driving {

template <class T>
T &at(void *p) noexcept {
  return *static_cast<T *>(p);
}
// The answer to a question that may have none: `none` then.
template <class T, class F>
consort_status ask(const consort_host *h, T *out, consort_status none, F &&f) noexcept {
  return guarded(h, [&]() -> consort_status {
    T whole = taken(out);
    if (!f(whole)) return none;
    given(out, whole);
    return CONSORT_OK;
  });
}

template <class D>
constexpr void queue_part(consort_driver_ops &o) {
  using C = typename D::Queue;
  static_assert(std::is_constructible_v<C, D &, uint32_t, uint64_t, consort_queue_desc &>,
                "a queue is made of (Device &, uint32_t unit_or_none, uint64_t token, consort_queue_desc &)");
  CONSORT_NEEDS_NOEXCEPT(submit, (Ops()), "uint32_t submit(std::span<const consort_op>) noexcept");
  CONSORT_NEEDS_NOEXCEPT(poll, (Dones()), "uint32_t poll(std::span<consort_done>) noexcept");
  o.queue_open = [](void *dev, uint32_t unit, uint64_t token, consort_queue_desc *out,
                    void **q) noexcept -> consort_status {
    return ask(at<D>(dev).host(), out, CONSORT_E_UNSUPPORTED, [&](consort_queue_desc &d) {
      *q = new C(at<D>(dev), unit, token, d);
      return true;
    });
  };
  o.queue_close = [](void *q) noexcept { delete &at<C>(q); };
  o.submit = [](void *q, const consort_op *ops, uint32_t n) noexcept -> uint32_t {
    return at<C>(q).submit(Ops(ops, n));
  };
  o.poll = [](void *q, consort_done *out, uint32_t max) noexcept -> uint32_t { return at<C>(q).poll(Dones(out, max)); };
  CONSORT_IF_NOEXCEPT(event_fd, (), "int event_fd() noexcept") {
    static_assert(CONSORT_HAS_CALL(arm, ()), "a queue with event_fd() has arm() too");
    o.flags |= CONSORT_DRV_FD;
    o.event_fd = [](void *q) noexcept -> int32_t { return at<C>(q).event_fd(); };
  }
  CONSORT_IF_NOEXCEPT(arm, (), "consort_status arm() noexcept")
  o.arm = [](void *q) noexcept -> consort_status { return at<C>(q).arm(); };
  CONSORT_IF_NOEXCEPT(next_event, (), "uint64_t next_event() noexcept")
  o.next_event = [](void *q) noexcept -> uint64_t { return at<C>(q).next_event(); };
}

// What a device may be without answers so.
template <class C>
constexpr void refuse(consort_driver_ops &o) {
  o.unit = [](void *, uint32_t, consort_unit_desc *) noexcept -> consort_status { return CONSORT_E_INVAL; };
  o.alloc = [](void *dev, uint32_t, uint64_t, uint64_t, uint32_t, consort_addr *) noexcept -> consort_status {
    return at<C>(dev).host().fail(CONSORT_E_UNSUPPORTED, "this driver allocates nothing; use another space");
  };
  o.free = [](void *, uint32_t, consort_addr, uint64_t) noexcept {};
  o.attach = [](void *dev, uint32_t, consort_addr, uint64_t, consort_addr *) noexcept -> consort_status {
    return at<C>(dev).host().fail(CONSORT_E_UNSUPPORTED, "this driver attaches no memory of others; copy it");
  };
  o.detach = [](void *, uint32_t, consort_addr) noexcept {};
  o.load_impl = [](void *dev, const char *, const void *, uint64_t, const char *,
                   uint64_t *) noexcept -> consort_status {
    return at<C>(dev).host().fail(CONSORT_E_UNSUPPORTED, "this driver builds no kernels; give the codelet a function");
  };
}

template <class C>
constexpr void device_part(consort_driver_ops &o) {
  CONSORT_NEEDS_CALL(space, (0u, some<consort_space_desc>()), "bool space(uint32_t i, consort_space_desc &out)");
  CONSORT_NEEDS_CALL(link,
                     (some<const consort_space_desc>(), some<const consort_space_desc>(), some<consort_link_desc>()),
                     "bool link(const consort_space_desc &src, const consort_space_desc &dst, consort_link_desc &out)");
  o.close = [](void *dev) noexcept { delete &at<C>(dev); };
  o.space = [](void *dev, uint32_t i, consort_space_desc *out) noexcept -> consort_status {
    return ask(at<C>(dev).host(), out, CONSORT_E_INVAL,
               [&](consort_space_desc &d) -> bool { return at<C>(dev).space(i, d); });
  };
  o.link = [](void *dev, const consort_space_desc *src, const consort_space_desc *dst,
              consort_link_desc *out) noexcept -> consort_status {
    return ask(at<C>(dev).host(), out, CONSORT_E_UNSUPPORTED,
               [&](consort_link_desc &d) -> bool { return at<C>(dev).link(taken(src), taken(dst), d); });
  };
  refuse<C>(o);
  CONSORT_IF_CALL(unit, (0u, some<consort_unit_desc>()), "bool unit(uint32_t i, consort_unit_desc &out)")
  o.unit = [](void *dev, uint32_t i, consort_unit_desc *out) noexcept -> consort_status {
    return ask(at<C>(dev).host(), out, CONSORT_E_INVAL,
               [&](consort_unit_desc &d) -> bool { return at<C>(dev).unit(i, d); });
  };
  CONSORT_IF_CALL(alloc, (0u, uint64_t{}, uint64_t{}, 0u),
                  "consort_addr alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags)") {
    CONSORT_NEEDS_NOEXCEPT(free, (0u, consort_addr(), uint64_t{}),
                           "void free(uint32_t space, consort_addr, uint64_t bytes) noexcept");
    o.alloc = [](void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags,
                 consort_addr *out) noexcept -> consort_status {
      return guarded(at<C>(dev).host(), [&] { *out = at<C>(dev).alloc(space, bytes, align, flags); });
    };
    o.free = [](void *dev, uint32_t space, consort_addr a, uint64_t bytes) noexcept {
      at<C>(dev).free(space, a, bytes);
    };
  }
  CONSORT_IF_CALL(attach, (0u, consort_addr(), uint64_t{}),
                  "consort_addr attach(uint32_t space, consort_addr, uint64_t bytes)") {
    CONSORT_NEEDS_NOEXCEPT(detach, (0u, consort_addr()), "void detach(uint32_t space, consort_addr local) noexcept");
    o.attach = [](void *dev, uint32_t space, consort_addr a, uint64_t bytes,
                  consort_addr *local) noexcept -> consort_status {
      return guarded(at<C>(dev).host(), [&] { *local = at<C>(dev).attach(space, a, bytes); });
    };
    o.detach = [](void *dev, uint32_t space, consort_addr local) noexcept { at<C>(dev).detach(space, local); };
  }
  CONSORT_IF_CALL(load_impl, (std::string_view(), std::string_view(), ""),
                  "uint64_t load_impl(std::string_view format, std::string_view text, const char *entry)")
  o.load_impl = [](void *dev, const char *format, const void *text, uint64_t n, const char *entry,
                   uint64_t *code) noexcept -> consort_status {
    return guarded(at<C>(dev).host(), [&] {
      *code = at<C>(dev).load_impl(format, std::string_view(static_cast<const char *>(text), n), entry);
    });
  };
  CONSORT_IF_CALL(codelet, (0u, "", std::span<const char *const>()),
                  "void codelet(uint32_t id, const char *name, std::span<const char *const> impls)")
  o.codelet = [](void *dev, uint32_t id, const char *name, const char *const *impls, uint32_t n) noexcept {
    guarded(at<C>(dev).host(),
            [&] { at<C>(dev).codelet(id, name, std::span(impls, n)); });  // a name that is lost is only a name
  };
}

template <class C>
constexpr consort_driver_ops table() {
  using D = typename C::Device;
  static_assert(std::is_base_of_v<Object, D>, "a driver's Device has the base consort::plugin::Device");
  static_assert(std::is_constructible_v<D, C &, uint32_t, uint64_t>,
                "a device is made of (the driver &, uint32_t index, uint64_t token)");
  consort_driver_ops o{};
  o.size = sizeof o;
  if constexpr (requires { C::driver_flags; }) o.flags = C::driver_flags;
  if constexpr (CONSORT_HAS_CALL(count, ())) {
    CONSORT_NEEDS_CALL(count, (), "uint32_t count()");
    o.count = [](void *self) noexcept -> uint32_t {
      uint32_t n = 0;  // what cannot be counted is not there; the host has the reason
      guarded(at<C>(self).host(), [&] { n = at<C>(self).count(); });
      return n;
    };
  } else {
    o.count = [](void *) noexcept -> uint32_t { return 1; };
  }
  o.open = [](void *self, uint32_t index, uint64_t token, void **dev) noexcept -> consort_status {
    return guarded(at<C>(self).host(), [&] { *dev = new D(at<C>(self), index, token); });
  };
  device_part<D>(o);
  queue_part<D>(o);
  return o;
}

}  // namespace driving

// Base of a driver: one object for each runtime, made from the Host.
class Driver : public Object {
 public:
  static constexpr uint32_t kind = CONSORT_KIND_DRIVER;
  static constexpr uint16_t abi_major = CONSORT_DRIVER_MAJOR, abi_minor = CONSORT_DRIVER_MINOR;
  static constexpr bool is_self = true;
  template <class C>
  static constexpr consort_driver_ops table = driving::table<C>();

  using Object::Object;
};

// Base of a device of a driver.
class Device : public Object {
 public:
  using Object::Object;

  // The host's memory, as another driver's space: what the CPU loads and stores at its addresses.
  static bool is_host_memory(const consort_space_desc &s) noexcept {
    constexpr uint32_t both = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
    return (s.flags & both) == both && s.domain && std::string_view(s.domain) == "host";
  }
};

}  // namespace consort::plugin

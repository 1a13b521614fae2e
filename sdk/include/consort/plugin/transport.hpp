// plugin/transport.hpp — a transport as a class: one object for each open(), which is this process among its ranks.
//
//   class Mine : public consort::plugin::Transport {
//    public:
//     Mine(Host, const consort_boot &, uint64_t token, consort_tcaps &);  // [control] may throw; fills what it can
//     uint32_t address(std::span<std::byte> room);                       // [control] how long it is, also without room
//     void connect(uint32_t rank, std::span<const std::byte> address);   // [control] may throw
//     void disconnect(uint32_t rank) noexcept;                           // [control]
//     uint32_t post(std::span<const consort_msg>) noexcept;              // [queue] accepted prefix
//     uint32_t poll(std::span<consort_done>) noexcept;                   // [queue]
//   };
//   CONSORT_PLUGIN(mine, TRANSPORT, 0, "mine", "1.0.0", Mine);
//
// With a `Settings` in the class (made from the Host) the constructor gets a const Settings & first. Optional: reg with
// dereg, event_fd with arm (the flag TC_FD comes by itself), next_event, advance, static boot. transport.h has the contract of each.
#pragma once
#include <cstddef>

#include "../transport.h"
#include "table.hpp"

namespace consort::plugin {

using Messages = std::span<const consort_msg>;

namespace transporting {

template <class C>
C &at(void *t) noexcept {
  return *static_cast<C *>(t);
}

template <class C>
constexpr consort_transport_ops table() {
  static_assert(
      Makes<C, C, Host, const consort_boot &, uint64_t, consort_tcaps &>,
      "a transport is made of ([const Settings &,] Host, const consort_boot &, uint64_t token, consort_tcaps &)");
  CONSORT_NEEDS_CALL(address, (std::span<std::byte>()), "uint32_t address(std::span<std::byte> room)");
  CONSORT_NEEDS_CALL(connect, (0u, std::span<const std::byte>()),
                     "void connect(uint32_t rank, std::span<const std::byte> address)");
  CONSORT_NEEDS_NOEXCEPT(disconnect, (0u), "void disconnect(uint32_t rank) noexcept");
  CONSORT_NEEDS_NOEXCEPT(post, (Messages()), "uint32_t post(std::span<const consort_msg>) noexcept");
  CONSORT_NEEDS_NOEXCEPT(poll, (std::span<consort_done>()), "uint32_t poll(std::span<consort_done>) noexcept");

  consort_transport_ops o{};
  o.size = sizeof o;
  o.open = [](void *self, const consort_host *h, const consort_boot *boot, uint64_t token, void **t,
              consort_tcaps *caps) noexcept -> consort_status {
    return guarded(h, [&] {
      consort_tcaps mine = taken(caps);
      *t = make<C>(self, Host(h), *boot, token, mine);
      given(caps, mine);
    });
  };
  o.close = [](void *t) noexcept { delete &at<C>(t); };
  o.address = [](void *t, void *buf, uint32_t *n) noexcept -> consort_status {
    return guarded(at<C>(t).host(), [&] {
      const uint32_t room = *n;
      *n = at<C>(t).address(std::span(static_cast<std::byte *>(buf), room));
      if (*n > room)
        throw Error(CONSORT_E_TRUNCATED,
                    "the address takes " + std::to_string(*n) + " bytes; there is room for " + std::to_string(room));
    });
  };
  o.connect = [](void *t, uint32_t rank, const void *addr, uint32_t n) noexcept -> consort_status {
    return guarded(at<C>(t).host(),
                   [&] { return at<C>(t).connect(rank, std::span(static_cast<const std::byte *>(addr), n)); });
  };
  o.disconnect = [](void *t, uint32_t rank) noexcept { at<C>(t).disconnect(rank); };
  o.reg = [](void *t, const consort_space_desc *, consort_addr, uint64_t, consort_mr *) noexcept -> consort_status {
    return at<C>(t).host().fail(CONSORT_E_UNSUPPORTED, "this transport reaches no memory; send messages");
  };
  o.dereg = [](void *, const consort_mr *) noexcept {};
  CONSORT_IF_CALL(reg, (some<const consort_space_desc>(), consort_addr(), uint64_t{}),
                  "consort_mr reg(const consort_space_desc &, consort_addr, uint64_t bytes)") {
    CONSORT_NEEDS_NOEXCEPT(dereg, (some<const consort_mr>()), "void dereg(const consort_mr &) noexcept");
    o.reg = [](void *t, const consort_space_desc *s, consort_addr a, uint64_t bytes,
               consort_mr *out) noexcept -> consort_status {
      return guarded(at<C>(t).host(), [&] { *out = at<C>(t).reg(taken(s), a, bytes); });
    };
    o.dereg = [](void *t, const consort_mr *mr) noexcept { at<C>(t).dereg(*mr); };
  }
  o.post = [](void *t, const consort_msg *m, uint32_t n) noexcept -> uint32_t { return at<C>(t).post(Messages(m, n)); };
  o.poll = [](void *t, consort_done *out, uint32_t max) noexcept -> uint32_t {
    return at<C>(t).poll(std::span(out, max));
  };
  CONSORT_IF_NOEXCEPT(event_fd, (), "int event_fd() noexcept") {
    static_assert(CONSORT_HAS_CALL(arm, ()), "a transport with event_fd() has arm() too");
    o.flags |= CONSORT_TC_FD;
    o.event_fd = [](void *t) noexcept -> int32_t { return at<C>(t).event_fd(); };
  }
  CONSORT_IF_NOEXCEPT(arm, (), "consort_status arm() noexcept")
  o.arm = [](void *t) noexcept -> consort_status { return at<C>(t).arm(); };
  CONSORT_IF_NOEXCEPT(next_event, (), "uint64_t next_event() noexcept")
  o.next_event = [](void *t) noexcept -> uint64_t { return at<C>(t).next_event(); };
  CONSORT_IF_NOEXCEPT(advance, (uint64_t{}), "uint64_t advance(uint64_t until) noexcept")
  o.advance = [](void *t, uint64_t until) noexcept -> uint64_t { return at<C>(t).advance(until); };
  if constexpr (requires(Host h) { C::boot(h, uint64_t{}); })
    o.boot = [](void *, const consort_host *h, uint64_t deadline, consort_boot *out) noexcept -> consort_status {
      return guarded(h, [&] { given(out, C::boot(Host(h), deadline)); });
    };
  return o;
}

}  // namespace transporting

// Base of a transport: one object for each one that is opened.
class Transport : public Object {
 public:
  static constexpr uint32_t kind = CONSORT_KIND_TRANSPORT;
  static constexpr uint16_t abi_major = CONSORT_TRANSPORT_MAJOR, abi_minor = CONSORT_TRANSPORT_MINOR;
  static constexpr bool is_self = false;
  template <class C>
  static constexpr consort_transport_ops table = transporting::table<C>();

  using Object::Object;
};

}  // namespace consort::plugin

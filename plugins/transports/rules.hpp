// rules.hpp — what each transport of this folder asks of ranks, addresses, memory and messages, in the same words.
// Pure functions of their arguments, on any thread.
#pragma once
#include <consort/plugin/host.hpp>
#include <consort/transport.h>

#include <cstring>
#include <list>
#include <span>
#include <string>
#include <string_view>

#include "strides.hpp"

namespace transports {

using consort::plugin::Error;

inline std::string name(uint32_t rank) { return "rank " + std::to_string(rank); }

inline uint64_t hash(std::string_view text) noexcept {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

// -- open(), connect(), reg(): each throws an Error that names the argument ---------------------------------------------

inline void check_own_rank(const consort_boot &boot) {
  if (boot.rank >= boot.nranks)
    throw Error(CONSORT_E_INVAL,
                "there are " + std::to_string(boot.nranks) + " ranks, numbered from 0; " + name(boot.rank) + " does not exist");
}
inline void check_rank(uint32_t rank, size_t nranks) {
  if (rank >= nranks)
    throw Error(CONSORT_E_INVAL, "there are " + std::to_string(nranks) + " ranks; " + name(rank) + " does not exist");
}

template <class Address>
Address read_address(std::span<const std::byte> bytes) {
  Address a;
  if (bytes.size() != sizeof a)
    throw Error(CONSORT_E_INVAL, "an address of this transport has " + std::to_string(sizeof a) +
                                     " bytes, this one has " + std::to_string(bytes.size()));
  std::memcpy(&a, bytes.data(), sizeof a);
  return a;
}
[[noreturn]] inline void refuse_address(uint32_t rank) {
  throw Error(CONSORT_E_INVAL,
              "not an address of this transport; pass the address that address() of " + name(rank) + " returned");
}
inline void check_owner(uint32_t of_address, uint32_t rank) {
  if (of_address != rank)
    throw Error(CONSORT_E_INVAL, "the address belongs to " + name(of_address) + ", not to " + name(rank));
}

inline void check_memory(const consort_space_desc &space, consort_addr a, uint64_t bytes) {
  if (!(space.flags & CONSORT_SP_CPU))
    throw Error(CONSORT_E_UNSUPPORTED, "only memory that the CPU can load and store is supported");
  uint64_t end;
  if (__builtin_add_overflow(a.base, a.off, &end) || __builtin_add_overflow(end, bytes, &end))
    throw Error(CONSORT_E_INVAL, std::to_string(bytes) + " bytes from this address exceed the address space");
}

// -- post() -----------------------------------------------------------------------------------------------------------

inline bool is_from_any(const consort_msg &m) noexcept { return m.kind == CONSORT_MSG_RECV && m.peer == CONSORT_NONE; }

// Whether the message is one that the ABI knows, with flags and a peer that fit; its peer may still be lost.
inline consort_status judge_form(const consort_msg &m, uint64_t most_inline, size_t nranks) noexcept {
  const bool sends = m.kind == CONSORT_MSG_SEND, puts = m.kind == CONSORT_MSG_PUT, receives = m.kind == CONSORT_MSG_RECV;
  if (!sends && !receives && !puts && m.kind != CONSORT_MSG_GET) return CONSORT_E_UNSUPPORTED;
  if (m.flags & ~(CONSORT_MF_INLINE | CONSORT_MF_NOTIFY)) return CONSORT_E_UNSUPPORTED;
  if (!is_sized(m, INT64_MAX)) return CONSORT_E_INVAL;
  if ((m.flags & CONSORT_MF_INLINE) && ((!sends && !puts) || !is_sized(m, most_inline))) return CONSORT_E_INVAL;
  if ((m.flags & CONSORT_MF_NOTIFY) && !puts) return CONSORT_E_INVAL;
  return m.peer < nranks || is_from_any(m) ? CONSORT_OK : CONSORT_E_INVAL;
}

inline bool is_match(const consort_msg &receive, uint64_t tag, uint32_t source) noexcept {
  return (receive.peer == source || is_from_any(receive)) && ((receive.tag ^ tag) & ~receive.ignore) == 0;
}

// Moves a node between lists without allocation.
template <class T>
void move_node(std::list<T> &to, std::list<T> &from, typename std::list<T>::iterator node) noexcept {
  to.splice(to.end(), from, node);
}

}  // namespace transports

// proof.hpp — proofs that a rank knows the job's secret, by HMAC-SHA256; and whole frames over a socket.
#pragma once
#include <consort/transport.h>

#include <array>
#include <span>

#include "domain.hpp"

namespace simnet {

using Secret = std::span<const uint8_t>;  // lent by the application
using Nonce = std::array<uint8_t, 16>;
using Proof = std::array<uint8_t, 32>;

inline Secret secret_of(const consort_boot &b) noexcept { return {b.secret, b.nsecret}; }
Proof prove(Secret, const char *label, const Nonce &, uint32_t rank) noexcept;
bool is_same(const Proof &, const Proof &) noexcept;  // in constant time
Nonce new_nonce();                                    // throws Error

// Whole messages over a stream. False: the other side has closed, a time limit of the socket is over, or `most` is exceeded.
bool send_frame(int fd, std::span<const std::byte>) noexcept;
bool receive_frame(int fd, Bytes *, uint64_t most);   // may throw bad_alloc
bool send_all(int fd, const void *, size_t) noexcept;
bool receive_all(int fd, void *, size_t) noexcept;

// The first messages of a connection: each side proves that it has the secret.
struct Hello { uint32_t rank; Nonce nonce; };
struct Answer { Nonce nonce; Proof proof; };

}  // namespace simnet

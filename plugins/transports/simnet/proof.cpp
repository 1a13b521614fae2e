#include "proof.hpp"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <consort/plugin/host.hpp>

#include <cerrno>

#include "wire.hpp"

namespace simnet {

Proof prove(Secret secret, const char *label, const Nonce &nonce, uint32_t rank) noexcept {
  hmac_sha256_ctx c;
  hmac_sha256_set_key(&c, secret.size(), secret.data() ? secret.data() : reinterpret_cast<const uint8_t *>(""));
  hmac_sha256_update(&c, std::strlen(label) + 1, reinterpret_cast<const uint8_t *>(label));
  hmac_sha256_update(&c, nonce.size(), nonce.data());
  hmac_sha256_update(&c, sizeof rank, reinterpret_cast<const uint8_t *>(&rank));
  Proof p;
  hmac_sha256_digest(&c, p.size(), p.data());
  explicit_bzero(&c, sizeof c);
  return p;
}

bool is_same(const Proof &a, const Proof &b) noexcept { return memeql_sec(a.data(), b.data(), a.size()); }

Nonce new_nonce() {
  Nonce n;
  if (getrandom(n.data(), n.size(), 0) != static_cast<ssize_t>(n.size()))
    throw consort::plugin::Error(CONSORT_E_IO, "the system gives no random number");
  return n;
}

bool send_all(int fd, const void *bytes, size_t n) noexcept {
  for (auto *p = static_cast<const char *>(bytes); n;) {
    const ssize_t done = ::send(fd, p, n, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done, n -= static_cast<size_t>(done);
  }
  return true;
}

bool receive_all(int fd, void *bytes, size_t n) noexcept {
  for (auto *p = static_cast<char *>(bytes); n;) {
    const ssize_t done = ::recv(fd, p, n, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done, n -= static_cast<size_t>(done);
  }
  return true;
}

bool send_frame(int fd, std::span<const std::byte> bytes) noexcept {
  const uint64_t n = bytes.size();  // both ends are on one machine
  return send_all(fd, &n, sizeof n) && send_all(fd, bytes.data(), bytes.size());
}

bool receive_frame(int fd, Bytes *out, uint64_t most) {
  uint64_t n;
  if (!receive_all(fd, &n, sizeof n) || n > most) return false;
  out->resize(n);
  return receive_all(fd, out->data(), n);
}

}  // namespace simnet

#include "remote/folder_boot.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/last_error.hpp"

namespace consort {
namespace {

constexpr int64_t kFirstNap = 500'000, kLongestNap = 20'000'000;  // ns between two looks for a file
constexpr uint32_t kMostSecret = 256, kLeastSecret = 16;

// Letters and digits stay, other bytes become %XX: a key never leaves the folder.
std::string file_of(uint32_t rank, const char *key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name = std::to_string(rank) + ".";
  for (const char *c = key; *c; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    if (std::isalnum(byte)) name += *c;
    else name += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return name;
}

bool is_private(const struct stat &about) noexcept { return about.st_uid == geteuid() && !(about.st_mode & 077); }

Error refuse(const std::string &folder, const std::string &why) {
  return error(CONSORT_E_INVAL, "rendezvous = \"" + folder + "\": " + why + "; start the ranks by consort run");
}

uint64_t mix(uint64_t hash, const void *bytes, size_t n) noexcept {  // FNV-1a
  for (size_t i = 0; i < n; ++i) hash = (hash ^ static_cast<const unsigned char *>(bytes)[i]) * 0x100000001b3u;
  return hash;
}

}  // namespace

Result<std::unique_ptr<FolderBoot>> FolderBoot::open(const Clock &clock, const std::string &folder, uint32_t rank,
                                                     uint32_t ranks) {
  if (rank >= ranks)
    return error(CONSORT_E_INVAL, "rank = " + std::to_string(rank) + " is not below ranks = " + std::to_string(ranks));
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return refuse(folder, std::strerror(errno));
  std::unique_ptr<FolderBoot> boot(new FolderBoot(clock, fd, folder.substr(folder.find_last_of('/') + 1), rank, ranks));
  struct stat about;
  if (fstat(fd, &about) < 0 || !is_private(about)) return refuse(folder, "another user may read or change it");
  const int secret = openat(fd, "secret", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (secret < 0) return refuse(folder, "no file \"secret\" can be read there");
  boot->secret_.resize(kMostSecret);
  const bool is_safe = fstat(secret, &about) == 0 && is_private(about) && S_ISREG(about.st_mode);
  const ssize_t n = is_safe ? read(secret, boot->secret_.data(), kMostSecret) : -1;
  close(secret);
  if (!is_safe) return refuse(folder, "another user may read the file \"secret\"");
  if (n < static_cast<ssize_t>(kLeastSecret)) return refuse(folder, "the file \"secret\" has less than 16 bytes");
  boot->secret_.resize(static_cast<size_t>(n));
  return boot;
}

FolderBoot::~FolderBoot() {
  explicit_bzero(secret_.data(), secret_.size());
  close(folder_);
}

void FolderBoot::describe(consort_boot &b) const noexcept {
  b.rank = rank_, b.nranks = ranks_;
  b.job = job_.c_str();
  b.host_id = host_number();
  b.secret = reinterpret_cast<const uint8_t *>(secret_.data()), b.nsecret = static_cast<uint32_t>(secret_.size());
}

// Renamed when complete: a reader never sees a part.
consort_status FolderBoot::put(const char *key, const void *bytes, uint32_t n) noexcept try {
  const std::string to = file_of(rank_, key), from = to + ".new";
  const int fd = openat(folder_, from.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool is_written = fd >= 0 && write(fd, bytes, n) == static_cast<ssize_t>(n);
  if (fd >= 0) close(fd);
  if (is_written && renameat(folder_, from.c_str(), folder_, to.c_str()) == 0) return CONSORT_OK;
  return set_errorf(CONSORT_E_IO, "'%s' cannot be put into the job's folder: %s", key, std::strerror(errno));
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the name of a file");
}

// AGAIN: it is not there.
consort_status FolderBoot::read_once(const std::string &name, void *out, uint32_t *n) const noexcept {
  const int fd = openat(folder_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? CONSORT_AGAIN : set_errorf(CONSORT_E_IO, "%s: %s", name.c_str(), std::strerror(errno));
  struct stat about;
  const bool is_safe = fstat(fd, &about) == 0 && is_private(about) && S_ISREG(about.st_mode);
  const auto room = *n;
  const ssize_t got = is_safe ? read(fd, out, room) : -1;
  close(fd);
  if (got < 0) return set_errorf(CONSORT_E_IO, "%s in the job's folder is no file of this user", name.c_str());
  *n = static_cast<uint32_t>(about.st_size);
  return *n > room ? set_errorf(CONSORT_E_TRUNCATED, "%s has %u bytes", name.c_str(), *n) : CONSORT_OK;
}

consort_status FolderBoot::get(uint32_t rank, const char *key, void *out, uint32_t *n, uint64_t deadline) noexcept try {
  if (rank >= ranks_) return set_errorf(CONSORT_E_INVAL, "the job has no rank %u", rank);
  const std::string name = file_of(rank, key);
  const uint32_t room = *n;
  for (int64_t nap = kFirstNap;; nap = std::min(2 * nap, kLongestNap)) {
    const std::string end = end_of(rank);  // before the look: what it has put before its end is found
    *n = room;
    if (const consort_status s = read_once(name, out, n); s != CONSORT_AGAIN) return s;
    if (!end.empty()) return set_errorf(CONSORT_E_PEER_LOST, "rank %u %s before it joined the job", rank, end.c_str());
    const uint64_t now = clock_.now();
    if (now >= deadline) return set_errorf(CONSORT_E_TIMEOUT, "rank %u has not joined the job in time", rank);
    parker_.wait(std::min(nap, static_cast<int64_t>(std::min(deadline - now, uint64_t{INT64_MAX}))));
  }
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the name of a file");
}

consort_status FolderBoot::fence(uint64_t deadline) noexcept try {
  const std::string key = "fence" + std::to_string(fences_++);
  if (const consort_status s = put(key.c_str(), "", 0); s < 0) return s;
  for (uint32_t r = 0; r < ranks_; ++r) {
    uint32_t none = 0;
    if (const consort_status s = get(r, key.c_str(), nullptr, &none, deadline); s < 0) return s;
  }
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the name of a file");
}

void FolderBoot::abort(const char *why) noexcept {
  const int fd = openat(folder_, "abort.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;  // another rank has
  const bool is_written = write(fd, why, std::strlen(why)) >= 0;
  close(fd);
  if (is_written) renameat(folder_, "abort.new", folder_, "abort");
}

std::string FolderBoot::end_of(uint32_t rank) const {
  char text[512];
  uint32_t n = sizeof text;
  const LastError before;
  const consort_status s = read_once(std::to_string(rank) + ".ended", text, &n);
  (void)before.restore(CONSORT_OK);
  return s == CONSORT_OK ? std::string(text, n) : std::string();
}

uint64_t host_number() noexcept {
  uint64_t hash = 0xcbf29ce484222325u;
  char id[64];
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (const ssize_t n = fd >= 0 ? read(fd, id, sizeof id) : -1; n > 0) hash = mix(hash, id, static_cast<size_t>(n));
  if (fd >= 0) close(fd);
  for (const char *space : {"/proc/self/ns/ipc", "/proc/self/ns/net", "/proc/self/ns/pid"}) {
    struct stat about;
    if (stat(space, &about) == 0) hash = mix(hash, &about.st_ino, sizeof about.st_ino);
  }
  return hash;
}

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "(unnamed)";
}

}  // namespace consort

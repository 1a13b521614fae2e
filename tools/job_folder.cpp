#include "job_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "plain_file.hpp"

namespace tool {

namespace fs = std::filesystem;

namespace {

std::string random_bytes(size_t n) {
  std::string bytes(n, 0);
  if (getrandom(bytes.data(), n, 0) != static_cast<ssize_t>(n)) throw std::runtime_error("the system gives no random numbers");
  return bytes;
}

constexpr std::string_view kMark = "consort-job-";

int lock_of(const std::string &folder) {  // -1: it is locked, or is no folder of this user
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat about {};
  if (fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() && about.st_nlink > 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

void remove_abandoned(const std::string &base) {
  std::error_code ignored;
  for (const fs::directory_entry &e : fs::directory_iterator(base, ignored)) {
    if (!e.path().filename().string().starts_with(kMark)) continue;
    const int lock = lock_of(e.path());
    if (lock < 0) continue;
    fs::remove_all(e.path(), ignored);
    close(lock);
  }
}

std::string fresh_folder(int *lock) {
  const char *base = std::getenv("XDG_RUNTIME_DIR");
  if (!base || !*base || access(base, W_OK) != 0) base = std::getenv("TMPDIR");
  const std::string in = base && *base ? base : "/tmp";
  remove_abandoned(in);
  for (int i = 0; i < 100; ++i) {
    std::string path = in + "/" + std::string(kMark) + "XXXXXX";
    if (!mkdtemp(path.data())) throw std::runtime_error("no folder for the job, " + path + ": " + std::strerror(errno));
    *lock = lock_of(path);
    if (*lock >= 0 && access(path.c_str(), F_OK) == 0) return path;
    if (*lock >= 0) close(*lock);         // another process took it for abandoned before it was locked
  }
  throw std::runtime_error("no folder for the job in " + in + ": another process removes it");
}

}  // namespace

JobIdentity JobIdentity::make() {
  static constexpr char kDigits[] = "0123456789abcdef";
  JobIdentity made{"consortjob", random_bytes(32)};
  for (const char c : random_bytes(8)) made.name += {kDigits[c >> 4 & 15], kDigits[c & 15]};
  return made;
}

JobFolder::JobFolder() : top_(fresh_folder(&lock_)), path_(top_) {
  std::string secret = random_bytes(32);
  write("secret", secret);
  explicit_bzero(secret.data(), secret.size());
}

// Two parts of one job may be on one machine: each has a folder around its own.
JobFolder::JobFolder(const JobIdentity &job) : top_(fresh_folder(&lock_)), path_(top_ + "/" + job.name) {
  if (mkdir(path_.c_str(), 0700) != 0) throw std::runtime_error(path_ + " cannot be made: " + std::strerror(errno));
  write("secret", job.secret);
}

JobFolder::~JobFolder() {
  std::error_code ignored;
  fs::remove_all(top_, ignored);
  close(lock_);
}

// Renamed when complete: a reader never sees a part.
void JobFolder::write(const std::string &name, const std::string &text) const {
  const std::string to = path_ + "/" + name, from = to + ".new";
  const int fd = open(from.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  if (!written || rename(from.c_str(), to.c_str()) != 0) throw std::runtime_error(to + " cannot be written: " + std::strerror(errno));
}

void JobFolder::note_end(int rank, const std::string &how) const { write(std::to_string(rank) + ".ended", how); }

std::string JobFolder::read(const std::string &name) const { return read_plain(path_ + "/" + name, 1 << 16); }

std::string JobFolder::abort_text() const {
  const std::string file = path_ + "/abort";
  return fs::exists(file) ? read_plain(file, 4096) : std::string();
}

}  // namespace tool

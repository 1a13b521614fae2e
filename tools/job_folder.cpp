#include "job_folder.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "plain_file.hpp"

namespace tool {

namespace fs = std::filesystem;

JobFolder::JobFolder() {
  const char *base = std::getenv("XDG_RUNTIME_DIR");
  if (!base || !*base || access(base, W_OK) != 0) base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/consort-job-XXXXXX";
  if (!mkdtemp(path_.data())) throw std::runtime_error("no folder for the job, " + path_ + ": " + std::strerror(errno));
  unsigned char secret[32];
  if (getrandom(secret, sizeof secret, 0) != sizeof secret) throw std::runtime_error("the system gives no random numbers");
  write("secret", {reinterpret_cast<char *>(secret), sizeof secret});
  explicit_bzero(secret, sizeof secret);
}

JobFolder::~JobFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
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

std::string JobFolder::abort_text() const {
  const std::string file = path_ + "/abort";
  return fs::exists(file) ? read_plain(file, 4096) : std::string();
}

}  // namespace tool

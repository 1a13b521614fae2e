#include "plain_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace consort {

PlainFile::PlainFile(const char *path, uint64_t most) {
  constexpr uint64_t kMiB = 1 << 20;
  why_.reserve(64);  // before the file is opened: where there is no memory, nothing stays open
  // NONBLOCK: without it the opening of a pipe waits for its writer. NOCTTY: a terminal must not become the process's.
  fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat about;
  if (fd_ < 0 || ::fstat(fd_, &about) != 0) {
    absent_ = errno == ENOENT || errno == ENOTDIR;
    refuse(std::string("cannot be read: ") + std::strerror(errno));
    return;
  }
  bytes_ = static_cast<uint64_t>(about.st_size);
  if (!S_ISREG(about.st_mode))
    refuse("is not a plain file");
  else if (bytes_ > most)
    refuse("is larger than " + (most >= kMiB ? std::to_string(most / kMiB) + " MiB" : std::to_string(most) + " bytes") +
           ": is it the right file?");
}

PlainFile::~PlainFile() {
  if (fd_ >= 0) ::close(fd_);
}

void PlainFile::refuse(std::string why) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  why_ = std::move(why);
}

Result<std::string> PlainFile::text() const {
  std::string text(bytes_, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(fd_, text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return error(CONSORT_E_IO, std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  text.resize(have);
  return text;
}

}  // namespace consort

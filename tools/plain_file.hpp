// plain_file.hpp — the text of a file that was named on the command line, or lies where the command looks.
//
// Opening never waits: a pipe without a writer is refused, and so is everything that is no regular file (a device, a
// socket, a folder), and a file of more than `most` bytes. Every reader of the command opens its files here.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tool {

constexpr uint64_t kLargestText = 64 << 20, kLargestTrace = uint64_t{4} << 30;

// Throws a sentence that begins with the path: "x.toml cannot be read: Permission denied".
inline std::string read_plain(const std::string &path, uint64_t most = kLargestText) {
  const auto refuse = [&](const std::string &why) { throw std::runtime_error(path + " " + why); };
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};  // NONBLOCK: a pipe waits for its writer
  struct stat about;
  if (file.fd < 0 || ::fstat(file.fd, &about) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) refuse("is not a plain file");
  if (static_cast<uint64_t>(about.st_size) > most)
    refuse("is larger than " + std::to_string(most >> 20) + " MiB: is it the right file?");
  std::string text(static_cast<size_t>(about.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(file.fd, text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  text.resize(have);
  return text;
}

}  // namespace tool

#include "channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tool {

Channel::Channel(int in, int out) : in_(in), out_(out) {
  for (const int fd : {in_, out_}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Channel::~Channel() {
  close_in();
  if (out_ >= 0) close(out_);
}

void Channel::close_in() {
  if (in_ >= 0) close(std::exchange(in_, -1));
}

void Channel::send_raw(std::string_view bytes) {
  if (out_ < 0) return;
  unsent_ += bytes;
  flush();
}

void Channel::flush() {
  while (out_ >= 0 && !unsent_.empty()) {
    const ssize_t n = write(out_, unsent_.data(), unsent_.size());
    if (n > 0) {
      unsent_.erase(0, static_cast<size_t>(n));
    } else if (n < 0 && errno != EINTR) {
      if (errno == EAGAIN) return;
      unsent_.clear();                    // its end is seen by read()
      close(std::exchange(out_, -1));
    }
  }
}

void Channel::read() {
  char bytes[16384];
  for (int turn = 0; in_ >= 0 && turn < 64; ++turn) {
    const ssize_t n = ::read(in_, bytes, sizeof bytes);
    if (n > 0) frames_.add(bytes, static_cast<size_t>(n));
    else if (n == 0 || (errno != EAGAIN && errno != EINTR)) close_in();
    else if (errno == EAGAIN) return;
  }
}

void Channel::add_to(std::vector<pollfd> *all) const {
  all->push_back({in_, POLLIN, 0});
  all->push_back({unsent_.empty() ? -1 : out_, POLLOUT, 0});
}

}  // namespace tool

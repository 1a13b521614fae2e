// epoll — a server's loop: requests come in by a timer, each becomes a group of tasks, and its end comes back as a file
// descriptor that epoll watches. The loop's thread never waits for a task and never looks twice: it sleeps in epoll_wait
// until a request or a result is there. Some requests fail; the others do not notice.
#include "../example.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace {

using consort::read, consort::write;
constexpr size_t kParts = 4;

uint64_t primes(uint64_t first, uint64_t last) {
  uint64_t n = 0;
  for (uint64_t i = first < 2 ? 2 : first; i < last; ++i) {
    uint64_t d = 2;
    while (d * d <= i && i % d) ++d;
    n += d * d > i;
  }
  return n;
}

const consort::Codelet count{"count", consort::cpu([](uint64_t &n, uint64_t first, uint64_t last) {
                               if (last % 7 == 0) throw std::domain_error("unlucky number");
                               n = primes(first, last);
                             })};
const consort::Codelet add{"add", consort::cpu([](const uint64_t &a, const uint64_t &b, const uint64_t &c,
                                                  const uint64_t &d, uint64_t &sum) { sum = a + b + c + d; })};

// A request in flight: so many primes below `limit`. Its data, its group, its descriptor.
struct Request {
  Request(consort::Runtime &rt, uint64_t below) : limit(below), group(rt.group("request")) {
    for (auto &p : parts) p = rt.variable<uint64_t>("part");
    total = rt.variable(answer, "total");
  }
  void submit(consort::Runtime &rt) {
    for (size_t i = 0; i < kParts; ++i)
      rt.submit({.group = group}, count, write(parts[i]), limit * i / kParts, limit * (i + 1) / kParts);
    rt.submit({.priority = 1, .group = group}, add, read(parts[0]), read(parts[1]), read(parts[2]), read(parts[3]),
              write(total));
  }

  const uint64_t limit;
  uint64_t answer = 0;
  std::array<consort::Data<uint64_t &>, kParts> parts;
  consort::Data<uint64_t &> total;
  consort::Group group;
};

class Loop {
 public:
  Loop() : epoll_(check(epoll_create1(EPOLL_CLOEXEC))), timer_(check(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC))) {}
  ~Loop() {
    close(timer_);
    close(epoll_);
  }
  void tick_every(long us) {
    const itimerspec every{{0, us * 1000}, {0, us * 1000}};
    check(timerfd_settime(timer_, 0, &every, nullptr));
    watch(timer_, nullptr);
  }
  void watch(int fd, Request *request) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.ptr = request;  // null: the timer
    check(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e));
  }
  void forget(int fd) { check(epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr)); }
  Request *next() {  // sleeps until something is readable; takes what is in it
    epoll_event e{};
    while (epoll_wait(epoll_, &e, 1, -1) < 0)
      if (errno != EINTR) check(-1);
    auto *request = static_cast<Request *>(e.data.ptr);
    uint64_t times = 0;
    if (::read(request ? request->group.fd() : timer_, &times, sizeof times) < 0 && errno != EAGAIN) check(-1);
    return request;
  }

 private:
  static int check(int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "epoll");
    return result;
  }
  int epoll_, timer_;
};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(
      argc, argv,
      {{"requests", 40, "requests that come in, one every 500 us"}, {"flight", 4, "requests in flight at most"}});
  const size_t requests = size["requests"], flight = size["flight"];
  size_t begun = 0, ended = 0, failed = 0, most = 0, wakes = 0;
  bool right = true;
  consort::Runtime rt(size.settings());
  Loop loop;
  loop.tick_every(500);
  std::vector<std::unique_ptr<Request>> live;

  while (ended < requests) {
    Request *request = loop.next();
    ++wakes;
    if (!request) {  // a tick: another request, if there is room
      if (begun == requests || live.size() == flight) continue;
      live.push_back(std::make_unique<Request>(rt, 1000 + 100 * begun++));
      live.back()->submit(rt);
      loop.watch(live.back()->group.fd(), live.back().get());
      most = std::max(most, live.size());
      continue;
    }
    const bool should_fail = request->limit % 7 == 0 || request->limit / 4 % 7 == 0 || request->limit / 2 % 7 == 0 ||
                             request->limit * 3 / 4 % 7 == 0;
    try {
      // The descriptor says that the group had nothing pending; that may have been between two of its submissions.
      if (!request->group.wait_for(std::chrono::seconds(0))) continue;
      right &= !should_fail && *request->total.read() == primes(0, request->limit);
    } catch (const consort::Error &e) {
      right &= should_fail && std::strstr(e.what(), "unlucky number");
      ++failed;
    }
    loop.forget(request->group.fd());
    std::erase_if(live, [&](const auto &one) { return one.get() == request; });
    ++ended;
  }
  return example::end(right, "epoll: %zu requests, %zu of them failed, up to %zu in flight, %zu wakes of the loop",
                      ended, failed, most, wakes);
} catch (const std::exception &e) {
  return example::failed(e);
}

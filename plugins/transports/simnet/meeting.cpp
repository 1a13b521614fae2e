#include "meeting.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <consort/shared/plain_file.hpp>
#include <consort/plugin/host.hpp>

#include <algorithm>

namespace simnet {
namespace {

constinit std::mutex list_mutex;
constinit Meeting *first = nullptr;  // guarded by list_mutex

}  // namespace

Meeting::Meeting(const Network &net, uint32_t ranks, std::string report) : report_(std::move(report)), domain_(net, ranks), seats_(ranks) {
  if (getrandom(&number_, sizeof number_, 0) != sizeof number_)
    throw consort::plugin::Error(CONSORT_E_IO, "the system gives no random number");
}

std::shared_ptr<Meeting> Meeting::make(const Network &net, uint32_t ranks, Secret secret, std::string report) {
  std::shared_ptr<Meeting> m(new Meeting(net, ranks, std::move(report)));
  m->proof_ = prove(secret, "simnet meeting", {}, 0);
  const std::lock_guard lock(list_mutex);
  m->next_ = first, first = m.get();
  m->is_listed_ = true;
  return m;
}

std::shared_ptr<Meeting> Meeting::find(uint64_t number) {
  const std::lock_guard lock(list_mutex);
  for (Meeting *m = first; m; m = m->next_)
    if (m->number_ == number) return m->weak_from_this().lock();
  return nullptr;
}

bool Meeting::knows(Secret secret) const noexcept { return is_same(proof_, prove(secret, "simnet meeting", {}, 0)); }

Meeting::~Meeting() {
  if (is_listed_) {
    const std::lock_guard lock(list_mutex);
    Meeting **at = &first;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
  }
  if (report_.empty()) return;
  const int fd = consort::shared::open_to_write(report_, O_APPEND);
  if (fd < 0) return;
  const std::string all = domain_.report();
  (void)!::write(fd, all.data(), all.size());  // a report that is cut short is seen by its reader
  ::close(fd);
}

void Meeting::pass_on() {
  std::optional<Grant> g = domain_.next();
  if (!g) return;
  Seat &seat = seats_[g->rank];
  seat.grant = std::move(g);
  seat.changed.notify_one();
}

Grant Meeting::wait(uint32_t rank, uint64_t now, uint64_t until, std::vector<Post> posts) {
  std::unique_lock lock(mutex_);
  Seat &seat = seats_[rank];
  domain_.wait(rank, now, until, std::move(posts));
  pass_on();
  seat.changed.wait(lock, [&] { return seat.grant.has_value(); });
  Grant g = std::move(*seat.grant);
  seat.grant.reset();
  return g;
}

void Meeting::leave(uint32_t rank, std::vector<Post> posts) {
  const std::lock_guard lock(mutex_);
  domain_.leave(rank, std::move(posts));
  pass_on();
}

void Meeting::lost(uint32_t rank) {
  const std::lock_guard lock(mutex_);
  domain_.lost(rank);
  pass_on();
}

}  // namespace simnet

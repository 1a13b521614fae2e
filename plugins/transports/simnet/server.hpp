// server.hpp — the domain for ranks of other processes: a socket of this machine, and a thread for each of these ranks.
//
// Owned by rank 0. A process of another user, or one that does not prove the job's secret, is closed. The destructor
// returns when those ranks have left.
#pragma once
#include <list>
#include <string>
#include <thread>

#include "../fd.hpp"
#include "meeting.hpp"
#include "proof.hpp"

namespace simnet {

class Server {
 public:
  Server(std::shared_ptr<Meeting>, Secret);  // throws Error
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;
  const std::string &name() const noexcept { return name_; }  // of the socket

 private:
  struct Guest {
    transports::Fd fd;
    bool is_rank = false;                 // guarded by mutex_
    std::thread thread;
  };
  void accept_all() noexcept;
  void serve(Guest &) noexcept;
  bool admit(Guest &, uint32_t *rank);

  const std::shared_ptr<Meeting> meeting_;
  const Secret secret_;
  std::string name_;
  transports::Fd listening_;
  std::mutex mutex_;                      // guards the following fields
  std::list<Guest> guests_;
  std::vector<bool> taken_;               // ranks that have come
  bool is_closed_ = false;
  std::thread thread_;
};

}  // namespace simnet

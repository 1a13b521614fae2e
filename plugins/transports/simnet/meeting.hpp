// meeting.hpp — the domain of a job and the ranks that wait for their turn in it.
//
// One for each job, in the process of rank 0. Ranks of this process call it; a thread for each rank of another process
// calls it in its place (server.hpp). One mutex guards the domain, a leaf. The list of meetings is the only state of this
// plugin that belongs to the process instead of a runtime.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>

#include "domain.hpp"
#include "proof.hpp"

namespace simnet {

class Meeting : public std::enable_shared_from_this<Meeting> {
 public:
  // For rank 0. Others find it by its number, which no other meeting of any process has.
  static std::shared_ptr<Meeting> make(const Network &, uint32_t ranks, Secret, std::string report);
  static std::shared_ptr<Meeting> find(uint64_t number);  // nullptr: not in this process
  ~Meeting();
  Meeting(const Meeting &) = delete;
  Meeting &operator=(const Meeting &) = delete;

  bool knows(Secret) const noexcept;       // it is that of rank 0
  uint64_t number() const noexcept { return number_; }
  uint32_t ranks() const noexcept { return static_cast<uint32_t>(seats_.size()); }
  // Ends the turn of the rank and blocks until it has the next one.
  Grant wait(uint32_t rank, uint64_t now, uint64_t until, std::vector<Post> posts);
  void leave(uint32_t rank, std::vector<Post> posts);
  void lost(uint32_t rank);

 private:
  Meeting(const Network &, uint32_t ranks, std::string report);
  void pass_on();                          // under the lock: gives the turn away, if no rank has it

  Meeting *next_ = nullptr;                // in the list
  bool is_listed_ = false;

  struct Seat {
    std::condition_variable changed;
    std::optional<Grant> grant;
  };
  Proof proof_{};
  const std::string report_;               // file for totals; "": none
  uint64_t number_;
  std::mutex mutex_;
  Domain domain_;
  std::vector<Seat> seats_;
};

}  // namespace simnet

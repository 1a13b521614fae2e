// job_outcome.hpp — what `consort run` has seen of a job: its status, whether its ranks are being ended, whether it starts
// again. The same for ranks of this machine and of others. One thread.
#pragma once
#include <cstdint>
#include <string>

namespace tool {

class JobOutcome {
 public:
  static constexpr int kGraceMs = 2000;   // from SIGTERM to SIGKILL, once the ranks are being ended

  // may_restart: the job may start again after this time.
  JobOutcome(uint32_t ranks, bool may_restart) noexcept : ranks_(ranks), may_restart_(may_restart) {}

  // Names the rank if it failed. True: the others cannot go on without it, and are to be ended.
  bool rank_ended(uint32_t rank, const std::string &host, int status, bool was_killed, const std::string &words);
  // A rank asked for the end of the job. False: it is being ended already.
  bool aborted(const std::string &why);
  void failed(int status) noexcept { status_ = status_ ? status_ : status; }
  void told_to_end() noexcept { was_told_ = true; }

  int status() const noexcept { return status_; }
  bool is_ending() const noexcept { return is_ending_; }
  // A rank was killed or lost, and neither the user nor a rank asked for the end.
  bool wants_restart() const noexcept { return may_restart_ && was_killed_ && !was_told_; }

 private:
  const uint32_t ranks_;
  const bool may_restart_;
  int status_ = 0;
  bool is_ending_ = false, was_killed_ = false, was_told_ = false;
};

}  // namespace tool

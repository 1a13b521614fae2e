#include "job_outcome.hpp"

#include "terminal.hpp"

namespace tool {

bool JobOutcome::rank_ended(uint32_t rank, const std::string &host, int status, bool was_killed, const std::string &words) {
  if (!status) return false;
  failed(status);
  complain("rank " + std::to_string(rank) + " of " + std::to_string(ranks_) + " on host " + host + " " + words);
  if (!was_killed || is_ending_) return false;
  was_killed_ = true;
  return is_ending_ = wants_restart();
}

bool JobOutcome::aborted(const std::string &why) {
  if (is_ending_) return false;
  complain("the job is ended: " + printable(why));
  is_ending_ = was_told_ = true;
  failed(1);
  return true;
}

}  // namespace tool

// rank_boot.hpp — consort.boot/1 as the job uses it: how the ranks find one another.
//
// folder_boot.hpp: processes of one machine. thread_ranks.hpp: threads of one process. [control].
#pragma once
#include <consort/transport.h>

#include <string>

namespace consort {

class RankBoot {
 public:
  virtual ~RankBoot() = default;
  virtual consort_status put(const char *key, const void *, uint32_t n) noexcept = 0;
  virtual consort_status get(uint32_t rank, const char *key, void *, uint32_t *n, uint64_t deadline) noexcept = 0;
  virtual consort_status fence(uint64_t deadline) noexcept = 0;
  virtual void abort(const char *why) noexcept = 0;
  // How a rank ended, in words of the launcher; "": it has not.
  virtual std::string end_of(uint32_t rank) const = 0;
  // Fills what it knows; the caller adds the functions.
  virtual void describe(consort_boot &) const noexcept = 0;
};

}  // namespace consort

// folder_boot.hpp — consort.boot/1 for the ranks of one machine: they meet in a private folder.
//
// `consort run` makes the folder, with the file `secret` in it (tools/job_folder.cpp). put() writes RANK.KEY, get() waits
// for one, fence() is a put and a get of all ranks. `RANK.ended`, from the launcher, ends such waits. `abort` asks the
// launcher to end the job. The folder and its files belong to this user, and no other may read them. [control].
#pragma once
#include <memory>
#include <string>

#include "base/park.hpp"
#include "base/result.hpp"
#include "remote/rank_boot.hpp"

namespace consort {

class Clock;

class FolderBoot final : public RankBoot {
 public:
  static Result<std::unique_ptr<FolderBoot>> open(const Clock &, const std::string &folder, uint32_t rank, uint32_t ranks);
  ~FolderBoot() override;
  FolderBoot(const FolderBoot &) = delete;
  FolderBoot &operator=(const FolderBoot &) = delete;

  consort_status put(const char *key, const void *, uint32_t n) noexcept override;
  consort_status get(uint32_t rank, const char *key, void *, uint32_t *n, uint64_t deadline) noexcept override;
  consort_status fence(uint64_t deadline) noexcept override;
  void abort(const char *why) noexcept override;
  std::string end_of(uint32_t rank) const override;
  void describe(consort_boot &) const noexcept override;

 private:
  FolderBoot(const Clock &clock, int folder, std::string job, uint32_t rank, uint32_t ranks) noexcept
      : clock_(clock), folder_(folder), job_(std::move(job)), rank_(rank), ranks_(ranks) {}
  consort_status read_once(const std::string &name, void *, uint32_t *n) const noexcept;

  const Clock &clock_;
  const int folder_;
  const std::string job_;
  const uint32_t rank_, ranks_;
  uint32_t fences_ = 0;
  std::string secret_;
  Parker parker_;
};

// Equal on two processes if shared memory works between them: machine, boot and namespaces.
uint64_t host_number() noexcept;
std::string host_name();

}  // namespace consort

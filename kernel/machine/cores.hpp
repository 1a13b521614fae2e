// cores.hpp — the process-wide record of which runtime uses which cores.
//
// It is process-wide because two runtimes that bind workers to the same cores would delay each other by spinning. It
// only keeps the record: it binds no thread and calls no device. [any] thread may claim; a mutex (rank: leaf) guards
// the list.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace consort {

// Releases its cores on destruction. Movable; a moved-from lease holds nothing.
class CoreLease {
 public:
  CoreLease() = default;
  CoreLease(CoreLease &&other) noexcept : claim_(other.claim_) { other.claim_ = nullptr; }
  CoreLease &operator=(CoreLease &&other) noexcept {
    std::swap(claim_, other.claim_);
    return *this;
  }
  ~CoreLease();

  // A text for the log at level info: "shares cores 0-1 with runtime #1"; "" if no core is shared.
  std::string_view sharing() const noexcept;

 private:
  struct Claim;
  explicit CoreLease(Claim *c) : claim_(c) {}
  Claim *claim_ = nullptr;
  friend Result<CoreLease> claim(std::span<const int> os_cores, bool refuse, std::string_view owner);
};

// Claims cores for the runtime described by `owner`. Negative numbers (unbound workers) claim nothing. If another runtime
// has one of the cores: with `refuse` returns E_BUSY, naming that runtime and the cores; else the cores are shared.
Result<CoreLease> claim(std::span<const int> os_cores, bool refuse, std::string_view owner);

std::string print_cores(std::vector<int> cores);  // "0-3,8"; sorts and removes duplicates

}  // namespace consort

// cores.hpp — the arbiter: which runtime of this process has which cores.
//
// The one thing that runtimes of a process must know of one another, and so the one state that is the process's:
// two runtimes that bind workers to the same cores would each wait for the other's spinning. [any] thread may
// claim; a mutex (rank: leaf) guards the list. It only keeps the book: it binds nobody and asks no device.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace consort {

// Gives the cores back when it goes. Movable; a moved-from lease holds nothing.
class CoreLease {
 public:
  CoreLease() = default;
  CoreLease(CoreLease &&other) noexcept : claim_(other.claim_) { other.claim_ = nullptr; }
  CoreLease &operator=(CoreLease &&other) noexcept {
    std::swap(claim_, other.claim_);
    return *this;
  }
  ~CoreLease();

  // Worth a line in the log at info: "shares cores 0-1 with runtime #1"; "" where nothing is shared.
  std::string_view sharing() const noexcept;

 private:
  struct Claim;
  explicit CoreLease(Claim *c) : claim_(c) {}
  Claim *claim_ = nullptr;
  friend Result<CoreLease> claim(std::span<const int> os_cores, bool refuse, std::string_view who);
};

// Negative numbers (unbound workers) claim nothing. refuse: E_BUSY, naming the other and the cores, where another
// runtime has one of them already; else they are shared.
Result<CoreLease> claim(std::span<const int> os_cores, bool refuse, std::string_view who);

std::string print_cores(std::vector<int> cores);  // "0-3,8"; sorts, drops what is double

}  // namespace consort

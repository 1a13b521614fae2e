// portable.hpp — an implementation given as a kernel's text: loaded for a device at its first use, launched over its
// task's data.
//
// Belongs to its codelet. Any worker's thread. While a driver compiles for a device, threads that need a kernel of that
// device wait; others do not. A text that failed to load is not loaded again.
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace consort {

struct Device;
class DataTable;
struct Task;

class Portable {
 public:
  // One task's launch; the arguments stay in place until it has completed.
  struct Launch {
    std::vector<consort_arg> args;
    consort_launch what;
  };

  static Result<std::unique_ptr<Portable>> make(const consort_impl &, size_t devices);
  // Loads it at the first use on a device, which takes as long as its compiler. < 0: error text set.
  consort_status load(const Device &) noexcept;
  // Lock-free and without loading: whether load() has succeeded, or failed.
  bool is_loaded(const Device &) const noexcept;
  bool was_refused(const Device &) const noexcept;
  bool warn_once(const Device &) noexcept;  // true at the first call for this device
  bool asks_for_range() const noexcept { return how_.range; }  // a function computes its range at each launch

  // Prepares the launch for this task: code, arguments, range. < 0: error text set.
  consort_status prepare(const DataTable &, const Device &, const consort_call &, const Task &, Launch &) noexcept;

  // The function of such an implementation, for code that only tests for one. A call is a bug and returns an error.
  static consort_status stand_in(const consort_call *) noexcept;

 private:
  enum State : uint8_t { kUntried, kLoaded, kRefused };
  struct Loaded {                   // on one device; written once, under its `loading`
    std::atomic<State> state{kUntried};  // release where it is tried pairs with acquire where the rest is read
    std::atomic<bool> warned{false};     // relaxed: the exchange alone decides which caller is the first
    consort_status status = CONSORT_OK;
    uint64_t code = 0;
    std::string why;
  };
  Portable(const consort_impl &, size_t devices);
  Loaded &on(const Device &) const noexcept;
  void try_on(const Device &, Loaded &) noexcept;
  consort_status arguments(const DataTable &, const consort_call &, const Task &, Launch &) const;
  consort_status range(const DataTable &, const consort_call &, const Task &, Launch &) const;

  const std::string format_, text_, entry_;
  const bool has_entry_;
  consort_portable how_ = CONSORT_PORTABLE_INIT;
  std::vector<consort_pass> passed_;
  const std::unique_ptr<Loaded[]> loaded_;  // by device
};

}  // namespace consort

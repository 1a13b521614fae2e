// portable.hpp — an implementation that is text: loaded for a device at its first use there, launched over its task's
// data.
//
// Belongs to its codelet. Any worker's thread. While a driver compiles for a device, whoever wants a kernel of that same
// device waits, and nobody else does. What did not load is not tried again.
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
  // One task's launch; the arguments stay where they are until it has completed.
  struct Launch {
    std::vector<consort_arg> args;
    consort_launch what;
  };

  static Result<std::unique_ptr<Portable>> make(const consort_impl &, size_t devices);
  // At the first use on a device: takes as long as its compiler. < 0: told in the error slot.
  consort_status load(const Device &) noexcept;
  // Without a lock or a try: whether load() has said yes, or no.
  bool is_loaded(const Device &) const noexcept;
  bool was_refused(const Device &) const noexcept;
  bool warn_once(const Device &) noexcept;  // is this the first time that anybody asks?
  bool asks_for_range() const noexcept { return how_.range; }  // a function says over how much it runs, each time

  // What is launched for this task: the code, its arguments, how many. < 0: told in the error slot.
  consort_status prepare(const DataTable &, const Device &, const consort_call &, const Task &, Launch &) noexcept;

  // The function of such an implementation, for whoever asks only whether there is one. Called: a mistake, and says so.
  static consort_status stand_in(const consort_call *) noexcept;

 private:
  enum State : uint8_t { kUntried, kLoaded, kRefused };
  struct Loaded {                   // on one device; written once, under its `loading`
    std::atomic<State> state{kUntried};  // release where it is tried pairs with acquire where the rest is read
    std::atomic<bool> warned{false};     // relaxed: the exchange alone says which caller is the first
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

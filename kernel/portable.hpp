// portable.hpp — an implementation that is text: loaded for a device at its first use there, launched over its task's
// data.
//
// Belongs to its codelet. Any worker's thread; the mutex is held while a driver compiles, so that this is done once.
// What did not load is told again to each task, without another try.
#pragma once
#include <consort/consort.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "result.hpp"

namespace consort {

struct Device;
struct Runtime;
struct Task;

class Portable {
 public:
  // One task's launch; the arguments stay where they are until it has completed.
  struct Launch {
    std::vector<consort_arg> args;
    consort_launch what;
  };

  static Result<std::unique_ptr<Portable>> make(const consort_impl &);
  // What is launched for this task: the code, its arguments, how many. < 0: told in the error slot.
  consort_status prepare(Runtime &, Device &, const consort_call &, const Task &, Launch &) noexcept;

  // The function of such an implementation, for whoever asks only whether there is one. Called: a mistake, and says so.
  static consort_status stand_in(const consort_call *) noexcept;

 private:
  explicit Portable(const consort_impl &);
  struct Loaded { const Device *device; consort_status status; uint64_t code; std::string why; };
  consort_status load(Runtime &, Device &, uint64_t *code);
  consort_status arguments(const Runtime &, const consort_call &, const Task &, Launch &) const;
  consort_status range(const Runtime &, const consort_call &, const Task &, Launch &) const;

  const std::string format_, text_, entry_;
  const bool has_entry_;
  consort_portable how_ = CONSORT_PORTABLE_INIT;
  std::vector<consort_pass> passed_;
  std::mutex mutex_;                // guards loaded_; above the drivers' [control]
  std::vector<Loaded> loaded_;
};

}  // namespace consort

// process.hpp — MPI in this process: started once, by the program or by this plugin, and never unloaded.
//
// A thread of the plugin starts MPI, as MPI wants to be finished by the thread that has started it. If the library then
// grants calls of all threads, the thread sleeps until the process ends. Else every call of MPI is made by it, and it drives
// the endpoint; post() and poll() only fill and empty queues. MPI is finished when the process ends and no job is open.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "library.hpp"

namespace mpi {

class Process {
 public:
  // [control] MPI, started. `threads`: auto, own (of the plugin alone), serialized (the program calls no MPI meanwhile). Throws.
  static Process &start(const std::string &library, const std::string &threads);

  Library &library() noexcept { return library_; }
  bool has_own_thread() const noexcept { return is_driven_; }
  // Calls `what` where calls of MPI may be made, and waits for its end. What it throws comes out here.
  void run(const std::function<void()> &what);
  // The own thread calls `step` again and again, until it is replaced by none.
  void drive(std::function<bool()> step);
  void poke() noexcept;  // the step has something to do
  // One endpoint at a time for each channel.
  bool take(Channel &);
  void give_back(Channel &) noexcept;

 private:
  Process(Library &library, bool is_ours, const std::string &threads);
  void loop() noexcept;
  void end() noexcept;

  Library &library_;
  bool is_driven_ = false, is_ours_ = false;
  std::mutex mutex_;                // guards the following fields
  std::condition_variable changed_;
  const std::function<void()> *task_ = nullptr;
  std::exception_ptr error_;
  std::function<bool()> step_;
  bool is_ending_ = false, is_poked_ = false;
  std::set<Channel *> open_;
  std::mutex running_;              // one run() at a time
  std::thread thread_;
};

}  // namespace mpi

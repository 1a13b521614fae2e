#include "process.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <consort/plugin/host.hpp>
#include <cstdlib>
#include <utility>

#include "choice.hpp"

namespace mpi {
namespace {

using consort::plugin::Error;

constexpr std::chrono::microseconds kShortNap{20}, kLongNap{1000};

std::mutex starting;
Process *the_process = nullptr;  // until the process ends

// The plugin's code must stay where its thread runs, and where exit() calls it.
void keep_this_file() {
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&keep_this_file), &self) && self.dli_fname)
    (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

Process &Process::start(const std::string &library, const std::string &threads) {
  const std::lock_guard guard(starting);
  if (!the_process) {
    Library &found = load(library);
    keep_this_file();
    the_process = new Process(found, !found.is_started() || found.is_ours(), threads);
  }
  if (the_process->library_.is_over()) throw Error(CONSORT_E_STOPPED, "MPI is finished in this process, and cannot start again");
  return *the_process;
}

Process::Process(Library &library, bool is_ours, const std::string &threads) : library_(library), is_ours_(is_ours) {
  if (!is_ours) {
    const Library::Threads granted = library.start(Library::Threads::kAll);
    if (granted == Library::Threads::kAll || (granted == Library::Threads::kSerial && threads == "serialized")) return;
    throw Error(CONSORT_E_UNSUPPORTED,
                "the program has started MPI without MPI_THREAD_MULTIPLE; call MPI_Init_thread with it, or start no MPI. If "
                "MPI_THREAD_SERIALIZED was granted and the program makes no call of MPI meanwhile, say mpi.threads = serialized");
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  is_driven_ = true;  // for run()
  Library::Threads granted = Library::Threads::kOne;
  try {
    run([&] { granted = library.start(threads == "own" ? Library::Threads::kOne : Library::Threads::kAll); });
    if (std::atexit([] { the_process->end(); }) != 0) throw std::bad_alloc();
  } catch (...) {
    end();  // of the thread; MPI, if it has started, stays for the next try
    throw;
  }
  const std::lock_guard guard(mutex_);
  is_driven_ = threads == "own" || granted != Library::Threads::kAll;
}

void Process::run(const std::function<void()> &what) {
  if (!is_driven_) return what();
  const std::lock_guard one(running_);
  std::unique_lock lock(mutex_);
  task_ = &what;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !task_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Process::drive(std::function<bool()> step) {
  run([&] { step_.swap(step); });
}

void Process::poke() noexcept {
  {
    const std::lock_guard guard(mutex_);
    is_poked_ = true;
  }
  changed_.notify_all();
}

bool Process::take(Channel &c) {
  const std::lock_guard guard(mutex_);
  return open_.insert(&c).second;
}

void Process::give_back(Channel &c) noexcept {
  const std::lock_guard guard(mutex_);
  open_.erase(&c);
}

void Process::loop() noexcept {
  pthread_setname_np(pthread_self(), "mpi");
  std::unique_lock lock(mutex_);
  for (uint32_t idle = 0;;) {
    if (task_) {
      const auto *const task = task_;
      lock.unlock();
      std::exception_ptr error;
      try {
        (*task)();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      task_ = nullptr, error_ = error;
      changed_.notify_all();
      continue;
    }
    if (is_ending_) return;
    if (!step_) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    idle = step_() ? 0 : idle + 1;
    lock.lock();
    if (idle) changed_.wait_for(lock, idle < 1000 ? kShortNap : kLongNap, [&] { return task_ || is_ending_ || is_poked_; });
    is_poked_ = false;
  }
}

// At the end of the process, on the thread that calls exit().
void Process::end() noexcept {
  bool finishes;
  {
    const std::lock_guard guard(mutex_);
    finishes = open_.empty() && !library_.is_over() && library_.is_started();  // else the launcher ends the job
  }
  is_driven_ = true;  // MPI is finished by the thread that has started it
  try {
    if (finishes) run([&] { library_.finish(); });
  } catch (const std::exception &) {  // no memory: the launcher sees the end of the process
  }
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace mpi

// child.hpp — runs code that calls a plugin in a process of its own, so that it may crash, hang and leak.
//
// The process that forks has one thread and loads no plugin. The child leads a process group, which is killed as a
// whole when its time has passed: seconds of computing, or seconds in which no thread of it could compute. So a case
// has the same time on a busy machine, or on one that was suspended for a while.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "patience.hpp"

namespace conform {

struct Ended {
  int status = 0;          // as returned by waitpid()
  bool timed_out = false;
  std::string printed;     // its end
};

class Child {
 public:
  // Throws std::system_error if no process can be created.
  Child(double limit_seconds, const std::function<void()> &body);
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child();                // kills it

  // Reads what the child has printed, and kills it after its time. To be called again within 20 ms until it is true.
  bool has_ended();
  void start_anew() { patience_.start_anew(); }  // it has made progress: its time begins again
  Ended &ended() { return ended_; }              // after has_ended()
  double spent() const { return patience_.spent(); }

  // Returns after 20 ms, or once one of them has printed or ended.
  static void wait(const std::vector<Child *> &);

 private:
  void read_output(bool all);
  void kill_all() const;

  int output_ = -1, end_ = -1;                   // end_: readable when the process has ended; -1 on old systems
  pid_t pid_;
  Patience patience_;
  Ended ended_;
  bool is_gone_ = false;
};

// Runs one child to its end. Throws as its constructor does.
Ended run_apart(double limit_seconds, const std::function<void()> &body);

}  // namespace conform

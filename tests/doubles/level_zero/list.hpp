// list.hpp — immediate command lists: a thread each, which executes commands as soon as they may be.
//
// As in Level Zero the commands of a list are ordered by events and barriers alone. One of the commands that may run
// next is taken at random, so that a program that relies on another order fails.
#pragma once
#include "machine.hpp"

namespace ze_double {

struct Command {
  std::string what;
  std::function<bool(Lock &)> run;  // without the lock; false: it cannot go on, the device is lost. Null: a barrier
  std::vector<std::shared_ptr<Event>> waits;
  std::shared_ptr<Event> signal;
  std::vector<Range> ranges;        // of copies and fills: nothing else may touch them meanwhile
  std::vector<uint64_t> touched;    // blocks that have to stay
  uint64_t bytes = 0;
};

struct List : Object {
  List() : Object(Kind::list) {}
  std::shared_ptr<Device> device;
  bool synchronous = false, copies_only = false, closing = false;
  uint64_t given = 0, done = 0, pattern = 1;
  std::deque<Command> queue;
  std::thread thread;
};

std::shared_ptr<List> make_list(Machine &, const std::shared_ptr<Device> &, uint64_t context);
void append(Lock &, Machine &, const std::shared_ptr<List> &, Command);
void close_list(Lock &, Machine &, const std::shared_ptr<List> &);

}  // namespace ze_double

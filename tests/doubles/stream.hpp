// Streams: a thread each, which executes its operations one after another; events mark how far one has come. An
// operation waits only for operations that were submitted before it, so nothing here can wait in a circle. The
// machine's lock is held by callers; waiting gives it back meanwhile.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <random>

#include "work.hpp"

namespace gpu {

struct Capture;

struct Dep {
  std::shared_ptr<Stream> stream;
  uint64_t serial = 0;
};

struct Record {  // of an event, the last one
  Dep at;
  Clock clock;
  std::chrono::steady_clock::time_point when{};  // right once it is done
  std::weak_ptr<Capture> capture;                // where it was recorded into a graph: that graph's nodes
  std::vector<size_t> nodes;
};

struct Op {
  Work work;
  std::vector<Dep> deps;
  uint64_t serial = 0;
  std::shared_ptr<Record> record;
  Clock clock;
  int fault = 0;
};

struct Stream : Object {
  std::shared_ptr<Context> context;
  uint64_t number = 0;
  unsigned flags = 0;
  int priority = 0;
  bool blocking = true;  // ordered with the default stream
  bool hidden = false;   // never created: a default stream
  bool closing = false, ended = false;
  uint64_t submitted = 0, done = 0;
  std::deque<Op> queue;
  Clock clock;  // the predecessors of its last operation
  std::condition_variable wake;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> frontier;  // the nodes that the next one captured comes after
  std::mt19937_64 random;
};

struct Event : Object {
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  bool timed = true;
  std::shared_ptr<Record> record;
};

std::shared_ptr<Stream> make_stream(const std::shared_ptr<Context> &context, bool blocking, int priority,
                                    unsigned flags, bool hidden = false);
// The stream that is meant by 0, by the handles of default streams, or by a handle. Default streams belong to the
// current context. Where `submits`, one of another context is a violation.
std::shared_ptr<Stream> stream_of(const void *handle, const std::shared_ptr<Context> &current, bool submits);
// Pending operations still run; then its thread ends.
void close_stream(const std::shared_ptr<Stream> &stream);
void end_stream(Lock &lock, const std::shared_ptr<Stream> &stream);  // and waits for its thread

// Checks it and puts it at the stream's end, or into the graph that the stream is captured to. Its serial, or 0.
uint64_t submit(const std::shared_ptr<Stream> &stream, Work work, std::vector<Dep> deps = {},
                const Clock *after = nullptr);

void wait_done(Lock &lock, const std::shared_ptr<Stream> &stream, uint64_t serial);
// Waits for all of it, throws the error of its context.
void synchronize(Lock &lock, const std::shared_ptr<Stream> &stream);
bool idle(const Stream &stream);  // and if so the host knows

// Looks that nothing unordered touches the same bytes, and remembers the accesses.
void order(const std::shared_ptr<Stream> &stream, uint64_t serial, const std::vector<Touch> &all);

void record(Event &event, const std::shared_ptr<Stream> &stream);
void wait_event(const std::shared_ptr<Stream> &stream, Event &event);
bool reached(const Event &event);  // also when it was never recorded
void synchronize(Lock &lock, const Event &event);

// Waits for the users of a block; if the host has not seen their end before, that is a violation.
void await_users(Lock &lock, const std::shared_ptr<Block> &block, const char *call);

}  // namespace gpu

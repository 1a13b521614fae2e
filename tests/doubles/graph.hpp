// Graphs: a stream's operations become one while it is captured, and it is launched again and again. A graph that may
// be launched (Exec) has copies of its nodes' work, so that a change affects no earlier launch.
#pragma once
#include <thread>

#include "stream.hpp"

namespace gpu {

struct Graph;

struct Node : Object {
  Work work;
  std::vector<size_t> deps;  // nodes of the same graph, by their index, which is smaller
  std::vector<bool> before;  // all that it comes after
  std::vector<Touch> touched;
  std::string what;
  size_t index = 0;
  std::vector<void *> addresses;  // of a kernel's parameters, for queries

  void **pointers();
};

struct Graph : Object {
  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Node>> nodes;
};

struct Exec : Object {
  struct Step {
    uint64_t node = 0;  // the handle
    Work work;
    std::vector<size_t> deps;
  };
  std::shared_ptr<Context> context;
  std::vector<Step> steps;
  Dep last;  // one launch at a time
  Clock clock;
};

enum class CaptureMode { global, this_thread, relaxed };

struct Capture {
  uint64_t id = 0;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  std::shared_ptr<Graph> graph;
  std::vector<std::shared_ptr<Stream>> streams;  // the stream that began the capture first
  bool invalid = false;
  std::vector<void *> told;  // handles of the predecessors of the next node, from the last query
};

void begin_capture(const std::shared_ptr<Stream> &stream, CaptureMode mode);
std::shared_ptr<Graph> end_capture(const std::shared_ptr<Stream> &stream);
void capture(const std::shared_ptr<Stream> &stream, Work work);
const std::vector<void *> &frontier_of(const std::shared_ptr<Stream> &stream);  // which is captured
void capture_wait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Capture> &from, const Record &record);
// Calls that make no sense while something is captured end that capture.
void refuse_captured(const Stream &stream);  // of this stream
void refuse_capturing();                     // of any that forbids such calls in this thread
void refuse_implicit(const Stream &stream);  // the default stream, or one ordered with it

std::shared_ptr<Exec> instantiate(const std::shared_ptr<Graph> &graph);
void launch(Exec &exec, const std::shared_ptr<Stream> &stream);
Exec::Step &step_of(Exec &exec, const void *node);
void destroy(Graph &graph);

}  // namespace gpu

#include "graph.hpp"

#include <algorithm>

#include "call.hpp"

namespace gpu {

namespace {

void invalidate(Capture &capture, int code) {
  capture.invalid = true;
  fail(code);
}

void leave(const std::shared_ptr<Capture> &capture) {
  for (const auto &stream : capture->streams) {
    stream->capture.reset();
    stream->frontier.clear();
  }
  capture->streams.clear();
  std::erase_if(machine().captures, [&](const auto &one) { return one.lock() == capture || one.expired(); });
}

void forget(const Graph &graph) {  // the nodes whose handles were returned
  for (const auto &node : graph.nodes) {
    machine().nodes.remove(*node);
  }
}

bool conflicting(const std::vector<Touch> &a, const std::vector<Touch> &b) {
  return std::any_of(a.begin(), a.end(), [&](const Touch &one) {
    return std::any_of(b.begin(), b.end(), [&](const Touch &other) { return conflict(one, other); });
  });
}

}  // namespace

void **Node::pointers() {
  auto *kernel = std::get_if<Kernel>(&work);
  addresses = kernel ? kernel->pointers() : std::vector<void *>();
  return addresses.data();
}

void begin_capture(const std::shared_ptr<Stream> &stream, CaptureMode mode) {
  if (stream->capture || stream->hidden) {
    machine().violate(stream->hidden ? "a default stream cannot be captured" : "the stream is captured already");
    fail(capture_unsupported);
  }
  auto made = std::make_shared<Capture>();
  made->id = ++machine().next_capture;
  made->mode = mode;
  made->thread = std::this_thread::get_id();
  made->graph = std::make_shared<Graph>();
  made->graph->context = stream->context;
  made->streams.push_back(stream);
  machine().captures.push_back(made);
  stream->capture = made;
  stream->frontier.clear();
}

std::shared_ptr<Graph> end_capture(const std::shared_ptr<Stream> &stream) {
  auto capture = stream->capture;
  if (!capture) {
    machine().violate("the stream is not captured");
    fail(invalid_value);
  }
  if (capture->streams.front() != stream) {
    machine().violate("the capture began with another stream");
    capture->invalid = true;
    fail(capture_unmatched);
  }
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id()) {
    machine().violate("the capture began in another thread");
    fail(908);
  }
  auto graph = capture->graph;
  std::vector<bool> joined(graph->nodes.size());
  for (size_t last : stream->frontier) {
    joined[last] = true;
    for (size_t i = 0; i < last; ++i) {
      joined[i] = joined[i] || graph->nodes[last]->before[i];
    }
  }
  bool invalid = capture->invalid;
  leave(capture);
  if (invalid) {
    forget(*graph);
    fail(capture_invalidated);
  }
  if (std::find(joined.begin(), joined.end(), false) != joined.end()) {
    machine().violate("streams that the capture forked to were not joined again");
    forget(*graph);
    fail(capture_unjoined);
  }
  for (auto &node : graph->nodes) {
    if (!node->handle) {
      machine().nodes.add(node);
    }
  }
  machine().graphs.add(graph);
  return graph;
}

void capture(const std::shared_ptr<Stream> &stream, Work work) {
  Capture &into = *stream->capture;
  if (into.invalid) {
    fail(capture_invalidated);
  }
  if (std::holds_alternative<Fresh>(work) || std::holds_alternative<Release>(work)) {
    invalidate(into, capture_unsupported);
  }
  Graph &graph = *into.graph;
  auto node = std::make_shared<Node>();
  node->index = graph.nodes.size();
  node->deps = stream->frontier;
  node->before.resize(node->index);
  for (size_t dep : node->deps) {
    node->before[dep] = true;
    for (size_t i = 0; i < dep; ++i) {
      node->before[i] = node->before[i] || graph.nodes[dep]->before[i];
    }
  }
  node->touched = touches(work);
  node->work = std::move(work);
  node->what = this_call();
  for (const auto &other : graph.nodes) {
    if (!node->before[other->index] && conflicting(node->touched, other->touched)) {
      machine().violate("a captured operation touches what " + other->what +
                        " of the same graph touches, and is not ordered with it");
    }
  }
  stream->frontier = {node->index};
  graph.nodes.push_back(std::move(node));
}

const std::vector<void *> &frontier_of(const std::shared_ptr<Stream> &stream) {
  Capture &into = *stream->capture;
  into.told.clear();
  for (size_t at : stream->frontier) {
    const auto &node = into.graph->nodes[at];
    if (!node->handle) {
      machine().nodes.add(node);
    }
    into.told.push_back(handle_of<void *>(*node));
  }
  return into.told;
}

void capture_wait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Capture> &from, const Record &record) {
  if (from->streams.empty()) {  // it has ended, the event lives on
    machine().violate("the event was recorded into a graph whose capture has ended");
    fail(invalid_value);
  }
  if (!stream->capture) {
    if (stream->hidden) {
      machine().violate("a default stream cannot be captured");
      invalidate(*from, capture_implicit);
    }
    stream->capture = from;
    stream->frontier = record.nodes;
    from->streams.push_back(stream);
    return;
  }
  if (stream->capture != from) {
    machine().violate("two captures would become one");
    stream->capture->invalid = from->invalid = true;
    fail(capture_merge);
  }
  for (size_t node : record.nodes) {
    if (std::find(stream->frontier.begin(), stream->frontier.end(), node) == stream->frontier.end()) {
      stream->frontier.push_back(node);
    }
  }
}

void refuse_captured(const Stream &stream) {
  if (stream.capture) {
    machine().violate("the stream is captured: nothing of it is executed, so nothing can be waited for");
    invalidate(*stream.capture, capture_unsupported);
  }
}

void refuse_capturing() {
  for (const auto &one : machine().captures) {
    auto capture = one.lock();
    if (capture && !capture->streams.empty() &&
        (capture->mode == CaptureMode::global ||
         (capture->mode == CaptureMode::this_thread && capture->thread == std::this_thread::get_id()))) {
      machine().violate("called while a stream is captured in a mode that forbids it");
      invalidate(*capture, capture_unsupported);
    }
  }
}

void refuse_implicit(const Stream &stream) {
  if (!stream.hidden) {
    return;
  }
  for (const auto &[handle, other] : machine().streams.all) {
    if (other->capture && other->blocking && other->context == stream.context) {
      machine().violate("the default stream is used while a stream that is ordered with it is captured");
      invalidate(*other->capture, capture_implicit);
    }
  }
}

std::shared_ptr<Exec> instantiate(const std::shared_ptr<Graph> &graph) {
  auto exec = std::make_shared<Exec>();
  exec->context = graph->context;
  for (const auto &node : graph->nodes) {
    exec->steps.push_back({node->handle, node->work, node->deps});
  }
  machine().execs.add(exec);
  return exec;
}

// A launch may not rely on an order that the graph does not give: unordered nodes run in any order, by the seed.
void launch(Exec &exec, const std::shared_ptr<Stream> &stream) {
  if (stream->capture) {
    invalidate(*stream->capture, not_supported);
  }
  ++machine().graph_launches;
  std::vector<size_t> waits(exec.steps.size()), ready;
  for (size_t i = 0; i < exec.steps.size(); ++i) {
    waits[i] = exec.steps[i].deps.size();
    if (!waits[i]) {
      ready.push_back(i);
    }
  }
  if (exec.last.stream) {
    submit(stream, Nothing{}, {exec.last}, &exec.clock);
  }
  while (!ready.empty()) {
    size_t pick = machine().settings.jitter ? stream->random() % ready.size() : 0;
    size_t at = ready[pick];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    submit(stream, exec.steps[at].work);
    for (size_t i = at + 1; i < exec.steps.size(); ++i) {
      const auto &deps = exec.steps[i].deps;
      if (std::find(deps.begin(), deps.end(), at) != deps.end() && --waits[i] == 0) {
        ready.push_back(i);
      }
    }
  }
  exec.last = {stream, submit(stream, Nothing{})};
  exec.clock = stream->clock;
}

Exec::Step &step_of(Exec &exec, const void *node) {
  object(machine().nodes, node, "the node of a graph", invalid_value);
  for (auto &step : exec.steps) {
    if (step.node == reinterpret_cast<uint64_t>(node)) {
      return step;
    }
  }
  machine().violate("the node is of another graph than the one that was instantiated");
  fail(invalid_value);
}

void destroy(Graph &graph) {
  forget(graph);
  machine().graphs.remove(graph);
}

}  // namespace gpu

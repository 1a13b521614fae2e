// capture.hpp — "consort.capture/1" (driver.h): ops submitted to a unit's queue are recorded in a vendor graph, which is then
// launched as one op any number of times.
//
// Ops are recorded on a separate stream. The queue's own stream is never under capture, so polls, callbacks and waits of other
// queues are unaffected. A Graph belongs to its device, which releases it at close() at the latest.
#pragma once
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "commands.hpp"

namespace gpu {

template <class V>
struct Graph {
  struct Step {
    const Code<V> *code = nullptr;  // set for launches
    typename V::Node node{};        // null: not a node, or not reported by the library
  };
  explicit Graph(Device<V> &d) noexcept : dev(d) {}
  ~Graph() {  // with the context current
    if (made) dev.api.exec_destroy(exec);
    if (captured) dev.api.graph_destroy(graph);
  }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  Device<V> &dev;
  typename V::Graph graph{};
  typename V::Exec exec{};
  bool captured = false, made = false;
  std::vector<Step> steps;  // one per op
};

// All graphs of a device. Locked: one queue may launch while another ends a capture.
template <class V>
class Graphs {
 public:
  void add(std::unique_ptr<Graph<V>> g) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(g));
  }
  Graph<V> *find(uint64_t name) noexcept {
    const std::lock_guard lock(mutex_);
    for (auto &g : all_)
      if (reinterpret_cast<uint64_t>(g.get()) == name) return g.get();
    return nullptr;
  }
  // The context must be current.
  void drop(const Graph<V> *g) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const auto &one) { return one.get() == g; });
  }
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    all_.clear();
  }

 private:
  std::mutex mutex_;  // leaf
  std::vector<std::unique_ptr<Graph<V>>> all_;
};

// State of a capture in progress; belongs to the queue and is used by the submitting thread.
template <class V>
struct Capture {
  explicit Capture(Device<V> &d) : graph(std::make_unique<Graph<V>>(d)) {}
  std::unique_ptr<Graph<V>> graph;
  typename V::Stream stream{};
  consort_status status = CONSORT_OK;  // of the first op that could not be captured, with `why`
  std::string why;
  typename V::Node last{};
};

template <class V>
consort_status Lane<V>::begin_capture() {
  const auto no = [&](consort_status s, const char *words) { return dev_.fail(s, words); };
  if (const consort_status s = dev_.wake(); s < 0) return s;
  if (capture_) return no(CONSORT_E_BUSY, "this queue is being captured already: end that capture first");
  if (!in_order_) return no(CONSORT_E_UNSUPPORTED, "the copy queue has no order and cannot be captured: use a unit's queue");
  if (!api_.has_graphs()) return no(CONSORT_E_UNSUPPORTED, "the library has no graphs: install a newer driver");
  const Current<V> current(dev_);
  if (const int e = current.error()) return dev_.failed(e, "cannot make its context current");
  auto made = std::make_unique<Capture<V>>(dev_);
  if (const int e = api_.stream_create(&made->stream, dev_.driver.settings.priority))
    return dev_.failed(e, "cannot create a stream for a capture");
  if (const int e = api_.capture_begin(made->stream)) {
    api_.stream_destroy(made->stream);
    return dev_.failed(e, "cannot begin a capture");
  }
  capture_ = std::move(made);
  return CONSORT_OK;
}

// Records kernels, fills, and copies within the device's own memory. The first error is kept until end_capture().
template <class V>
void Lane<V>::capture(const consort_op &op, uint64_t own_token) noexcept {
  Capture<V> &c = *capture_;
  if (c.status < 0) return;
  Issued what;
  int e = 0;
  try {
    const auto no = [&](const std::string &words) { refuse(what, CONSORT_E_UNSUPPORTED, words); };
    typename Graph<V>::Step step;
    for (uint32_t i = 0; i < op.nwait; ++i)
      if (op.wait[i].queue != own_token) no("it waits for another queue");
    switch (what.status < 0 ? uint16_t{CONSORT_OP_MARK} : op.kind) {
      case CONSORT_OP_MARK:
        break;
      case CONSORT_OP_LAUNCH:
        step.code = reinterpret_cast<const Code<V> *>(op.u.launch.code);
        e = launch(op.u.launch, c.stream, what);
        break;
      case CONSORT_OP_FILL:
        e = fill(op.u.fill, c.stream, what);
        break;
      case CONSORT_OP_COPY:
        if (dev_.owns(op.u.copy.src_space) && dev_.owns(op.u.copy.dst_space))
          e = copy(op.u.copy, c.stream, what);
        else
          no("it copies from or to memory outside the device");
        break;
      case CONSORT_OP_CALL:
        no("it is a host function, which would be called once and not at each launch");
        break;
      default:
        no("ops of kind " + std::to_string(op.kind) + " cannot be captured");
        break;
    }
    if (what.status >= 0 && !e && step.code) {
      const auto last = api_.captured_last(c.stream);
      if (last != c.last) step.node = c.last = last;  // an empty range makes no node
    } else if (what.status >= 0 && !e) {
      c.last = api_.captured_last(c.stream);
    }
    if (what.status >= 0 && !e)
      c.graph->steps.push_back(step);
    else if (what.why.empty())
      what.why = api_.words(e);
    if (what.status < 0 || e)
      c.why = "op " + std::to_string(c.graph->steps.size() + 1) + " cannot be captured: " + what.why;
  } catch (const std::bad_alloc &) {
    what.status = CONSORT_E_NOMEM;
  }
  c.status = what.status == CONSORT_E_NOMEM ? CONSORT_E_NOMEM
             : what.status < 0 || e         ? CONSORT_E_UNSUPPORTED
                                            : CONSORT_OK;
  if (V::means_lost(e)) c.status = CONSORT_E_DEVICE_LOST;
}

template <class V>
consort_status Lane<V>::end_capture(uint64_t *out) {
  if (!capture_) return dev_.fail(CONSORT_E_INVAL, "this queue is not being captured: begin a capture first");
  const Current<V> current(dev_, true);
  const auto made = std::move(capture_);
  Graph<V> &g = *made->graph;
  if (const int e = current.error()) return dev_.failed(e, "cannot make its context current");
  int e = api_.capture_end(made->stream, &g.graph);
  g.captured = !e;
  api_.stream_destroy(made->stream);
  if (!e && made->status >= 0) {
    e = api_.instantiate(&g.exec, g.graph);
    g.made = !e;
  }
  consort_status s = CONSORT_OK;
  if (made->status == CONSORT_E_DEVICE_LOST && !dev_.is_lost()) dev_.mark_lost_and_report();
  if (dev_.is_lost())
    s = dev_.fail(CONSORT_E_DEVICE_LOST, "the device is lost");
  else if (made->status < 0)
    s = dev_.fail(made->status, made->why);
  else if (V::means_lost(e))
    s = dev_.failed(e, "cannot end the capture");
  else if (e)
    s = dev_.fail(V::status_of(e) == CONSORT_E_NOMEM ? CONSORT_E_NOMEM : CONSORT_E_UNSUPPORTED,
                  "cannot instantiate the graph: " + api_.words(e));
  if (s < 0) {
    made->graph.reset();  // needs the current context
    return s;
  }
  *out = reinterpret_cast<uint64_t>(&g);
  dev_.graphs->add(std::move(made->graph));
  return CONSORT_OK;
}

template <class V>
void Lane<V>::drop_capture() noexcept {
  const auto made = std::move(capture_);
  made->graph->captured = !api_.capture_end(made->stream, &made->graph->graph);
  api_.stream_destroy(made->stream);
}

template <class V>
int Lane<V>::launch_graph(uint64_t name, typename V::Stream stream, Issued &out) {
  const Graph<V> *g = dev_.graphs->find(name);
  if (!g) {
    refuse(out, CONSORT_E_INVAL,
           "the graph does not belong to this device or was released: capture it on a queue of this device");
    return 0;
  }
  const int e = api_.graph_launch(g->exec, stream);
  if (e)
    refuse(out, V::status_of(e),
           "a graph of " + std::to_string(g->steps.size()) + " ops was not launched: " + api_.words(e));
  return V::means_lost(e) ? e : 0;
}

// The functions of the extension, and the driver functions that a capture changes.
template <class V>
struct CaptureTable : streams::Table<Driver<V>, Device<V>, Lane<V>> {
  using Base = streams::Table<Driver<V>, Device<V>, Lane<V>>;
  using Base::queue;

  template <class F>
  static consort_status guarded(Device<V> &d, F body) noexcept {
    try {
      return body();
    } catch (...) {
      return d.fail(CONSORT_E_NOMEM, "out of memory for a graph");
    }
  }

  static uint32_t submit(void *q, const consort_op *list, uint32_t n) noexcept {
    auto &line = queue(q);
    if (!line.lane().is_captured()) [[likely]]
      return line.submit(list, n);
    const typename Lane<V>::Session session(line.lane());
    for (uint32_t i = 0; i < n; ++i) line.lane().capture(list[i], line.token());
    return n;
  }
  static consort_status begin(void *q) noexcept {
    auto &line = queue(q);
    return guarded(line.device(), [&] { return line.lane().begin_capture(); });
  }
  static consort_status end(void *q, uint64_t *graph) noexcept {
    auto &line = queue(q);
    return guarded(line.device(), [&] { return line.lane().end_capture(graph); });
  }
  static consort_status launch(void *q, uint64_t graph, const consort_op *mark) noexcept {
    auto &line = queue(q);
    if (line.lane().is_captured())
      return line.device().fail(CONSORT_E_BUSY, "this queue is being captured: end the capture before launching a graph");
    consort_op op = *mark;
    op.kind = kGraphOp;
    op.u.launch = {};
    op.u.launch.code = graph;
    return line.submit(&op, 1) ? CONSORT_OK : CONSORT_AGAIN;
  }
  static consort_status update(uint64_t graph, uint32_t i, const consort_op *op) noexcept {
    auto &g = *reinterpret_cast<Graph<V> *>(graph);
    return guarded(g.dev, [&]() -> consort_status {
      if (g.dev.is_lost()) return g.dev.fail(CONSORT_E_DEVICE_LOST, "the device is lost");
      if (i >= g.steps.size())
        return g.dev.fail(CONSORT_E_INVAL, "the graph has " + std::to_string(g.steps.size()) +
                                               " ops, numbered from 0: no op " + std::to_string(i));
      const auto &step = g.steps[i];
      const auto anew = [&](const char *why) {
        return g.dev.fail(CONSORT_E_UNSUPPORTED, std::string(why) + ": capture anew");
      };
      if (!step.node) return anew("this op is not a kernel, was empty, or is not reported by the library");
      if (op->kind != CONSORT_OP_LAUNCH || reinterpret_cast<const Code<V> *>(op->u.launch.code) != step.code)
        return anew("the captured op is another kernel");
      const Current<V> current(g.dev);
      if (const int e = current.error()) return g.dev.failed(e, "cannot make its context current");
      Arranged<V> a;
      std::string why;
      int e = 0;
      const consort_status s = arrange(g.dev.api, op->u.launch, a, &e, &why);
      if (s >= 0 && !a.grid[0]) return anew("the new launch is empty");
      if (s >= 0) e = g.dev.api.change_launch(g.exec, step.node, a.code->function, a.grid, a.block, a.shared, a.list());
      if (V::means_lost(e)) return g.dev.failed(e, "cannot change a graph");
      return s < 0 ? g.dev.fail(s, why) : e ? anew(g.dev.api.words(e).c_str()) : CONSORT_OK;
    });
  }
  static void release(uint64_t graph) noexcept {
    auto &g = *reinterpret_cast<Graph<V> *>(graph);
    Device<V> &d = g.dev;
    const Current<V> current(d, true);
    d.graphs->drop(&g);
  }

  static constexpr consort_capture_ops capture_ops = {
      .size = sizeof(consort_capture_ops),
      .flags = 0,
      .begin = begin,
      .end = end,
      .launch = launch,
      .update = update,
      .release = release,
  };
  static const void *get(void *, const char *id) noexcept {
    if (std::strcmp(id, CONSORT_PLACES_ID) == 0) return &Base::places;
    return std::strcmp(id, CONSORT_CAPTURE_ID) == 0 ? &capture_ops : HandlesTable<V>::get(id);
  }
  static constexpr consort_driver_ops ops = [] {
    consort_driver_ops all = Base::ops;
    all.submit = submit;
    return all;
  }();
};

}  // namespace gpu

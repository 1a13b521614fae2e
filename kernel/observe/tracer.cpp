#include "observe/tracer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_text.hpp"
#include "exec/executor.hpp"
#include "observe/fields.hpp"
#include "observe/observation.hpp"
#include "remote/thread_ranks.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/replica.hpp"

namespace consort {
namespace {

// Replaces %p by the process number and %r by the rank, so that several runtimes do not write to one file.
std::string with_numbers(std::string path, const Config &config) {
  if (const size_t at = path.find("%p"); at != path.npos) path.replace(at, 2, std::to_string(::getpid()));
  if (const size_t at = path.find("%r"); at != path.npos) {
    const ThreadRank *thread = ThreadRank::of_this_thread();
    path.replace(at, 2, std::to_string(thread ? thread->rank() : static_cast<uint32_t>(config.number("rank"))));
  }
  return path;
}

}  // namespace

Result<std::unique_ptr<Tracer>> Tracer::open(Observation &rt) {
  const std::string path = with_numbers(std::string(rt.config->text("trace")), *rt.config);
  const bool reports = !rt.reports.empty();
  if (path.empty() && !reports) return std::unique_ptr<Tracer>();
  int fd = -1;
  // NONBLOCK: a pipe without a reader is an error instead of a wait. A pipe with a reader is written like a file.
  constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (!path.empty() && (fd = ::open(path.c_str(), kHow, 0666)) < 0)
    return error(CONSORT_E_IO, "the setting trace: cannot write " + path + ": " + std::strerror(errno));
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return std::unique_ptr<Tracer>(new Tracer(rt, path, fd, rt.config->number("trace_events"),
                                            rt.reports.want_graph() || rt.config->flag("trace_graph")));
}

Tracer::Tracer(Observation &rt, std::string path, int fd, size_t most, bool graph)
    : rt_(rt), path_(std::move(path)), fd_(fd), most_(most), lines_(rt.workers.size()) {
  constexpr size_t kTasksPerEvent = 16;  // of all workers, and each is small
  if (graph) graph_ = std::make_unique<GraphLog>(rt, most * kTasksPerEvent);
}

Tracer::~Tracer() {
  if (fd_ >= 0) ::close(fd_);
}

void Tracer::name(Line &line, const Task &t) noexcept try {
  const uint64_t i = t.codelet->number;
  if (i < line.named.size() && line.named[i]) return;
  const std::lock_guard lock(mutex_);
  if (names_.size() <= i) names_.resize(i + 1);
  names_[i] = t.codelet->name;
  if (line.named.size() <= i) line.named.resize(i + 1);
  line.named[i] = true;
} catch (const std::bad_alloc &) {  // no memory: its number is shown
}

void Tracer::ran(uint32_t worker, const Task &t, TaskName name_of_task, uint32_t impl, int64_t expected, uint64_t t0,
                 uint64_t t1, consort_status status, bool alone) noexcept {
  const Run run{t0, t1, name_of_task, expected, static_cast<uint32_t>(t.codelet->number), worker, impl, status};
  if (alone) {
    name(lines_[worker], t);
    lines_[worker].runs.add(run, most_);
    return;
  }
  const std::lock_guard lock(mutex_);
  others_.runs.add(run, most_);
}

void Tracer::copied(const Datum &d, uint32_t from, uint32_t to, uint64_t bytes, uint64_t t0, uint64_t t1,
                    consort_status status, CopyReason why) noexcept {
  const Copy copy{t0, t1, bytes, d.pub.id, from, to, status, why};
  const std::lock_guard lock(mutex_);
  copies_.add(copy, most_);
}

void Tracer::decided(TaskName task, uint32_t worker, float run, uint64_t end) noexcept {
  const Decision d{rt_.clock.now(), end, task, worker, run};
  const std::lock_guard lock(mutex_);
  decisions_.add(d, most_);
}

void Tracer::fetched(TaskName task, uint32_t worker, uint64_t t0, uint64_t t1) noexcept {
  const std::lock_guard lock(mutex_);
  waits_.add({t0, t1, task, worker}, most_);
}

void Tracer::slept(uint32_t worker, uint64_t t0, uint64_t t1) noexcept { fetched(0, worker, t0, t1); }

void Tracer::evicted(const Datum &d, uint32_t space, uint64_t bytes) noexcept {
  const Eviction one{rt_.clock.now(), d.pub.id, bytes, space};
  const std::lock_guard lock(mutex_);
  evictions_.add(one, most_);
}

void Tracer::in_use(uint32_t space, uint64_t bytes, uint64_t limit) noexcept {
  const Use one{rt_.clock.now(), bytes, limit == UINT64_MAX ? 0 : limit, space};
  const std::lock_guard lock(mutex_);
  uses_.add(one, most_);
}

void Tracer::put_memory(std::string *all) const {
  waits_.each([&](const Wait &w) {
    if (w.task) append_line(all, "fetch", w.worker, w.t0, w.t1, Hex{w.task});
    else append_line(all, "sleep", w.worker, w.t0, w.t1);
  });
  evictions_.each([&](const Eviction &e) { append_line(all, "evict", e.space, e.at, Hex{e.datum}, e.bytes); });
  uses_.each([&](const Use &u) { append_line(all, "used", u.space, u.at, u.bytes, u.limit); });
}

// One line for each record, fields separated by tabs; times in ns of the runtime's clock.
std::string Tracer::text() const {
  std::string all = "consort trace 1\n";
  all += std::string("clock\t") + (rt_.virtual_time ? "virtual" : "real") + "\n";
  all += "scheduler\t" + one_line(std::string(rt_.policies.name())) + "\n";
  const std::lock_guard lock(mutex_);  // copies that no task waits for may still be in flight
  for (const auto &w : rt_.workers)
    all += "worker\t" + std::to_string(w->id) + "\t" + one_line(w->unit.name) + "\t" + one_line(w->unit.desc.klass) +
           "\n";
  const auto &spaces = rt_.topology->spaces();
  for (size_t i = 0; i < spaces.size(); ++i)
    all += "space\t" + std::to_string(i) + "\t" + one_line(spaces[i].desc.name) + "\n";
  for (size_t i = 0; i < names_.size(); ++i)
    if (!names_[i].empty()) all += "codelet\t" + std::to_string(i) + "\t" + one_line(names_[i]) + "\n";
  if (graph_) all += graph_->text();
  uint64_t lost = others_.runs.lost() + copies_.lost() + decisions_.lost() + waits_.lost() + evictions_.lost() +
                  uses_.lost();
  const auto runs = [&](const Ring<Run> &ring) {
    ring.each([&](const Run &r) {
      append_line(&all, "run", r.worker, r.t0, r.t1, r.codelet, Hex{r.task}, r.impl, r.expected, r.status);
    });
  };
  for (const Line &l : lines_) {
    runs(l.runs);
    lost += l.runs.lost();
  }
  runs(others_.runs);
  copies_.each([&](const Copy &c) {
    append_line(&all, "copy", c.from, c.to, c.t0, c.t1, c.bytes, Hex{c.datum}, c.status, "dps"[static_cast<unsigned>(c.why)]);
  });
  decisions_.each([&](const Decision &d) { append_line(&all, "decision", d.at, Hex{d.task}, d.worker, d.run, d.end); });
  put_memory(&all);
  append_line(&all, "end", lost);
  return all;
}

void Tracer::clear() noexcept {
  for (Line &l : lines_) l.runs.clear();
  const std::lock_guard lock(mutex_);
  others_.runs.clear();
  copies_.clear();
  decisions_.clear();
  waits_.clear();
  evictions_.clear();
  uses_.clear();
  if (graph_) graph_->clear();
}

void Tracer::close() noexcept try {
  if (fd_ < 0) return;
  const std::string all = text();
  size_t done = 0;
  for (ssize_t n; done < all.size(); done += static_cast<size_t>(n))
    if ((n = ::write(fd_, all.data() + done, all.size() - done)) <= 0) break;
  if (done < all.size()) rt_.log(0, "the trace " + path_ + " is cut short: " + std::strerror(errno));
} catch (const std::bad_alloc &) {
  rt_.log(0, "the trace " + path_ + " is not written: no memory");
}

}  // namespace consort

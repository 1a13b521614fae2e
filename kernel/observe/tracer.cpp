#include "observe/tracer.hpp"

#include <consort/shared/plain_file.hpp>
#include <consort/shared/trace_text.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/file_text.hpp"
#include "exec/executor.hpp"
#include "observe/observation.hpp"
#include "remote/thread_ranks.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/replica.hpp"
#include "task/trace_categories.hpp"

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

// The setting trace_only.
Result<uint32_t> categories_of(const Config &config) {
  constexpr struct { const char *name; uint32_t bits; } kNames[] = {
      {"tasks", traced::kTasks}, {"copies", traced::kCopies}, {"decisions", traced::kDecisions}, {"waits", traced::kWaits},
      {"memory", traced::kMemory}, {"graph", traced::kGraph}, {"nothing", 0}};
  const std::vector<std::string> only = config.list("trace_only");
  uint32_t all = only.empty() ? traced::kAll : 0;
  for (const std::string &name : only) {
    const auto *const at = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto &k) { return name == k.name; });
    if (at == std::end(kNames))
      return error(CONSORT_E_INVAL, config.origin("trace_only") + ": \"" + name + "\" is nothing that a trace has: tasks, copies, "
                                    "decisions, waits, memory, graph, nothing");
    all |= at->bits;
  }
  return all;
}

std::unique_ptr<KeptRecords> kept_for(const Config &config) {
  constexpr uint64_t kTasksPerEvent = 16;  // of all workers, and each is small
  const auto most = static_cast<uint64_t>(config.number("trace_events"));
  return std::make_unique<KeptRecords>(most, most * kTasksPerEvent);
}

}  // namespace

Result<std::unique_ptr<Tracer>> Tracer::open(Observation &rt) {
  const Config &config = *rt.config;
  const std::string path = with_numbers(std::string(config.text("trace")), config);
  const bool reports = !rt.reports.empty(), streamed = config.text("trace_mode") == "stream";
  if (path.empty() && !reports) return std::unique_ptr<Tracer>();
  const auto categories = categories_of(config);
  if (!categories) return categories.error();
  std::unique_ptr<TraceFile> file;
  if (!path.empty()) {
    const int fd = shared::open_to_write(path, O_TRUNC);
    if (fd < 0) return error(CONSORT_E_IO, "the setting trace: cannot write " + path + ": " + std::strerror(errno));
    file = std::make_unique<TraceFile>(fd);
  }
  auto later = streamed ? nullptr : std::move(file);
  return std::unique_ptr<Tracer>(new Tracer(rt, path, std::move(file), std::move(later), *categories));
}

Tracer::Tracer(Observation &rt, std::string path, std::unique_ptr<TraceFile> streamed, std::unique_ptr<TraceFile> later, uint32_t categories)
    : rt_(rt), path_(std::move(path)), categories_(categories), later_(std::move(later)),
      collector_(rt.clock, rt.ticks, std::bit_ceil(static_cast<uint64_t>(rt.config->number("trace_buffer")) * 1024),
                 std::move(streamed), later_ || !rt.reports.empty() ? kept_for(*rt.config) : nullptr),
      shares_(rt.clock.stepped()) {
  const bool graph = rt.reports.want_graph() || rt.config->flag("trace_graph");
  if (TraceRing *ring = graph ? collector_.add_ring() : nullptr) graph_ = std::make_unique<GraphLog>(rt, collector_, *ring);
}

Tracer::~Tracer() = default;

Result<void> Tracer::begin() {
  scheduler_ = scheduler();
  collector_.add_lines(facts());
  return collector_.start_thread();
}

bool Tracer::on(uint32_t category) const noexcept { return rt_.traces(category); }

template <class F> void Tracer::write(F into) noexcept {
  if (ThreadState *const thread = shares_ ? nullptr : rt_.this_thread()) [[likely]] {
    if (!thread->trace_ring) [[unlikely]] thread->trace_ring = collector_.add_ring();
    if (thread->trace_ring) [[likely]] return into(*thread->trace_ring);
  }
  const std::lock_guard lock(shared_mutex_);
  if (!shared_) shared_ = collector_.add_ring();
  if (shared_) into(*shared_);
  else unwritten_.fetch_add(1, std::memory_order_relaxed);
}

// A codelet's name, once in each ring.
void Tracer::name(TraceRing &ring, const Task &t) noexcept try {
  const Codelet &c = *t.codelet;
  if (ring.named.size() <= c.number) ring.named.resize(c.number + 1, CONSORT_NONE);
  const std::string text = one_line(c.name.substr(0, ring.most() / 2));
  const CodeletRecord head{head_of<CodeletRecord>(RecordType::kCodelet, text.size()), c.number};
  const uint32_t bytes = head.head.words * 8u;
  char *const at = ring.reserve(bytes);
  if (!at) return;
  std::memset(at, 0, bytes);
  std::memcpy(at, &head, sizeof head);
  std::memcpy(at + sizeof head, text.data(), text.size());
  ring.commit(bytes);
  ring.named[c.number] = c.generation;
} catch (const std::bad_alloc &) {  // no memory: its number is shown
}

void Tracer::ran(uint32_t worker, const Task &t, TaskName task, uint32_t impl, int64_t expected, uint64_t t0, uint64_t t1,
                 consort_status status, Stamps stamps) noexcept {
  write([&](TraceRing &ring) {
    const uint32_t number = t.codelet->number;
    if (number >= ring.named.size() || ring.named[number] != t.codelet->generation) [[unlikely]] name(ring, t);
    const auto on = static_cast<uint16_t>(worker), how = static_cast<uint16_t>(std::min<uint32_t>(impl, UINT16_MAX));
    if (stamps == Stamps::kTicks && t1 - t0 <= UINT32_MAX && expected < 0 && status == 0) [[likely]]
      return ring.put(RunRecord{head_of<RunRecord>(RecordType::kRun), on, how, task, t0, static_cast<uint32_t>(t1 - t0), number});
    const RecordType type = stamps == Stamps::kTicks ? RecordType::kRunInTicks : RecordType::kRunInNs;
    ring.put(FullRunRecord{head_of<FullRunRecord>(type), on, how, task, t0, t1, number, status, expected});
  });
}

void Tracer::copied(const Datum &d, uint32_t from, uint32_t to, uint64_t bytes, uint64_t t0, uint64_t t1,
                    consort_status status, CopyReason why) noexcept {
  if (!on(traced::kCopies)) return;
  const CopyRecord record{head_of<CopyRecord>(RecordType::kCopy), static_cast<uint16_t>(from), static_cast<uint16_t>(to), t0, t1, bytes,
                          d.pub.id, status, "dps"[static_cast<unsigned>(why)], {}};
  write([&](TraceRing &ring) { ring.put(record); });
}

void Tracer::decided(TaskName task, uint32_t worker, float run, uint64_t end) noexcept {
  if (!on(traced::kDecisions)) return;
  const DecisionRecord record{head_of<DecisionRecord>(RecordType::kDecision), worker, rt_.clock.now(), task, end, run, 0};
  write([&](TraceRing &ring) { ring.put(record); });
}

void Tracer::fetched(TaskName task, uint32_t worker, uint64_t t0, uint64_t t1) noexcept {
  if (!on(traced::kWaits)) return;
  write([&](TraceRing &ring) { ring.put(FetchRecord{head_of<FetchRecord>(RecordType::kFetch), worker, t0, t1, task}); });
}

void Tracer::slept(uint32_t worker, uint64_t t0, uint64_t t1) noexcept {
  if (!on(traced::kWaits)) return;
  write([&](TraceRing &ring) { ring.put(SleepRecord{head_of<SleepRecord>(RecordType::kSleep), worker, t0, t1}); });
}

void Tracer::evicted(const Datum &d, uint32_t space, uint64_t bytes) noexcept {
  if (!on(traced::kMemory)) return;
  const EvictionRecord record{head_of<EvictionRecord>(RecordType::kEviction), space, rt_.clock.now(), d.pub.id, bytes};
  write([&](TraceRing &ring) { ring.put(record); });
}

void Tracer::in_use(uint32_t space, uint64_t bytes, uint64_t limit) noexcept {
  if (!on(traced::kMemory)) return;
  const UseRecord record{head_of<UseRecord>(RecordType::kUse), space, rt_.clock.now(), bytes, limit == UINT64_MAX ? 0 : limit};
  write([&](TraceRing &ring) { ring.put(record); });
}

std::string Tracer::scheduler() const { return "scheduler\t" + one_line(std::string(rt_.policies.name())); }

std::string Tracer::facts() const {
  std::string all = std::string("clock\t") + (rt_.virtual_time ? "virtual" : "real") + "\n";
  all += std::string("ticks\t") + (rt_.ticks.of_processor() ? "processor" : "ns") + "\n";
  all += scheduler() + "\n";
  for (const auto &w : rt_.workers)
    all += "worker\t" + std::to_string(w->id) + "\t" + one_line(w->unit.name) + "\t" + one_line(w->unit.desc.klass) +
           "\n";
  const auto &spaces = rt_.topology->spaces();
  for (size_t i = 0; i < spaces.size(); ++i)
    all += "space\t" + std::to_string(i) + "\t" + one_line(spaces[i].desc.name) + "\n";
  if (graph_) all += graph_->machine();
  return all;
}

std::string Tracer::ending() const {
  if (!graph_) return {};
  uint64_t lost = 0;
  if (collector_.kept()) {  // not under one lock with the log's own: its submissions wait for room under that one
    const auto lock = collector_.drain_and_hold();
    lost = collector_.kept()->lost_tasks();
  }
  return graph_->ending(lost);
}

void Tracer::write_kept(TraceFile *file) const {
  const std::string lines = facts() + (graph_ ? graph_->kinds() : std::string()) + ending();
  const auto lock = collector_.drain_and_hold();
  const KeptRecords &kept = *collector_.kept();
  file->begin();
  file->lines(lines);
  for (const TickClock::Point &p : collector_.points()) file->point(p);
  kept.each([&](const char *records, size_t n) { file->events(0, records, n); });
  file->end(kept.lost() + collector_.lost() + unwritten_.load(std::memory_order_relaxed));
}

std::string Tracer::text() const {
  TraceFile image(-1);
  write_kept(&image);
  if (image.failed()) throw std::bad_alloc();
  std::string all, why;
  if (!shared::TraceText::write(image.memory(), &all, &why)) all = why;  // it cannot be
  return all;
}

void Tracer::clear() noexcept try {
  if (graph_) graph_->clear();
  const std::string lines = facts();
  collector_.each_ring([](TraceRing &ring) { ring.named.clear(); });
  unwritten_.store(0, std::memory_order_relaxed);
  collector_.reset(lines);
} catch (const std::bad_alloc &) {  // no memory: nothing is discarded
}

void Tracer::close() noexcept try {
  std::string lines = ending();
  if (scheduler() != scheduler_) lines += scheduler() + "\n";  // the last one counts
  collector_.stop(lines, unwritten_.load(std::memory_order_relaxed));
  int failed = collector_.failed();
  if (later_) {
    write_kept(later_.get());
    failed = later_->failed();
  }
  if (failed) rt_.log(0, "the trace " + path_ + " is cut short: " + std::strerror(failed));
} catch (const std::bad_alloc &) {
  rt_.log(0, "the trace " + path_ + " is not written: no memory");
}

}  // namespace consort

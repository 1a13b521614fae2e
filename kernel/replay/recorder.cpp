#include "replay/recorder.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "graph/access_order.hpp"
#include "graph/link_steps.hpp"
#include "graph/submission_draft.hpp"
#include "replay/replaying.hpp"
#include "task/packed_args.hpp"

namespace consort {

bool Recorder::wants(const ThreadState &thread) const noexcept { return thread.task == inside && !thread.in_callback; }

consort_status Recorder::refuse(consort_status s, const char *text) noexcept {
  if (refused < 0) return s;
  refused = s;
  try {
    why = text;
  } catch (const std::bad_alloc &) {
    why.clear();
  }
  return s;
}

bool Recorder::index_of(TaskName name, uint32_t *out) const noexcept {
  if (recorded::is(name)) {
    *out = static_cast<uint32_t>(name);
    return name == recorded::make(serial, *out) && *out < items.size();
  }
  const auto it = ids.find(name);
  if (it == ids.end()) return false;
  *out = it->second;
  return true;
}

consort_status Recorder::look(const consort_task_desc &d) noexcept {
  consort_task_desc *const plain = &now;
  *plain = CONSORT_TASK_INIT;
  std::memcpy(plain, &d, std::min<size_t>(d.size, sizeof d));
  plain->size = sizeof *plain;
  const char *what = plain->flags & CONSORT_TASK_REPEAT ? "a task that comes again"
                     : plain->done || plain->done_arg   ? "a completion callback"
                     : plain->more ? "what order.h adds to a task (tags, hooks, ends that are held, bundles)"
                                   : nullptr;
  for (uint32_t i = 0; plain->uses && i < plain->nuses; ++i)
    if (plain->uses[i].mode & CONSORT_M_REDUX) what = "a reduction";
  if (plain->group.v && plain->group.v != rt.standard_group->id().v)
    what = "a group of its own (a replay is told its group)";
  if (what)
    return set_errorf(CONSORT_E_UNSUPPORTED, "%s cannot be recorded: submit this task outside of the recording", what);
  nafter = plain->after ? plain->nafter : 0;
  for (uint32_t i = 0; i < nafter; ++i)
    if (uint32_t unused; !index_of(plain->after[i].v, &unused))
      return set_errorf(CONSORT_E_INVAL, "predecessor %u is no task of this recording", i);
  if (nafter && (flags & CONSORT_RECORD_ONLY)) plain->nafter = 0;
  return CONSORT_OK;
}

consort_status Recorder::copy(SubmissionDraft &draft) {
  const consort_task_desc &d = now;
  const Task &t = *draft.t;
  const Extra *e = t.extra;
  Item item{d.codelet, d.footprint, e ? e->work : 0, t.pub.naccess, t.nargs, 0, 0, t.pub.priority,
            t.bits & kBound ? e->worker : CONSORT_NONE, 0, draft.unordered};
  item.for_teams = t.codelet && t.codelet->for_teams();
  if (t.bits & kBound) item.team = e->team;
  if (items.size() == (1u << word::kRecordBits))
    return set_error(CONSORT_E_NOMEM, "16777216 tasks are recorded: a recording takes no more");
  for (uint32_t i = 0; i < nafter; ++i) {
    uint32_t index = 0;
    index_of(d.after[i].v, &index);
    after.push_back(index);
    ++item.nafter;
  }
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    Datum *datum = Datum::of(a.datum);
    if (is_part(*datum))
      return set_errorf(CONSORT_E_UNSUPPORTED, "'%s' is a part of a datum: parts cannot be recorded yet",
                        rt.data.name(*datum).c_str());
    if (const AccessOrder *discipline = discipline_if_any(*datum); discipline && discipline->formats)
      return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' has several formats: it cannot be recorded",
                        rt.data.name(*datum).c_str());
    // Room first: after a failure in between the next task would find a place that is none.
    if (data.size() == data.capacity()) data.reserve(2 * data.size() + 8);
    const auto [it, fresh] = place.try_emplace(datum, static_cast<uint32_t>(data.size()));
    if (fresh) data.push_back({datum, datum->pub.id, 0, 0});
    Recording::Use &use = data[it->second];
    const AccessOrder *discipline = discipline_if_any(*datum);
    const bool loose = draft.unordered || (discipline && !discipline->ordered);
    // One that is only memory to work in is read by the whole, so that it lives as long as it must.
    use.mode |= a.mode & CONSORT_M_SCRATCH ? uint32_t{CONSORT_M_R} : a.mode & CONSORT_M_RW;
    use.tokens |= (a.mode & CONSORT_M_COMMUTE) && !loose;
    uses.push_back({it->second, a.mode, loose});
  }
  const auto *packed = reinterpret_cast<const std::byte *>(t.pub.access + t.pub.naccess);
  item.arg_bytes = d.nargs ? static_cast<uint32_t>(packed_bytes(d.args, d.nargs)) : 0;
  args.insert(args.end(), packed, packed + item.arg_bytes);
  if (e && e->name) {
    names.emplace_back(e->name);
    item.name = static_cast<uint32_t>(names.size());
  }
  if (!(flags & CONSORT_RECORD_ONLY)) ids.emplace(t.pub.id, static_cast<uint32_t>(items.size()));
  items.push_back(item);
  return CONSORT_OK;
}

bool Recorder::is_loose() const noexcept {
  return std::any_of(uses.begin(), uses.end(), [](const Use &use) { return use.loose; }) ||
         std::any_of(items.begin(), items.end(), [](const Item &item) { return item.unordered; });
}

consort_status Recorder::submit(ThreadState &thread, const consort_task_desc &d, consort_task_id *out) noexcept {
  if (!wants(thread)) return submit_any(rt, d, out);
  consort_status s = look(d);
  if (s >= 0) s = submit_any(rt, now, out, nullptr, this);
  return s < 0 ? refuse(s, error_text()) : s;
}

consort_status Recorder::take(SubmissionDraft &draft, consort_task_id *out) noexcept {
  try {
    const auto index = static_cast<uint32_t>(items.size());
    if (const consort_status s = copy(draft); s < 0) return s;
    if (!(flags & CONSORT_RECORD_ONLY)) return CONSORT_AGAIN;
    if (out) out->v = recorded::make(serial, index);
    return CONSORT_OK;
  } catch (const std::bad_alloc &) {
    return set_error(CONSORT_E_NOMEM, "no memory to record another task");
  }
}

// -- from tasks to a graph --------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kNone = ~0u, kFan = 64;

// Edges between nodes by number: recorded tasks first, then those that are added.
class Graph {
 public:
  explicit Graph(uint32_t ntasks) : n_(ntasks), stamp_(ntasks, kNone) {}

  void edge(uint32_t from, uint32_t to) {
    if (from == kNone || from == to || stamp_[from] == to) return;
    stamp_[from] = to;
    edges_.push_back({from, to});
  }
  uint32_t add() {
    stamp_.push_back(kNone);
    return n_++;
  }
  // A tree of nodes that come after all that nothing came after; the last of them is alone.
  void finish() {
    std::vector<bool> followed(n_);
    for (const Edge &e : edges_) followed[e.from] = true;
    std::vector<uint32_t> ends, next;
    for (uint32_t i = 0; i < n_; ++i)
      if (!followed[i]) ends.push_back(i);
    do {
      next.clear();
      for (size_t i = 0; i < std::max<size_t>(ends.size(), 1); i += kFan) {
        next.push_back(add());
        for (size_t k = i; k < std::min(i + kFan, ends.size()); ++k) edge(ends[k], next.back());
      }
      ends.swap(next);
    } while (ends.size() > 1);
  }
  uint32_t size() const noexcept { return n_; }
  struct Edge { uint32_t from, to; };
  const std::vector<Edge> &edges() const noexcept { return edges_; }

 private:
  uint32_t n_;
  std::vector<uint32_t> stamp_;  // to whom the last edge of each went
  std::vector<Edge> edges_;
};

// Who uses one datum last, in the order of submission: as in link_one(), with junctions as in enter_phase().
struct Chain {
  uint32_t writer = kNone, sharers = kNone;  // sharers: the newest; they hang together in `older`
  bool commuting = false;
};

class Analysis {
 public:
  Analysis(Graph &graph, size_t ndata) : graph_(graph), chains_(ndata) {}
  void use(uint32_t task, uint32_t datum, uint32_t mode) {
    Chain &c = chains_[datum];
    const bool commutes = mode & CONSORT_M_COMMUTE;
    if ((mode & CONSORT_M_W) && !commutes) {
      if (c.sharers == kNone) graph_.edge(c.writer, task);
      close(c, task);
      return;
    }
    if (c.sharers != kNone && c.commuting != commutes) close(c, graph_.add());
    c.commuting = commutes;
    graph_.edge(c.writer, task);
    older_.push_back({task, c.sharers});
    c.sharers = static_cast<uint32_t>(older_.size() - 1);
  }

 private:
  void close(Chain &c, uint32_t by) {
    for (; c.sharers != kNone; c.sharers = older_[c.sharers].next) graph_.edge(older_[c.sharers].task, by);
    c.writer = by;
  }
  struct Sharer { uint32_t task, next; };
  Graph &graph_;
  std::vector<Chain> chains_;
  std::vector<Sharer> older_;
};

struct Merged { uint32_t datum, mode; };

// Do nodes have notes of their own while they run: data on their way to them, tickets of what they follow on a queue?
bool nodes_are_staged(const Replaying &rt) noexcept {
  if (rt.data.placement || !rt.queues.empty()) return true;
  for (uint32_t s = 0; s < rt.topology->spaces().size(); ++s)
    if (rt.execution_memory->manages(s)) return true;
  return false;
}

}  // namespace

consort_status Recorder::build(Recording &r) {
  const auto n = static_cast<uint32_t>(items.size());
  Graph graph(n);
  {
    Analysis analysis(graph, data.size());
    std::vector<Merged> merged;
    size_t at = 0, after_at = 0;
    for (uint32_t i = 0; i < n; ++i) {
      merged.clear();
      for (uint32_t k = 0; k < items[i].nuses; ++k, ++at) {
        const Use &use = uses[at];
        if (use.loose || (use.mode & CONSORT_M_SCRATCH)) continue;
        const auto same =
            std::find_if(merged.begin(), merged.end(), [&](const Merged &m) { return m.datum == use.datum; });
        if (same == merged.end()) merged.push_back({use.datum, use.mode});
        else same->mode |= use.mode;
      }
      for (const Merged &m : merged) analysis.use(i, m.datum, m.mode);
      for (uint32_t k = 0; k < items[i].nafter; ++k) graph.edge(after[after_at++], i);
    }
  }
  graph.finish();

  // Memory first: from then on nothing fails but for a codelet that was removed.
  const uint32_t nodes = graph.size();
  std::vector<uint32_t> nsuccessors(nodes), npredecessors(nodes), list(nodes);
  for (const auto &e : graph.edges()) {
    ++nsuccessors[e.from];
    ++npredecessors[e.to];
  }
  uint64_t listed = 0, spilled = 0;
  uint32_t nextras = 0;
  for (uint32_t i = 0; i < nodes; ++i) {
    list[i] = static_cast<uint32_t>(listed);
    if (nsuccessors[i] > node::kInlineEdges) listed += nsuccessors[i];
    if (!npredecessors[i]) r.roots.push_back(i);
  }
  size_t use_at = 0;
  for (const Item &item : items) {
    uint32_t tokens = 0;
    for (uint32_t k = 0; k < item.nuses; ++k)
      tokens += (uses[use_at].mode & CONSORT_M_COMMUTE) && !uses[use_at].loose, ++use_at;
    nextras += tokens > 1 || item.nafter || item.name || item.work || item.worker != CONSORT_NONE || item.for_teams ||
               (item.nuses && nodes_are_staged(rt));
    const uint64_t bytes = item.nuses * sizeof(consort_access) + item.arg_bytes;
    if (bytes > kPayload) spilled += padded(bytes);
  }
  r.edges.resize(listed);
  r.spill.reset(spilled ? new std::byte[spilled] : nullptr);
  r.extras.reset(nextras ? new Extra[nextras] : nullptr);
  r.loose.reserve(data.size());
  for (uint32_t i = 0; i < data.size(); ++i) {
    r.loose.push_back(i);
    const DatumExtra *extra = data[i].datum->extra();
    if (extra && !extra->name.empty()) r.names[i] = extra->name;
  }
  r.uses = data;
  r.place = std::move(place);
  const uint32_t first = rt.recordings.take_records(nodes);
  if (!first)
    return set_errorf(CONSORT_E_NOMEM, "%u task records are in use or recorded: no %u more in a row", rt.tasks.carved(),
                      nodes);
  r.first.store(first, std::memory_order_relaxed);
  r.nnodes.store(nodes, std::memory_order_relaxed);
  for (uint32_t &root : r.roots) root += first;

  std::byte *spill = r.spill.get();
  const std::byte *packed = args.data();
  size_t after_at = 0;
  use_at = 0;
  uint64_t generation = 0;  // one for all: so that a turn has one
  for (uint32_t i = 0; i < nodes; ++i)
    generation = std::max(generation, rt.tasks.at(first + i)->word.load(std::memory_order_relaxed) >> 32);
  ++generation;
  Codelet *last = nullptr;
  consort_codelet_id last_id{0};
  for (uint32_t i = 0; i < nodes; ++i) {
    Task *t = rt.tasks.at(first + i);
    const Item *item = i < n ? &items[i] : nullptr;
    Codelet *c = nullptr;
    if (item && item->codelet.v) {
      c = item->codelet.v == last_id.v ? last : rt.codelets.find(item->codelet);
      if (!c) return set_error(CONSORT_E_STALE, "a codelet that was recorded has been removed meanwhile");
      if (c != last && std::find(r.codelets.begin(), r.codelets.end(), c) == r.codelets.end()) r.codelets.push_back(c);
      last = c;
      last_id = item->codelet;
    }
    const TaskKind kind = i + 1 == nodes ? TaskKind::kLastNode : TaskKind::kNode;
    if (c) blank(t, c->blank, c, c->bits, kind);
    else blank_special(t, kind);
    t->thread = static_cast<uint16_t>(std::min(nodes - 1 - i, 0xffffu));
    t->extra = &r.none;
    t->group = nullptr;
    t->epoch = 0;
    t->pub.id = generation << 32 | (first + i);
    t->word.store(generation << 32, std::memory_order_relaxed);
    t->pending.store(npredecessors[i], std::memory_order_relaxed);
    t->link[2] = npredecessors[i];
    t->link[3] = nsuccessors[i];
    if (nsuccessors[i] > node::kInlineEdges) {
      const uint32_t *edges = r.edges.data() + list[i];
      std::memcpy(t->link, &edges, sizeof edges);
    }
    if (!item) {
      t->pub.flags |= CONSORT_TK_INTERNAL;
      if (kind == TaskKind::kLastNode) {
        Recording *const self = &r;
        std::memcpy(t->payload, &self, sizeof self);
      }
      continue;
    }
    t->pub.priority = item->priority;
    t->pub.naccess = static_cast<uint16_t>(item->nuses);
    t->nargs = static_cast<uint8_t>(item->nargs);
    if (item->footprint) t->pub.footprint = item->footprint;
    if (const uint64_t bytes = item->nuses * sizeof(consort_access) + item->arg_bytes; bytes > kPayload) {
      t->pub.access = reinterpret_cast<consort_access *>(spill);
      spill += padded(bytes);
    }
    std::vector<Datum *> tokens;
    for (uint32_t k = 0; k < item->nuses; ++k, ++use_at) {
      const Use &use = uses[use_at];
      t->accesses()[k] = {&data[use.datum].datum->pub, use.mode, 0};
      if (use.mode & CONSORT_M_SCRATCH) t->bits |= kScratch;
      if ((use.mode & CONSORT_M_COMMUTE) && !use.loose && c) tokens.push_back(data[use.datum].datum);
    }
    if (item->arg_bytes) std::memcpy(t->accesses() + item->nuses, packed, item->arg_bytes);
    packed += item->arg_bytes;
    if (!tokens.empty()) t->bits |= kTokens;
    if (tokens.size() > 1 || item->nafter || item->name || item->work || item->worker != CONSORT_NONE ||
        item->for_teams || (item->nuses && nodes_are_staged(rt))) {
      Extra *e = t->extra = &r.extras[r.nextras++];
      e->work = item->work;
      if (item->worker != CONSORT_NONE) t->bits |= kBound;
      e->worker = item->worker;
      e->team = item->team;
      if (item->name && !(e->name = strdup(names[item->name - 1].c_str()))) throw std::bad_alloc();
      if (item->nafter) {
        if (!(e->after = static_cast<TaskName *>(std::malloc(item->nafter * sizeof(TaskName))))) throw std::bad_alloc();
        for (uint32_t k = 0; k < item->nafter; ++k) e->after[k] = first + after[after_at++];
        e->nafter = item->nafter;
        t->bits |= kAfter;
      }
      std::sort(tokens.begin(), tokens.end());
      tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
      if (tokens.size() > 1) {
        if (!(e->tokens = static_cast<CommuteTokenList *>(
                  std::malloc(sizeof(CommuteTokenList) + tokens.size() * sizeof(Datum *)))))
          throw std::bad_alloc();
        *e->tokens = {static_cast<uint32_t>(tokens.size()), 0, 0, 0};
        std::copy(tokens.begin(), tokens.end(), e->tokens->datum());
      }
    }
  }
  // Edges appear in the order of their ends, which is that of submission.
  std::vector<uint32_t> filled(nodes);
  for (const auto &e : graph.edges()) {
    Task *t = rt.tasks.at(first + e.from);
    uint32_t *edges = nsuccessors[e.from] > node::kInlineEdges ? r.edges.data() + list[e.from] : t->link;
    edges[filled[e.from]++] = first + e.to;
  }
  // The nodes show their codelets: either their remover sees that, or we that they are removed.
  fence::light(rt.asymmetric);
  for (const Codelet *c : r.codelets)
    if (!c->live.load(std::memory_order_relaxed))
      return set_errorf(CONSORT_E_STALE, "codelet '%s', which was recorded, has been removed meanwhile",
                        c->name.c_str());
  r.ntasks = n;
  r.nedges = graph.edges().size();
  r.bytes = uint64_t{nodes} * sizeof(Task) + listed * sizeof(uint32_t) + spilled + nextras * sizeof(Extra) +
            data.size() * sizeof(Recording::Use);
  return CONSORT_OK;
}

}  // namespace consort

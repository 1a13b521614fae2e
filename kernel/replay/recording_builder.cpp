// recording_builder.cpp — Recorder::build(): makes the nodes of a recording.
//
// Computes the edges, reserves all memory, then fills the nodes. On an error the caller clears the recording.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fence.hpp"
#include "base/last_error.hpp"
#include "graph/link_steps.hpp"
#include "replay/recorded_graph.hpp"
#include "replay/recorder.hpp"
#include "replay/replaying.hpp"
#include "task/packed_args.hpp"

namespace consort {
namespace {

using Item = Recorder::Item;
using Use = Recorder::Use;

// Whether nodes have notes of their own while they run: data in flight to them, tickets of predecessors on a queue.
bool nodes_are_staged(const Replaying &rt) noexcept {
  if (rt.data.placement || !rt.queues.empty()) return true;
  for (uint32_t s = 0; s < rt.topology->spaces().size(); ++s)
    if (rt.execution_memory->manages(s)) return true;
  return false;
}

bool takes_token(const Use &use) noexcept { return (use.mode & CONSORT_M_COMMUTE) && !use.loose; }

template <class T> T *allocate(size_t bytes) {  // by malloc, as Extra requires
  auto *const p = static_cast<T *>(std::malloc(bytes));
  if (!p) throw std::bad_alloc();
  return p;
}

class RecordingBuilder {
 public:
  RecordingBuilder(Recorder &from, Recording &to)
      : rec_(from), r_(to), rt_(from.rt), n_(static_cast<uint32_t>(from.items.size())), graph_(n_),
        staged_(nodes_are_staged(from.rt)) {}

  consort_status build() {
    work_out_edges();
    reserve_memory();
    if (!take_records()) return CONSORT_E_NOMEM;
    for (uint32_t i = 0; i < nodes(); ++i)
      if (const consort_status s = make_node(i); s < 0) return s;
    write_edges();
    if (const consort_status s = check_codelets(); s < 0) return s;
    r_.ntasks = n_;
    r_.nedges = graph_.edges().size();
    r_.bytes = uint64_t{nodes()} * sizeof(Task) + listed_ * sizeof(uint32_t) + spilled_ + nextras_ * sizeof(Extra) +
               rec_.data.size() * sizeof(Recording::Use);
    return CONSORT_OK;
  }

 private:
  uint32_t nodes() const noexcept { return graph_.size(); }
  Task *node_at(uint32_t i) const noexcept { return rt_.tasks.at(first_ + i); }
  static uint64_t bytes_of(const Item &item) noexcept { return item.nuses * sizeof(consort_access) + item.arg_bytes; }
  bool has_extra(const Item &item, size_t tokens) const noexcept {
    return tokens > 1 || item.nafter || item.name || item.work || item.worker != CONSORT_NONE || item.for_teams ||
           (item.nuses && staged_);
  }

  void work_out_edges();
  void reserve_memory();
  bool take_records() noexcept;
  consort_status make_node(uint32_t i);
  consort_status find_codelet(consort_codelet_id, Codelet **out);
  void begin_node(uint32_t i, Codelet *) noexcept;
  std::vector<Datum *> fill_payload(Task *, const Item &, const Codelet *);  // returns data whose tokens the task takes
  void fill_extra(Task *, const Item &, std::vector<Datum *> tokens);
  void write_edges() noexcept;
  consort_status check_codelets() const noexcept;

  Recorder &rec_;
  Recording &r_;
  Replaying &rt_;
  const uint32_t n_;                        // number of recorded tasks
  RecordedGraph graph_;
  const bool staged_;
  std::vector<uint32_t> nsuccessors_, npredecessors_;  // by node
  std::vector<uint32_t> list_;              // by node: index of its successors in r_.edges, if they are not in the node
  std::vector<uint32_t> written_;           // by node: successors written there so far
  uint64_t listed_ = 0, spilled_ = 0;       // successors in r_.edges; bytes of r_.spill
  uint32_t nextras_ = 0;
  uint32_t first_ = 0;                      // record of the first node
  uint64_t generation_ = 0;                 // common to all nodes, so that a replay has one generation
  // -- progress of make_node() --
  std::byte *spill_ = nullptr;
  const std::byte *packed_ = nullptr;
  size_t use_at_ = 0, after_at_ = 0;
  Codelet *last_codelet_ = nullptr;
  consort_codelet_id last_codelet_id_{0};
};

void RecordingBuilder::work_out_edges() {
  struct Merged { uint32_t datum, mode; };
  AccessChains chains(graph_, rec_.data.size());
  std::vector<Merged> merged;  // of one task: each datum once
  size_t at = 0, after_at = 0;
  for (uint32_t i = 0; i < n_; ++i) {
    merged.clear();
    for (uint32_t k = 0; k < rec_.items[i].nuses; ++k, ++at) {
      const Use &use = rec_.uses[at];
      if (use.loose || (use.mode & CONSORT_M_SCRATCH)) continue;
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const Merged &m) { return m.datum == use.datum; });
      if (same == merged.end()) merged.push_back({use.datum, use.mode});
      else same->mode |= use.mode;
    }
    for (const Merged &m : merged) chains.use(i, m.datum, m.mode);
    for (uint32_t k = 0; k < rec_.items[i].nafter; ++k) graph_.edge(rec_.after[after_at++], i);
  }
  graph_.finish();
}

// Reserves all that the recording owns except names and lists of its extras. May throw.
void RecordingBuilder::reserve_memory() {
  nsuccessors_.resize(nodes());
  npredecessors_.resize(nodes());
  list_.resize(nodes());
  written_.resize(nodes());
  for (const auto &e : graph_.edges()) {
    ++nsuccessors_[e.from];
    ++npredecessors_[e.to];
  }
  for (uint32_t i = 0; i < nodes(); ++i) {
    list_[i] = static_cast<uint32_t>(listed_);
    if (nsuccessors_[i] > node::kInlineEdges) listed_ += nsuccessors_[i];
    if (!npredecessors_[i]) r_.roots.push_back(i);
  }
  size_t use_at = 0;
  for (const Item &item : rec_.items) {
    uint32_t tokens = 0;
    for (uint32_t k = 0; k < item.nuses; ++k) tokens += takes_token(rec_.uses[use_at++]);
    nextras_ += has_extra(item, tokens);
    if (const uint64_t bytes = bytes_of(item); bytes > kPayload) spilled_ += padded(bytes);
  }
  r_.edges.resize(listed_);
  r_.spill.reset(spilled_ ? new std::byte[spilled_] : nullptr);
  r_.extras.reset(nextras_ ? new Extra[nextras_] : nullptr);
  r_.loose.reserve(rec_.data.size());
  for (uint32_t i = 0; i < rec_.data.size(); ++i) {
    r_.loose.push_back(i);
    const DatumExtra *extra = rec_.data[i].datum->extra();
    if (extra && !extra->name.empty()) r_.names[i] = extra->name;
  }
  r_.uses = rec_.data;
  r_.place = std::move(rec_.place);
}

bool RecordingBuilder::take_records() noexcept {
  first_ = rt_.recordings.take_records(nodes());
  if (!first_) {
    set_errorf(CONSORT_E_NOMEM, "%u task records are in use or recorded: no %u more in a row", rt_.tasks.carved(), nodes());
    return false;
  }
  r_.first.store(first_, std::memory_order_relaxed);
  r_.nnodes.store(nodes(), std::memory_order_relaxed);
  for (uint32_t &root : r_.roots) root += first_;
  for (uint32_t i = 0; i < nodes(); ++i)
    generation_ = std::max(generation_, node_at(i)->word.load(std::memory_order_relaxed) >> 32);
  ++generation_;
  spill_ = r_.spill.get();
  packed_ = rec_.args.data();
  return true;
}

consort_status RecordingBuilder::make_node(uint32_t i) {
  const Item *const item = i < n_ ? &rec_.items[i] : nullptr;
  Codelet *c = nullptr;
  if (item && item->codelet.v)
    if (const consort_status s = find_codelet(item->codelet, &c); s < 0) return s;
  begin_node(i, c);
  if (!item) return CONSORT_OK;
  Task *const t = node_at(i);
  t->pub.priority = item->priority;
  t->pub.naccess = static_cast<uint16_t>(item->nuses);
  t->nargs = static_cast<uint8_t>(item->nargs);
  if (item->footprint) t->pub.footprint = item->footprint;
  std::vector<Datum *> tokens = fill_payload(t, *item, c);
  if (!tokens.empty()) t->bits |= kTokens;
  if (has_extra(*item, tokens.size())) fill_extra(t, *item, std::move(tokens));
  return CONSORT_OK;
}

consort_status RecordingBuilder::find_codelet(consort_codelet_id id, Codelet **out) {
  Codelet *const c = id.v == last_codelet_id_.v ? last_codelet_ : rt_.codelets.find(id);
  if (!c) return set_error(CONSORT_E_STALE, "a codelet that was recorded has been removed meanwhile");
  auto &all = r_.codelets;
  if (c != last_codelet_ && std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
  last_codelet_ = c;
  last_codelet_id_ = id;
  *out = c;
  return CONSORT_OK;
}

// Initializes what every node has, including internal ones, which have no item.
void RecordingBuilder::begin_node(uint32_t i, Codelet *c) noexcept {
  Task *const t = node_at(i);
  const TaskKind kind = i + 1 == nodes() ? TaskKind::kLastNode : TaskKind::kNode;
  if (c) blank(t, c->blank, c, c->bits, kind);
  else blank_special(t, kind);
  t->thread = static_cast<uint16_t>(std::min(nodes() - 1 - i, 0xffffu));
  t->extra = &r_.none;
  t->group = nullptr;
  t->epoch = 0;
  t->pub.id = generation_ << 32 | (first_ + i);
  t->word.store(generation_ << 32, std::memory_order_relaxed);
  t->pending.store(npredecessors_[i], std::memory_order_relaxed);
  t->link[2] = npredecessors_[i];
  t->link[3] = nsuccessors_[i];
  if (nsuccessors_[i] > node::kInlineEdges) {
    const uint32_t *const edges = r_.edges.data() + list_[i];
    std::memcpy(t->link, &edges, sizeof edges);
  }
  if (i < n_) return;
  t->pub.flags |= CONSORT_TK_INTERNAL;
  if (kind == TaskKind::kLastNode) {
    Recording *const self = &r_;
    std::memcpy(t->payload, &self, sizeof self);
  }
}

std::vector<Datum *> RecordingBuilder::fill_payload(Task *t, const Item &item, const Codelet *c) {
  if (const uint64_t bytes = bytes_of(item); bytes > kPayload) {
    t->pub.access = reinterpret_cast<consort_access *>(spill_);
    spill_ += padded(bytes);
  }
  std::vector<Datum *> tokens;
  for (uint32_t k = 0; k < item.nuses; ++k, ++use_at_) {
    const Use &use = rec_.uses[use_at_];
    Datum *const datum = rec_.data[use.datum].datum;
    t->accesses()[k] = {&datum->pub, use.mode, 0};
    if (use.mode & CONSORT_M_SCRATCH) t->bits |= kScratch;
    if (takes_token(use) && c) tokens.push_back(datum);
  }
  if (item.arg_bytes) std::memcpy(t->accesses() + item.nuses, packed_, item.arg_bytes);
  packed_ += item.arg_bytes;
  return tokens;
}

void RecordingBuilder::fill_extra(Task *t, const Item &item, std::vector<Datum *> tokens) {
  Extra *const e = t->extra = &r_.extras[r_.nextras++];
  e->work = item.work;
  if (item.worker != CONSORT_NONE) t->bits |= kBound;
  e->worker = item.worker;
  e->team = item.team;
  if (item.name && !e->set_name(rec_.names[item.name - 1].c_str())) throw std::bad_alloc();
  if (item.nafter) {
    if (!e->make_room_after(item.nafter)) throw std::bad_alloc();
    for (uint32_t k = 0; k < item.nafter; ++k) e->after[k] = first_ + rec_.after[after_at_++];
    e->nafter = item.nafter;
    t->bits |= kAfter;
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  if (tokens.size() < 2) return;
  e->tokens = allocate<CommuteTokenList>(sizeof(CommuteTokenList) + tokens.size() * sizeof(Datum *));
  *e->tokens = {static_cast<uint32_t>(tokens.size()), 0, 0, 0};
  std::copy(tokens.begin(), tokens.end(), e->tokens->datum());
}

// Edges are written in the order of their targets, which is that of submission.
void RecordingBuilder::write_edges() noexcept {
  for (const auto &e : graph_.edges()) {
    uint32_t *const edges = nsuccessors_[e.from] > node::kInlineEdges ? r_.edges.data() + list_[e.from] : node_at(e.from)->link;
    edges[written_[e.from]++] = first_ + e.to;
  }
}

// The nodes have published their codelets: either the remover sees that, or this thread sees that a codelet is being
// removed.
consort_status RecordingBuilder::check_codelets() const noexcept {
  fence::light(rt_.asymmetric);
  for (const Codelet *c : r_.codelets)
    if (!c->live.load(std::memory_order_relaxed))
      return set_errorf(CONSORT_E_STALE, "codelet '%s', which was recorded, has been removed meanwhile", c->name.c_str());
  return CONSORT_OK;
}

}  // namespace

consort_status Recorder::build(Recording &r) { return RecordingBuilder(*this, r).build(); }

}  // namespace consort

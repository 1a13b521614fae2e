#include "remote/placement.hpp"

#include "base/last_error.hpp"
#include "graph/submit.hpp"
#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {
namespace {

consort_status refuse_second() noexcept {
  return set_error(CONSORT_E_BUSY, "another thread submits to the job: one thread at a time, in an order that is the same on all ranks");
}
consort_status refuse_datum_of_job(consort_data_id id) noexcept {
  return set_errorf(CONSORT_E_INVAL, "datum %u is none of the job: consort_data_distribute()", static_cast<uint32_t>(id.v));
}
consort_status refuse_rank(const Job &job, uint32_t rank) noexcept {
  return set_errorf(CONSORT_E_INVAL, "the job has no rank %u: there are %u, from 0", rank, job.ranks());
}

consort_status refuse_local_task() noexcept {
  return set_error(CONSORT_E_INVAL, "the task uses no datum of the job: consort_data_distribute(), or consort_submit()");
}

bool reads(uint32_t mode) noexcept { return mode & CONSORT_M_R; }
bool writes(uint32_t mode) noexcept { return mode & CONSORT_M_W; }

// Runs f inside the sequence; converts bad_alloc.
template <class F>
consort_status in_sequence(Job &job, F f) noexcept {
  const Job::Sequence mine(job);
  if (!mine) return refuse_second();
  try {
    return f();
  } catch (const std::bad_alloc &) {
    return set_error(CONSORT_E_NOMEM, "no memory for a datum of the job");
  }
}

class Moves {
 public:
  Moves(Distribution &rt, Job &job) noexcept : rt_(rt), job_(job), me_(job.rank()) {}

  // `rank` reads the datum next.
  consort_status bring(Owned &o, uint32_t rank) {
    if (rank == o.owner) return CONSORT_OK;
    if (o.owner == me_) {
      if (o.is_held_by(rank)) return CONSORT_OK;
      o.add_holder(rank);
      return send(o, rank);
    }
    return rank == me_ && !std::exchange(o.has_copy, true) ? receive(o, o.owner) : CONSORT_OK;
  }
  // A task on `rank`, which may be submitted here before, writes the datum.
  consort_status written(Owned &o, uint32_t rank) {
    if (o.owner == me_) {
      o.drop_holders();
      if (rank == me_) return CONSORT_OK;
      o.add_holder(rank);
      return receive(o, rank);
    }
    if (rank == me_) {
      o.has_copy = true;
      return send(o, o.owner);
    }
    return drop_copy(o);
  }
  // The contents go from the owner to all ranks. The parent of a rank in the tree is its distance from the owner without
  // the lowest bit. What a rank had before is overwritten, since its parent does not know of it.
  consort_status spread(Owned &o) {
    const uint32_t n = job_.ranks(), distance = (me_ + n - o.owner) % n, lowest = distance & -distance;
    if (distance) {
      const uint32_t parent = distance - lowest;
      if (const consort_status s = receive(o, (parent + o.owner) % n); s < 0) return s;
      o.has_copy = true;
    }
    uint32_t step = 1;
    while (2 * step < n) step *= 2;
    for (; step; step /= 2) {
      if ((distance && step >= lowest) || distance + step >= n) continue;
      if (const consort_status s = send(o, (distance + step + o.owner) % n); s < 0) return s;
    }
    for (uint32_t r = 0; !distance && r < n; ++r) o.add_holder(r);
    return CONSORT_OK;
  }
  // The contents at `root` become those of the owner.
  consort_status give(Owned &o, uint32_t root) {
    if (o.owner == me_) o.drop_holders();
    if (root == o.owner) return me_ == root ? CONSORT_OK : drop_copy(o);
    if (o.owner == me_) {
      o.add_holder(root);
      return receive(o, root);
    }
    if (me_ != root) return drop_copy(o);
    o.has_copy = true;
    return send(o, o.owner);
  }
  consort_status drop_copy(Owned &o) {
    o.drop_holders();
    if (!std::exchange(o.has_copy, false)) return CONSORT_OK;
    ThreadState *thread = rt_.this_thread();
    return thread ? submit_special(rt_, *thread, {o.data}, CONSORT_M_W, TaskKind::kInvalidate) : CONSORT_E_NOMEM;
  }

 private:
  consort_status send(Owned &o, uint32_t to) {
    ThreadState *thread = rt_.this_thread();
    return thread ? job_.send(*thread, {o.data}, to, o.cls, o.tag, {}, nullptr) : CONSORT_E_NOMEM;
  }
  consort_status receive(Owned &o, uint32_t from) {
    ThreadState *thread = rt_.this_thread();
    return thread ? job_.receive(*thread, {o.data}, from, o.cls, o.tag, {}, nullptr) : CONSORT_E_NOMEM;
  }

  Distribution &rt_;
  Job &job_;
  const uint32_t me_;
};

// The rank that owns most bytes of the task's data; of equal ones the lowest. A datum has the same size on all ranks.
uint32_t rank_of_most_bytes(Distribution &rt, Job &job, const consort_task_desc &d) noexcept {
  uint32_t best = CONSORT_NONE;
  uint64_t most = 0;
  for (uint32_t i = 0; i < d.nuses; ++i) {
    const Owned *candidate = job.owners.find(d.uses[i].data);
    if (!candidate) continue;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < d.nuses; ++k)
      if (const Owned *o = job.owners.find(d.uses[k].data); o && o->owner == candidate->owner)
        bytes += rt.data.find(d.uses[k].data)->pub.bytes;
    if (best != CONSORT_NONE && (bytes < most || (bytes == most && candidate->owner > best))) continue;
    best = candidate->owner, most = bytes;
  }
  return best;
}

// The rank that runs the task, in *out.
consort_status choose_rank(Distribution &rt, Job &job, const consort_task_desc &d, const consort_place *place, uint32_t *out) noexcept {
  if (place && place->flags) {
    if (place->flags == CONSORT_PLACE_RANK) {
      if (place->rank >= job.ranks()) return refuse_rank(job, place->rank);
      *out = place->rank;
      return CONSORT_OK;
    }
    if (place->flags == CONSORT_PLACE_BYTES) {
      *out = rank_of_most_bytes(rt, job, d);
      return *out == CONSORT_NONE ? refuse_local_task() : CONSORT_OK;
    }
    if (place->flags != CONSORT_PLACE_DATA)
      return set_errorf(CONSORT_E_INVAL, "place->flags is 0x%x: one of CONSORT_PLACE_RANK, _DATA and _BYTES, or 0", place->flags);
    const Owned *o = job.owners.find(place->data);
    if (!o) return refuse_datum_of_job(place->data);
    *out = o->owner;
    return CONSORT_OK;
  }
  const Owned *first = nullptr, *written = nullptr;
  for (uint32_t i = 0; i < d.nuses; ++i) {
    const Owned *o = job.owners.find(d.uses[i].data);
    if (!o) continue;
    if (!first) first = o;
    if (!writes(d.uses[i].mode)) continue;
    if (written && written->owner != o->owner)
      return set_errorf(CONSORT_E_INVAL, "the task writes data of rank %u (tag %llu) and of rank %u (tag %llu): name a place for it",
                        written->owner, static_cast<unsigned long long>(written->tag), o->owner, static_cast<unsigned long long>(o->tag));
    if (!written) written = o;
  }
  if (!first) return refuse_local_task();
  *out = (written ? written : first)->owner;
  return CONSORT_OK;
}

}  // namespace

// Whether a task that another rank runs needs nothing here: no contents are sent, received or dropped.
static bool is_foreign(Job &job, const consort_task_desc &d) noexcept {
  const uint32_t me = job.rank();
  for (uint32_t i = 0; i < d.nuses; ++i) {
    if (d.uses[i].mode & CONSORT_M_REDUX) return false;
    const Owned *o = job.owners.find(d.uses[i].data);
    if (o && (o->owner == me || (o->has_copy && writes(d.uses[i].mode)))) return false;
  }
  return true;
}

consort_status submit_distributed(Distribution &rt, Job &job, const consort_task_desc &d, const consort_place *place,
                                  consort_task_id *out) noexcept {
  return in_sequence(job, [&]() -> consort_status {
    uint32_t rank = 0;
    if (const consort_status s = choose_rank(rt, job, d, place, &rank); s < 0) return s;
    const bool is_mine = rank == job.rank();
    if (out) out->v = 0;
    if (!is_mine && is_foreign(job, d)) {
      if (rt.drop_ns) rt.dropped.fetch_add(1, std::memory_order_relaxed);
      return CONSORT_OK;
    }
    Moves moves(rt, job);
    for (uint32_t i = 0; i < d.nuses; ++i) {
      if (d.uses[i].mode & CONSORT_M_REDUX)
        return set_error(CONSORT_E_UNSUPPORTED, "a task of the job cannot contribute to a reduction: combine on each rank, then by messages");
      Owned *o = reads(d.uses[i].mode) ? job.owners.find(d.uses[i].data) : nullptr;
      if (o && (is_mine || o->owner == job.rank()))
        if (const consort_status s = moves.bring(*o, rank); s < 0) return s;
    }
    consort_status submitted = CONSORT_OK;
    if (is_mine) submitted = submit(rt, d, out);
    const LastError why;
    for (uint32_t i = 0; i < d.nuses; ++i) {
      Owned *o = writes(d.uses[i].mode) ? job.owners.find(d.uses[i].data) : nullptr;
      if (o && (is_mine || o->owner == job.rank() || o->has_copy))
        if (const consort_status s = moves.written(*o, rank); s < 0 && submitted >= 0) return s;
    }
    return submitted < 0 ? why.restore(submitted) : CONSORT_OK;
  });
}

consort_status distribute(Distribution &rt, Job &job, consort_data_id id, uint64_t tag, uint32_t owner) noexcept {
  if (owner >= job.ranks()) return refuse_rank(job, owner);
  const Datum *d = rt.data.find(id);
  if (!d || !DataTable::is(*d, id)) return refuse_datum(id);
  return in_sequence(job, [&]() -> consort_status {
    if (job.owners.find(id))
      return set_error(CONSORT_E_BUSY, "the datum is one of the job already: consort_data_migrate() changes its owner");
    Owned &o = job.owners.add(id);
    o.tag = tag, o.owner = owner;
    return CONSORT_OK;
  });
}

consort_status migrate(Distribution &rt, Job &job, consort_data_id id, uint32_t owner) noexcept {
  if (owner >= job.ranks()) return refuse_rank(job, owner);
  return in_sequence(job, [&]() -> consort_status {
    Owned *const o = job.owners.find(id);
    if (!o) return refuse_datum_of_job(id);
    const uint32_t before = o->owner;
    if (before == owner) return CONSORT_OK;
    if (const consort_status s = Moves(rt, job).bring(*o, owner); s < 0) return s;
    // Copies elsewhere stay current, but the new owner does not know them: they are dropped, and this rank's becomes one.
    if (owner != job.rank() && before != job.rank())
      if (const consort_status s = Moves(rt, job).drop_copy(*o); s < 0) return s;
    o->drop_holders();
    o->owner = owner;
    o->has_copy = before == job.rank();
    if (owner == job.rank()) o->add_holder(before);
    return CONSORT_OK;
  });
}

consort_status fetch(Distribution &rt, Job &job, consort_data_id id, uint32_t rank) noexcept {
  if (rank >= job.ranks()) return refuse_rank(job, rank);
  return in_sequence(job, [&]() -> consort_status {
    Owned *const o = job.owners.find(id);
    return o ? Moves(rt, job).bring(*o, rank) : refuse_datum_of_job(id);
  });
}

consort_status flush(Distribution &rt, Job &job, consort_data_id id) noexcept {
  return in_sequence(job, [&]() -> consort_status {
    Moves moves(rt, job);
    if (id.v) {
      Owned *const o = job.owners.find(id);
      return o ? moves.drop_copy(*o) : refuse_datum_of_job(id);
    }
    consort_status first = CONSORT_OK;
    job.owners.each([&](Owned &o) {
      if (const consort_status s = moves.drop_copy(o); s < 0 && first >= 0 && s != CONSORT_E_STALE) first = s;
    });
    return first;
  });
}

// Runs f for each datum, which must all be of the job; nothing is done before that is known.
template <class F>
static consort_status for_each(Job &job, const consort_data_id *data, uint32_t n, F f) noexcept {
  if (n && !data) return set_error(CONSORT_E_INVAL, "data is NULL, but n is not 0");
  return in_sequence(job, [&]() -> consort_status {
    for (uint32_t i = 0; i < n; ++i)
      if (!job.owners.find(data[i])) return refuse_datum_of_job(data[i]);
    for (uint32_t i = 0; i < n; ++i)
      if (const consort_status s = f(*job.owners.find(data[i])); s < 0) return s;
    return CONSORT_OK;
  });
}

consort_status at_owners(Distribution &rt, Job &job, const consort_data_id *data, uint32_t n, uint32_t mode, AtOwner *f, void *arg) noexcept {
  return for_each(job, data, n, [&](Owned &o) -> consort_status {
    if (o.owner == job.rank())
      if (const consort_status s = f(arg, o); s < 0) return s;
    return writes(mode) ? Moves(rt, job).written(o, o.owner) : CONSORT_OK;
  });
}

consort_status scatter(Distribution &rt, Job &job, const consort_data_id *data, uint32_t n, uint32_t root) noexcept {
  if (root >= job.ranks()) return refuse_rank(job, root);
  return for_each(job, data, n, [&](Owned &o) { return Moves(rt, job).give(o, root); });
}

consort_status gather(Distribution &rt, Job &job, const consort_data_id *data, uint32_t n, uint32_t root) noexcept {
  if (root >= job.ranks()) return refuse_rank(job, root);
  return for_each(job, data, n, [&](Owned &o) { return Moves(rt, job).bring(o, root); });
}

consort_status broadcast(Distribution &rt, Job &job, consort_data_id id) noexcept {
  return for_each(job, &id, 1, [&](Owned &o) { return Moves(rt, job).spread(o); });
}

consort_status reduce(Distribution &rt, Job &job, const consort_data_id *parts, uint32_t n, consort_codelet_id combine) noexcept {
  if (const consort_status s = for_each(job, parts, n, [](Owned &) { return CONSORT_OK; }); s < 0) return s;
  for (uint64_t step = 1; step < n; step *= 2)
    for (uint64_t i = 0; i + step < n; i += 2 * step) {
      const consort_use uses[] = {{parts[i], CONSORT_M_RW, 0}, {parts[i + step], CONSORT_M_R, 0}};
      consort_task_desc d = CONSORT_TASK_INIT;
      d.codelet = combine, d.uses = uses, d.nuses = 2;
      if (const consort_status s = submit_distributed(rt, job, d, nullptr, nullptr); s < 0) return s;
    }
  return CONSORT_OK;
}

consort_status owner_of(Job &job, consort_data_id id, uint32_t *owner, uint64_t *tag) noexcept {
  return in_sequence(job, [&]() -> consort_status {
    const Owned *o = job.owners.find(id);
    if (!o) return refuse_datum_of_job(id);
    if (owner) *owner = o->owner;
    if (tag) *tag = o->tag;
    return CONSORT_OK;
  });
}

}  // namespace consort

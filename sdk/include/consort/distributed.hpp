// consort/distributed.hpp — Job: one program on several ranks, for C++. distributed.h says what each call does.
//
// Beside consort.hpp, which does not include it:
//   consort::Runtime rt;
//   consort::Job job(rt);                               // started by `consort run -n 4 -- program`
//   auto x = rt.vector<double>(n, "x");
//   job.distribute(x, 1, 0);                            // tag 1; lives at rank 0
//   job.submit(scale, consort::rw(x), 3.0);             // on all ranks; runs where x lives
//   rt.wait_all();
// A failing call throws consort::Error. One thread at a time submits to the job. A Job must not outlive its Runtime.
#ifndef CONSORT_DISTRIBUTED_HPP
#define CONSORT_DISTRIBUTED_HPP
#include <consort/checkpoint.h>
#include <consort/consort.hpp>
#include <consort/distributed.h>

#include <optional>
#include <string>
#include <vector>

namespace consort::inline face {

// Where a task of a job runs. By default: where the data live that it writes.
class Place {
 public:
  Place() noexcept = default;  // Where the written data live.
  // On this rank. Written data of other owners are sent back to them.
  static Place rank(uint32_t rank) noexcept {
    Place p;
    p.place_.flags = CONSORT_PLACE_RANK, p.place_.rank = rank;
    return p;
  }
  // On the rank that owns x.
  template <class V>
  static Place of(const Data<V> &x) noexcept {
    Place p;
    p.place_.flags = CONSORT_PLACE_DATA, p.place_.data = x.id();
    return p;
  }
  // On the rank that owns most bytes of the task's data.
  static Place most_bytes() noexcept {
    Place p;
    p.place_.flags = CONSORT_PLACE_BYTES;
    return p;
  }
  const consort_place *c() const noexcept { return &place_; }  // For the C API.

 private:
  consort_place place_ = CONSORT_PLACE_INIT;
};

namespace detail {

// A submission to a job, in place of Options.
struct Placed {
  const Options *options;
  const Place &place;

  Task submit(consort_runtime *rt, consort_task_desc &d) const {
    InOrder in_order;
    const bool more = options && options->in_order();
    if (more) in_order.take(rt, *options), in_order.put(d, *options);
    consort_task_id id{};
    check(consort_job_submit(rt, &d, place.c(), &id));
    in_order.sent = id.v || !more;
    return {rt, id};
  }
};

}  // namespace detail

// A complete checkpoint, which a job found at its start.
struct Checkpoint {
  std::string name;                        // The application's.
  uint64_t number = 0;                     // The application's: an iteration, say.
  uint64_t serial = 0;                     // Counts the checkpoints of the folder.
  uint32_t ranks = 0;                      // Of the job that wrote it.
};

// This rank of a job. The constructor joins it on all ranks; the runtime leaves it when it stops.
class Job {
 public:
  // Joins the job of this process; all ranks do. Throws Error (E_TIMEOUT, E_PEER_LOST) if some rank does not come.
  explicit Job(Runtime &rt, const char *transport = nullptr) : rt_(rt) {
    consort_job_desc d = CONSORT_JOB_DESC_INIT;
    d.transport = transport;
    detail::check(consort_job_join(rt.c(), &d));
    info_.size = sizeof info_;
    detail::check(consort_job_get(rt.c(), &info_));
  }
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;

  uint32_t rank() const noexcept { return info_.rank; }                    // Of this process, from 0.
  uint32_t ranks() const noexcept { return info_.nranks; }                 // How many there are.
  std::string transport() const { return info_.transport; }                // "" in a job of one rank.
  // The name of a rank's host. Throws Error (E_PEER_LOST) if that rank was lost.
  std::string host(uint32_t rank) const {
    const char *name = nullptr;
    detail::check(consort_job_rank(rt_.c(), rank, &name));
    return name;
  }

  // x is the same datum on all ranks, under this tag; its contents live at `owner`.
  template <class V>
  void distribute(const Data<V> &x, uint64_t tag, uint32_t owner) {
    detail::check(consort_data_distribute(rt_.c(), x.id(), tag, owner));
  }
  // The rank that owns a datum of the job.
  template <class V>
  uint32_t owner(const Data<V> &x) const {
    uint32_t owner = 0;
    detail::check(consort_data_owner(rt_.c(), x.id(), &owner, nullptr));
    return owner;
  }
  // On all ranks: a new owner, which gets the contents.
  template <class V>
  void migrate(const Data<V> &x, uint32_t owner) { detail::check(consort_data_migrate(rt_.c(), x.id(), owner)); }
  // On all ranks: the contents are at `rank`, too.
  template <class V>
  void fetch(const Data<V> &x, uint32_t rank) { detail::check(consort_data_fetch(rt_.c(), x.id(), rank)); }
  // On all ranks: copies elsewhere than at the owner are dropped.
  template <class V>
  void flush(const Data<V> &x) { detail::check(consort_data_flush(rt_.c(), x.id())); }
  // On all ranks: the contents are sent to all of them.
  template <class V>
  void broadcast(const Data<V> &x) { detail::check(consort_data_broadcast(rt_.c(), x.id())); }
  // On all ranks: parts[0] becomes the combination of all parts, by a fixed tree. combine(a, b) adds b to a.
  template <class V, class S>
  void reduce(const std::vector<Data<V>> &parts, const Codelet<S> &combine) {
    const auto ids = ids_of(parts);
    detail::check(consort_data_reduce(rt_.c(), ids.data(), static_cast<uint32_t>(ids.size()), combine.id(static_cast<detail::Submitter &>(rt_).control_)));
  }
  // On all ranks: the contents at root are sent to the owners.
  template <class V>
  void scatter(const std::vector<Data<V>> &all, uint32_t root) {
    const auto ids = ids_of(all);
    detail::check(consort_data_scatter(rt_.c(), ids.data(), static_cast<uint32_t>(ids.size()), root));
  }
  // On all ranks: the contents at the owners are sent to root.
  template <class V>
  void gather(const std::vector<Data<V>> &all, uint32_t root) {
    const auto ids = ids_of(all);
    detail::check(consort_data_gather(rt_.c(), ids.data(), static_cast<uint32_t>(ids.size()), root));
  }
  void flush_all() { detail::check(consort_data_flush(rt_.c(), {})); }                  // Of all data of the job.

  // As Runtime::submit(), on all ranks in the same order. The task is empty on ranks that do not run it.
  template <class S, class... A>
  Task submit(const Codelet<S> &codelet, const A &...given) {
    return submit(Place(), codelet, given...);
  }
  // With options.
  template <class S, class... A>
  Task submit(const Options &options, const Codelet<S> &codelet, const A &...given) {
    return submit(Place(), options, codelet, given...);
  }
  // Not where the written data live.
  template <class S, class... A>
  Task submit(const Place &place, const Codelet<S> &codelet, const A &...given) {
    const detail::Placed placed{nullptr, place};
    return static_cast<detail::Submitter &>(rt_).template route<Task>(&placed, codelet, given...);
  }
  // With options, not where the written data live.
  template <class S, class... A>
  Task submit(const Place &place, const Options &options, const Codelet<S> &codelet, const A &...given) {
    const detail::Placed placed{&options, place};
    return static_cast<detail::Submitter &>(rt_).template route<Task>(&placed, codelet, given...);
  }

  // A message: a task that reads x. The n-th send of a tag to a rank goes to the n-th receive of that tag there.
  template <class V>
  Task send(const Data<V> &x, uint32_t to, uint64_t tag, Done done = {}) { return message(consort_send, x.id(), to, tag, done); }
  // The other end: a task that writes x.
  template <class V>
  Task receive(const Data<V> &x, uint32_t from, uint64_t tag, Done done = {}) {
    return message(consort_receive, x.id(), from, tag, done);
  }
  // The last complete checkpoint in the folder that `consort run --checkpoint` names. Empty: there is none.
  std::optional<Checkpoint> checkpoint_found() const {
    const consort_checkpoint_info i = checkpoint_info();
    if (!i.serial) return std::nullopt;
    return Checkpoint{i.name, i.number, i.serial, i.nranks};
  }
  std::string checkpoint_folder() const { return checkpoint_info().folder; }  // "": none is set.
  // On all ranks: stores all data of the job as they are at this point of the sequence. The task ends when all are stored.
  Task checkpoint(const std::string &name, uint64_t number) { return checkpoint(name, number, nullptr, 0); }
  // Only these.
  template <class... V>
  Task checkpoint(const std::string &name, uint64_t number, const Data<V> &...data) {
    const consort_data_id ids[] = {data.id()...};
    return checkpoint(name, number, ids, sizeof...(data));
  }
  template <class V>
  Task checkpoint(const std::string &name, uint64_t number, const std::vector<Data<V>> &data) {
    const auto ids = ids_of(data);
    return checkpoint(name, number, ids.data(), ids.size());
  }
  // On all ranks, before the first checkpoint: all data of the job get their contents in the checkpoint that was found.
  void restore() { detail::check(consort_checkpoint_restore(rt_.c(), nullptr, 0)); }
  // Only these.
  template <class... V>
  void restore(const Data<V> &...data) {
    const consort_data_id ids[] = {data.id()...};
    detail::check(consort_checkpoint_restore(rt_.c(), ids, sizeof...(data)));
  }
  template <class V>
  void restore(const std::vector<Data<V>> &data) {
    const auto ids = ids_of(data);
    detail::check(consort_checkpoint_restore(rt_.c(), ids.data(), static_cast<uint32_t>(ids.size())));
  }

  // Returns when all ranks have called it. Does not wait for tasks.
  void barrier() { detail::check(consort_job_barrier(rt_.c(), CONSORT_FOREVER)); }
  bool barrier_for(Timeout timeout) { return detail::in_time(consort_job_barrier(rt_.c(), timeout.ns())); }  // False: time ran out.
  void abort(const std::string &why) { detail::check(consort_job_abort(rt_.c(), why.c_str())); }  // Asks the launcher to end all ranks.

 private:
  template <class V>
  static std::vector<consort_data_id> ids_of(const std::vector<Data<V>> &all) {
    std::vector<consort_data_id> ids;
    for (const Data<V> &x : all) ids.push_back(x.id());
    return ids;
  }
  consort_checkpoint_info checkpoint_info() const {
    consort_checkpoint_info i{};
    i.size = sizeof i;
    detail::check(consort_checkpoint_found(rt_.c(), &i));
    return i;
  }
  Task checkpoint(const std::string &name, uint64_t number, const consort_data_id *data, size_t n) {
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    d.data = data, d.n = static_cast<uint32_t>(n), d.name = name.c_str(), d.number = number;
    consort_task_id id{};
    detail::check(consort_checkpoint_save(rt_.c(), &d, &id));
    return {rt_.c(), id};
  }
  using Submit = consort_status(consort_runtime *, const consort_message *, consort_task_id *);
  Task message(Submit *submit, consort_data_id x, uint32_t peer, uint64_t tag, const Done &done) {
    consort_message m = CONSORT_MESSAGE_INIT;
    m.data = x, m.rank = peer, m.tag = tag;
    m.done = done.fn(), m.done_arg = done.arg();
    consort_task_id id{};
    detail::check(submit(rt_.c(), &m, &id));
    return {rt_.c(), id};
  }

  Runtime &rt_;
  consort_job_info info_{};
};

}  // namespace consort::inline face
#endif

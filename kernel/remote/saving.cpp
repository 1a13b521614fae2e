// saving.cpp — checkpoints as parts of the sequence: which steps a rank submits. checkpoints.cpp carries them out.
#include <algorithm>
#include <unistd.h>

#include "base/last_error.hpp"
#include "graph/submit_special.hpp"
#include "remote/checkpoints.hpp"
#include "remote/distribution.hpp"
#include "remote/placement.hpp"

namespace consort {
namespace {

// Tells this job from others that use the folder.
uint64_t number_of_job(const Job &job, uint64_t now) noexcept {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto mix = [&](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u; };
  if (job.ranks() > 1 && job.name()) {
    for (const char *c = job.name(); *c; ++c) mix(*c);
  } else {
    for (int i = 0; i < 64; i += 8) mix(static_cast<char>(now >> i)), mix(static_cast<char>(static_cast<uint64_t>(getpid()) >> i));
  }
  return hash;
}

consort_status refuse_none(const std::string &path) noexcept {
  return set_errorf(CONSORT_E_INVAL, "checkpoint = \"%s\": there is no complete checkpoint in this folder", path.c_str());
}

}  // namespace

// The first look is before this rank's first checkpoint, which no rank completes without it: so all ranks find the same.
consort_status Checkpoints::open_folder() {
  if (unusable_) return set_error(*unusable_);
  if (folder_) return CONSORT_OK;
  path_ = rt_.config->text("checkpoint");
  const auto keep = [&](Error e) { return unusable_ = std::move(e), set_error(*unusable_); };
  if (path_.empty())
    return keep(error(CONSORT_E_INVAL, "no folder for checkpoints is set: consort run --checkpoint FOLDER, or the setting checkpoint"));
  auto folder = CheckpointFolder::open(*rt_.registry, rt_.topology->control(), std::string(rt_.config->text("checkpoint_driver")),
                                       path_, job_.rank() == 0);
  if (!folder) return keep(folder.error());
  auto manifest = (*folder)->manifest();
  if (!manifest) return keep(manifest.error());
  folder_ = std::move(*folder);
  found_ = std::move(*manifest);
  return CONSORT_OK;
}

consort_status Checkpoints::found(consort_checkpoint_info *out) {
  const uint32_t size = out->size;
  *out = {};
  out->size = size, out->name = "", out->folder = "";
  if (!folder_ && rt_.config->text("checkpoint").empty()) return CONSORT_OK;
  if (const consort_status s = open_folder(); s < 0) return s;
  out->folder = path_.c_str();
  if (!found_) return CONSORT_OK;
  out->nranks = static_cast<uint32_t>(found_->parts.size());
  out->serial = found_->serial, out->number = found_->number;
  out->ndata = found_->data.size(), out->bytes = found_->bytes();
  out->name = found_->name.c_str();
  return CONSORT_OK;
}

bool Checkpoints::needs_token() const noexcept { return tokens_.size() < job_.ranks(); }

// The rank of a token writes it when its part is finished.
consort_status Checkpoints::add_token(consort_data_id id) {
  const auto r = static_cast<uint32_t>(tokens_.size());
  tokens_.reserve(job_.ranks());
  if (DatumExtra *extra = rt_.data.extra(*rt_.data.find(id))) extra->name = "checkpoint of rank " + std::to_string(r);
  const Job::Sequence mine(job_);
  if (!mine) return set_error(CONSORT_E_BUSY, "another thread submits to the job: one thread at a time, in an order that is the same on all ranks");
  Owned &o = job_.owners.add(id);
  o.tag = r, o.owner = r, o.cls = MessageKey::kStored;
  tokens_.push_back(id);
  return CONSORT_OK;
}

// `data`, or all data of the job. Refuses what is none of the job.
consort_status Checkpoints::all_data(const consort_data_id *data, uint32_t n, std::vector<consort_data_id> *out) {
  if (data) out->assign(data, data + n);
  else if (n) return set_error(CONSORT_E_INVAL, "data is NULL, but n is not 0");
  else job_.owners.each([&](Owned &o) {
    if (const Datum *d = rt_.data.find({o.data}); o.cls != MessageKey::kStored && d && DataTable::is(*d, {o.data})) out->push_back({o.data});
  });
  std::vector<uint64_t> tags;
  for (const consort_data_id id : *out) {
    const Owned *const o = job_.owners.find(id);
    if (!o) return set_errorf(CONSORT_E_INVAL, "datum %u is none of the job: consort_data_distribute()", static_cast<uint32_t>(id.v));
    tags.push_back(o->tag);
  }
  std::sort(tags.begin(), tags.end());
  if (const auto twice = std::adjacent_find(tags.begin(), tags.end()); twice != tags.end())
    return set_errorf(CONSORT_E_INVAL, "two of the data have the tag %llu, by which they are known: each tag once", static_cast<unsigned long long>(*twice));
  return CONSORT_OK;
}

consort_status Checkpoints::submit_step(consort_data_id id, uint32_t mode, std::unique_ptr<Step> step, const consort_checkpoint_desc *of,
                                        consort_task_id *out) noexcept {
  ThreadState *thread = rt_.this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  const uintptr_t word = reinterpret_cast<uintptr_t>(step.get()) | (step->kind == Step::kLoad ? kLoads : 0);
  MessageTask m{id, mode, {0}, nullptr, nullptr, reinterpret_cast<void *>(word), kPlace};
  if (of) m.group = of->group, m.done = of->done, m.done_arg = of->done_arg;
  m.kind = TaskKind::kStored;
  TaskName name = 0;
  const consort_status s = submit_message(rt_, *thread, m, &name);
  if (s < 0) return s;
  (void)step.release();  // its task has it, and may have ended
  if (out) out->v = name;
  return s;
}

// A failure fails the checkpoint alone: the rank's sequence stays that of the others.
consort_status Checkpoints::submit_counted(const std::shared_ptr<Save> &save, Step::Kind kind, const Owned &o) {
  auto made = std::make_unique<Step>();
  made->kind = kind, made->save = save, made->tag = o.tag;
  {
    const std::lock_guard guard(mutex_);
    ++save->open;
  }
  const consort_status s = submit_step({o.data}, CONSORT_M_R, std::move(made));
  if (s >= 0) return s;
  fail(*save, s, error_text());
  const std::lock_guard guard(mutex_);
  --save->open;
  return CONSORT_OK;
}

std::shared_ptr<Checkpoints::Save> Checkpoints::begin(const consort_checkpoint_desc &d, const std::vector<consort_data_id> &data) {
  auto save = std::make_shared<Save>();
  save->head = {number_of_job(job_, rt_.clock.now()), (found_ ? found_->serial : 0) + ++saves_, job_.rank()};
  save->number = d.number;
  if (d.name) save->name = d.name;
  for (const consort_data_id id : data)
    if (const Owned *const o = job_.owners.find(id); job_.rank() == 0) save->owners.emplace_back(o->tag, o->owner);
  std::sort(save->owners.begin(), save->owners.end());
  return save;
}

// After the checks nothing is refused: what fails on this rank fails the checkpoint on all, and their sequences stay equal.
consort_status Checkpoints::save(const consort_checkpoint_desc &desc, consort_task_id *out) {
  if (rt_.config->text("checkpoint").empty()) return open_folder();
  std::vector<consort_data_id> data;
  if (const consort_status s = all_data(desc.data, desc.n, &data); s < 0) return s;
  const consort_status opened = open_folder();
  const LastError why;
  auto save = begin(desc, data);
  if (opened < 0) fail(*save, opened, why.text());

  struct Of {
    Checkpoints &all;
    const std::shared_ptr<Save> &save;
  } of{*this, save};
  const auto store = [](void *arg, const Owned &o) {
    const Of &that = *static_cast<Of *>(arg);
    return that.all.submit_counted(that.save, Step::kStore, o);
  };
  // Without a folder there is nothing to store, and the token tells it.
  if (opened >= 0)
    if (const consort_status s = at_owners(rt_, job_, data.data(), static_cast<uint32_t>(data.size()), CONSORT_M_R, store, &of); s < 0) return s;
  if (const consort_status s = gather_tokens(save); s < 0) return s;
  if (const consort_status s = broadcast(rt_, job_, tokens_[0]); s < 0) return s;
  auto end = std::make_unique<Step>();
  end->kind = Step::kEnd, end->save = save;
  return submit_step(tokens_[0], CONSORT_M_R, std::move(end), &desc, out);
}

// The parent of a rank in the tree is its number without the lowest bit. A rank finishes after it has the tokens of its
// children, which have higher numbers.
consort_status Checkpoints::gather_tokens(const std::shared_ptr<Save> &save) {
  struct Of {
    Checkpoints &all;
    const std::shared_ptr<Save> &save;
  } of{*this, save};
  const auto finish = [](void *arg, const Owned &o) {
    const Of &that = *static_cast<Of *>(arg);
    auto made = std::make_unique<Step>();
    made->kind = Step::kFinish, made->save = that.save;
    return that.all.submit_step({o.data}, CONSORT_M_W, std::move(made));
  };
  const uint32_t ranks = job_.ranks();
  for (uint32_t r = ranks; r-- > 0;) {
    for (uint64_t bit = 1; r + bit < ranks && !(r & bit); bit *= 2) {
      const consort_data_id child = tokens_[r + bit];
      if (const consort_status s = fetch(rt_, job_, child, r); s < 0) return s;
      if (r != job_.rank()) continue;
      if (const consort_status s = submit_counted(save, Step::kTake, *job_.owners.find(child)); s < 0) return s;
    }
    if (const consort_status s = at_owners(rt_, job_, &tokens_[r], 1, CONSORT_M_W, finish, &of); s < 0) return s;
  }
  return CONSORT_OK;
}

consort_status Checkpoints::restore(const consort_data_id *given, uint32_t n) {
  std::vector<consort_data_id> data;
  if (const consort_status s = all_data(given, n, &data); s < 0) return s;
  if (const consort_status s = open_folder(); s < 0) return s;
  if (!found_) return refuse_none(path_);
  if (saves_) return set_error(CONSORT_E_INVAL, "this job has begun a checkpoint: restore before the first one");
  for (const consort_data_id id : data)
    if (const uint64_t tag = job_.owners.find(id)->tag; !found_->find(tag))
      return set_errorf(CONSORT_E_INVAL, "checkpoint = \"%s\": its checkpoint '%s' has no datum with the tag %llu", path_.c_str(),
                        found_->name.c_str(), static_cast<unsigned long long>(tag));
  const auto step = [](void *arg, const Owned &o) -> consort_status {
    auto &all = *static_cast<Checkpoints *>(arg);
    auto made = std::make_unique<Step>();
    made->kind = Step::kLoad, made->tag = o.tag, made->saved = all.found_->find(o.tag);
    {
      const std::lock_guard guard(all.mutex_);
      ++all.loads_;
    }
    const consort_status s = all.submit_step({o.data}, CONSORT_M_W, std::move(made));
    const std::lock_guard guard(all.mutex_);
    if (s < 0) --all.loads_;
    return s;
  };
  return at_owners(rt_, job_, data.data(), static_cast<uint32_t>(data.size()), CONSORT_M_W, step, this);
}

}  // namespace consort

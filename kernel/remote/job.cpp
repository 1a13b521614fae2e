// job.cpp — joining and leaving a job, its thread, and the other ranks. messages.cpp has the messages.
#include "remote/job.hpp"

#include <consort/defaults.h>

#include <algorithm>
#include <cstdlib>

#include "base/last_error.hpp"
#include "graph/complete.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"
#include "remote/distribution.hpp"

namespace consort {
namespace {

constexpr int64_t kLook = 10'000'000;    // ns between two looks at what a transport has not taken, or while ranks connect
constexpr int64_t kTick = 50'000;        // likewise at a transport without a descriptor
constexpr int64_t kLeave = 1'000'000'000;  // ns for the last messages of a rank that leaves

RankBoot &meeting_of(const consort_host *h) noexcept {
  return *distribution_of(*static_cast<Core *>(host_user(h))).joining.load(std::memory_order_acquire)->meeting();
}
consort_status boot_put(const consort_host *h, const char *key, const void *p, uint32_t n) { return meeting_of(h).put(key, p, n); }
consort_status boot_get(const consort_host *h, uint32_t rank, const char *key, void *p, uint32_t *n, uint64_t deadline) {
  return meeting_of(h).get(rank, key, p, n, deadline);
}
consort_status boot_fence(const consort_host *h, uint64_t deadline) { return meeting_of(h).fence(deadline); }
void boot_abort(const consort_host *h, consort_status, const char *why) { meeting_of(h).abort(why ? why : ""); }

// Whether a launcher has started several ranks, by its environment.
bool is_below_launcher() noexcept {
  constexpr const char *variables[] = {CONSORT_LAUNCHER_VARIABLES};
  return std::any_of(std::begin(variables), std::end(variables), [](const char *variable) {
    const char *const text = secure_getenv(variable);  // a privileged program starts no transport by it
    return text && std::atoi(text) > 1;
  });
}

Error last_error(consort_status s) { return error(s, error_text()); }

}  // namespace

const consort_boot *boot_service(Distribution &rt) noexcept {
  const Job *job = rt.joining.load(std::memory_order_acquire);
  return job ? job->boot() : nullptr;
}

consort_status Job::join(Distribution &rt, const JobSettings &settings) noexcept try {
  std::unique_ptr<Job> job(new Job(rt));
  auto checkpoints = std::make_unique<Checkpoints>(rt, *job);
  Job *none = nullptr;
  if (!rt.joining.compare_exchange_strong(none, job.get(), std::memory_order_acq_rel))
    return set_error(CONSORT_E_BUSY, "this runtime has joined a job already");
  const auto opened = job->open(settings);
  if (!opened) {
    job.reset();  // the transport may tell of events until then
    rt.joining.store(nullptr, std::memory_order_release);
    return set_error(opened.error());
  }
  rt.job = std::move(job);
  rt.checkpoints = std::move(checkpoints);
  rt.joined.store(rt.job.get(), std::memory_order_release);
  if (rt.virtual_time && rt.job->ranks() > 1) rt.other_ranks.store(rt.job.get(), std::memory_order_release);
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory to join a job");
}

Result<void> Job::open(const JobSettings &settings) {
  const Config &config = *rt_.config;
  const int64_t seconds = config.number("join_seconds");
  const uint64_t deadline = world_.now() + static_cast<uint64_t>(settings.timeout_ns > 0 ? settings.timeout_ns : seconds * 1'000'000'000);
  boot_.size = sizeof boot_, boot_.nranks = 1;
  if (settings.boot) {
    boot_ = *settings.boot;
    if (boot_.rank >= boot_.nranks) return error(CONSORT_E_INVAL, "boot->rank is not below boot->nranks");
  } else if ((thread_rank_ = ThreadRank::of_this_thread())) {
    thread_rank_->describe(boot_);
  } else if (config.number("ranks_here") > 1) {
    return error(CONSORT_E_INVAL, config.origin("ranks_here") + ": ranks_here = " + std::to_string(config.number("ranks_here")) +
                                      ", but this thread is none of them: give the rank as a function by consort_rank_main()");
  } else if (const std::string folder(config.text("rendezvous")); !folder.empty()) {
    auto opened = FolderBoot::open(world_, folder, static_cast<uint32_t>(config.number("rank")),
                                   static_cast<uint32_t>(config.number("ranks")));
    if (!opened) return opened.error();
    folder_ = std::move(*opened);
    folder_->describe(boot_);
  } else if (config.number("ranks") > 1) {
    return error(CONSORT_E_INVAL, config.origin("ranks") + ": ranks = " + std::to_string(config.number("ranks")) +
                                      " without a rendezvous: start the ranks by consort run");
  }
  if (meeting()) boot_.put = boot_put, boot_.get = boot_get, boot_.fence = boot_fence, boot_.abort = boot_abort;
  if (rt_.virtual_time && !boot_.sim_domain) boot_.sim_domain = 1;
  auto plugin = transport_of(settings, deadline);
  if (!plugin) return plugin.error();
  peers_ = std::vector<Peer>(ranks());
  peers_[rank()].host = host_name();
  if (ranks() == 1) return transport_.clear(), Result<void>();
  if (rt_.manual && !rt_.virtual_time)
    return error(CONSORT_E_UNSUPPORTED, "a job of several ranks needs threads, or virtual time: pump = \"threads\", or time = \"virtual\"");
  is_limited_ = rt_.execution_memory->manages(rt_.topology->home());
  auto connection = Connection::open(*this, **plugin, boot_);
  if (!connection) return connection.error();
  connection_ = std::move(*connection);
  if (rt_.virtual_time && !connection_->has_virtual_time())
    return error(CONSORT_E_UNSUPPORTED, "transport '" + transport_ + "' knows no virtual time: start the ranks by consort sim -n");
  const consort_host *const host = (*plugin)->host;
  const std::string mine = host_name();
  auto address = connection_->address();
  if (!address) return address.error();
  if (boot_.put(host, "host", mine.data(), static_cast<uint32_t>(mine.size())) < 0 ||
      boot_.put(host, "address", address->data(), static_cast<uint32_t>(address->size())) < 0)
    return last_error(CONSORT_E_IO);
  if (const consort_status s = boot_.fence(host, deadline); s < 0) return last_error(s);
  for (uint32_t r = 0; r < ranks(); ++r) {
    if (r == rank()) continue;
    std::vector<std::byte> theirs(connection_->caps().max_address);
    auto n = static_cast<uint32_t>(theirs.size());
    char name[256];
    uint32_t nname = sizeof name;
    if (const consort_status s = boot_.get(host, r, "host", name, &nname, deadline); s < 0) return last_error(s);
    peers_[r].host.assign(name, nname);
    if (const consort_status s = boot_.get(host, r, "address", theirs.data(), &n, deadline); s < 0) return last_error(s);
    theirs.resize(n);
    if (auto connected = connection_->connect(r, theirs); !connected) return connected;
  }
  if (auto met = meet(deadline); !met) return met;
  // No rank goes on, and perhaps leaves, while others still connect.
  if (!rt_.virtual_time) thread_ = std::thread([this] { run(); });
  if (const consort_status s = boot_.fence(host, deadline); s < 0) return last_error(s);
  if (rt_.virtual_time) rt_.clock.advance_to(connection_->advance(rt_.clock.now()));  // one rank after the other from here on
  if (thread_rank_) thread_rank_->joined.fetch_add(1, std::memory_order_relaxed), is_counted_ = true;
  return {};
}

// The plugin; nullptr: none is needed for a job of one rank. Without a start-up of the application's or of consort run, a
// transport that is named, or below a launcher the transport for it, says by itself which ranks there are.
Result<const Plugin *> Job::transport_of(const JobSettings &settings, uint64_t deadline) {
  const Config &config = *rt_.config;
  const bool is_started = settings.boot || meeting();
  const bool is_named = !settings.transport.empty() || config.origin("transport") != "default";
  transport_ = settings.transport.empty() ? std::string(config.text("transport")) : settings.transport;
  if (is_started ? ranks() == 1 : !is_named && !is_below_launcher())
    return static_cast<const Plugin *>(nullptr);
  if (!is_started && !is_named) transport_ = CONSORT_LAUNCHER_TRANSPORT;
  auto plugin = rt_.registry->load(CONSORT_KIND_TRANSPORT, transport_);
  if (!plugin) return plugin.error();
  const consort_transport_ops *const ops = (*plugin)->transport();
  if (is_started || !ops->boot) return *plugin;
  clear_error();
  const consort_status s = plugin_status(ops->boot((*plugin)->self, (*plugin)->host, deadline, &boot_), transport_.c_str(), "boot()");
  if (s < 0) return error(s, "transport '" + transport_ + "' does not start: " + error_text());
  if (boot_.rank >= boot_.nranks || !boot_.put || !boot_.get || !boot_.fence)
    return error(CONSORT_E_ABI, "transport '" + transport_ + "': boot() leaves ranks or functions out");
  boot_.host_id = host_number();
  return *plugin;
}

Result<void> Job::meet(uint64_t deadline) {
  for (;;) {
    bool did;
    {
      const std::lock_guard guard(mutex_);
      did = connection_->step();
      for (uint32_t r = 0; r < ranks(); ++r)
        if (peers_[r].is_lost) return error(CONSORT_E_PEER_LOST, lost_text(r));
      if (up_ + 1 == ranks()) break;
    }
    for (uint32_t r = 0; meeting() && !did && r < ranks(); ++r)
      if (const std::string end = meeting()->end_of(r); !end.empty() && !peers_[r].is_up)
        return error(CONSORT_E_PEER_LOST, "rank " + std::to_string(r) + " on host " + peers_[r].host + " " + end + " before all were connected");
    if (world_.now() >= deadline)
      return error(CONSORT_E_TIMEOUT, std::to_string(ranks() - 1 - up_) + " ranks were not connected in time: join_seconds");
    if (!did) parker_.wait(kLook / 10);
  }
  return {};
}

// A transport reports a message as sent that it only stores, and may drop it when this rank closes. So the rank waits until
// each other one has seen all messages, or leaves as well.
void Job::leave() noexcept {
  const Deadline deadline(world_, kLeave);
  {
    const std::lock_guard guard(mutex_);
    is_leaving_ = true;
    Control bye;
    bye.kind = Control::kBye;
    try {
      for (uint32_t r = 0; r < ranks(); ++r)
        if (r != rank()) send(r, bye);
    } catch (const std::bad_alloc &) {  // the others see its end all the same
    }
  }
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      connection_->flush();
      uint32_t needing = 0;
      for (uint32_t r = 0; r < ranks(); ++r) needing += r != rank() && !peers_[r].needs_nothing();
      if ((!needing && connection_->is_idle()) || deadline.passed()) return;
    }
    Parker().wait(kTick);
  }
}

// That rank leaves: answers when its last contents are here.
void Job::answer_bye(uint32_t r) {
  for (const auto &[id, m] : messages_)
    if (m->key.peer == r && m->kind == Message::Kind::kReceive && m->state == Message::State::kMoving) return;
  Control seen;
  seen.kind = Control::kSeen;
  send(r, seen);
  connection_->flush();
}

Job::~Job() {
  if (rt_.other_ranks.exchange(nullptr, std::memory_order_acq_rel)) leave_simulated();
  if (thread_.joinable()) {
    leave();
    stopping_.store(true, std::memory_order_release);
    parker_.wake();
    thread_.join();
  }
  connection_.reset();
  if (is_counted_) thread_rank_->joined.fetch_sub(1, std::memory_order_relaxed);
}

void Job::run() noexcept {
  name_this_thread("messages");
  sharpen_timers_of_this_thread();
  ThreadState *thread = rt_.this_thread();
  if (!thread) rt_.log(kLogError, "no memory for the thread of the transport: messages do not move");
  while (thread && !stopping_.load(std::memory_order_acquire)) {
    if (step(*thread)) continue;
    settle_down(rt_, *thread);
    rest();
  }
}

bool Job::step(ThreadState &thread) noexcept {
  std::vector<Action> actions;
  bool did = false;
  {
    const std::lock_guard guard(mutex_);
    try {
      did = connection_->step();
    } catch (const std::bad_alloc &) {
      rt_.log(kLogError, "no memory for a message of another rank");
    }
    actions.swap(actions_);
  }
  for (const Action &a : actions) act(thread, a);
  return did || !actions.empty();
}

void Job::rest() noexcept {
  int64_t most;
  {
    const std::lock_guard guard(mutex_);
    if (!connection_->arm()) return;
    most = connection_->event_fd() < 0 ? kTick : connection_->is_idle() ? -1 : kLook;
  }
  if (connection_->event_fd() < 0) parker_.wait(most);
  else parker_.wait_or_readable(connection_->event_fd(), most);
}

void Job::event(uint32_t what, uint32_t r) noexcept {
  if (connection_) connection_->event(what, r);
}

void Job::up(uint32_t r) {
  if (r == rank() || peers_[r].is_up) return;
  peers_[r].is_up = true;
  ++up_;
}

std::string Job::lost_text(uint32_t r) const {
  return "rank " + std::to_string(r) + " on host " + peers_[r].host + " " + peers_[r].how;
}

consort_status Job::state_of(uint32_t r, std::string *how) noexcept {
  const std::lock_guard guard(mutex_);
  if (!peers_[r].is_lost) return CONSORT_OK;
  try {
    if (how) *how = lost_text(r);
  } catch (const std::bad_alloc &) {
  }
  return CONSORT_E_PEER_LOST;
}

// Fails every message to and from that rank, and barriers. Contents of it that have arrived stay.
void Job::lost(uint32_t r, const char *how) try {
  Peer &p = peers_[r];
  if (r == rank() || std::exchange(p.is_lost, true)) return;
  p.how = p.has_left ? "has left the job" : rt_.virtual_time ? "has left the job, or has ended" : how;
  if (!rt_.virtual_time && !p.has_left && !is_leaving_) rt_.log(kLogWarn, lost_text(r));
  connection_->drop(r);
  for (Message *m : matching_.leave(r)) fail_at_end(*m, CONSORT_E_PEER_LOST, lost_text(r));
  for (auto &[id, m] : messages_)
    if (m->key.peer == r && m->kind == Message::Kind::kSend && m->state == Message::State::kWaiting)
      fail_at_end(*m, CONSORT_E_PEER_LOST, lost_text(r));
  const auto open = open_barriers_;
  for (auto &[number, m] : open)
    if (needs(*m, r)) fail_barrier(*m, lost_text(r));
} catch (const std::bad_alloc &) {
  rt_.log(kLogError, "no memory to end the messages of a lost rank");
}

}  // namespace consort

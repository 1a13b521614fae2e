// checks.hpp — the layer's instance: state of each handle, thread tags, reports.
//
// One per runtime. outstanding.hpp has the records of a handle, function_rules.hpp the checks of each function.
#pragma once
#include <memory>
#include <set>
#include <tuple>

#include "../text.hpp"
#include "../wrap.hpp"
#include "outstanding.hpp"

namespace checks {

using namespace layers;
using D = consort_driver_ops;
using I = consort_interface_ops;
using S = consort_scheduler_ops;
using T = consort_transport_ops;

class Checks;
using N = Node<Checks>;
using W = Wrapped<Checks>;

// The plugin call that this thread is in, innermost first.
struct Call {
  const W *of;
  const Site *site;
  const Call *outer;
};
alignas(64) inline thread_local constinit const Call *innermost = nullptr;  // aligned: tests/checks/thread_locals.py
inline thread_local constinit char this_thread = 0;  // its address

class Checks {
 public:
  static constexpr bool kRemembersClosed = true;
  struct Object {
    std::atomic<uintptr_t> control{0};           // the thread inside [control]; acquire and release pair with one another
    uint32_t depth = 0;                          // of that thread
    std::atomic<bool> busy{false};               // [queue] or [load]; acquire on entry, release on exit
    std::unique_ptr<std::atomic<bool>[]> seats;  // [worker], by worker; acquire on entry, release on exit
    uint32_t nseats = 0;
    Flight flight;  // queue, endpoint
    Tasks tasks;    // instance of a scheduler
    Taken memory;   // device: from alloc(); endpoint: from reg()
  };

  explicit Checks(const consort_host *h)
      : host_(h),
        threads_(static_cast<const consort_threads *>(h->get(h, CONSORT_THREADS_ID))),
        plugins_(text_param(h, "plugins")),
        fatal_(text_param(h, "fatal") == std::string_view("true")) {}
  consort_status open() { return CONSORT_OK; }
  bool wants(const consort_plugin &p) const { return plugins_.has(p.name); }
  void end() noexcept {}

  template <auto kFn, class Next, class... A>
  static auto call(N &n, const char *part, Next &&next, A... a) {
    using R = decltype(next(a...));
    Now now(n, part, site<kFn>);
    if (n.closed.load(std::memory_order_relaxed)) {
      now.tell("handle-closed", Text() << "called on a closed " << n.what);
      return now.refused<R>();
    }
    const Tagged tagged(now, worker_of<kFn>(a...));
    if constexpr (std::is_void_v<R>) {
      now.checked<kFn>(next, a...);
    } else {
      R r = now.checked<kFn>(next, a...);
      if constexpr (std::is_same_v<R, consort_status> && !same<kFn, &D::event_fd> && !same<kFn, &T::event_fd>) {
        if (r < kLastStatus || r > CONSORT_AGAIN)
          now.tell("known-status", Text() << "returned " << r << ", which is not a status");
        if (now.broken && r >= 0 && n.of.layer.fatal_) return now.refused<R>();
      }
      return r;
    }
  }

  template <auto kFn, class Next, class... A>
  static auto hosted(W &w, Next &&next, A... a) {
    const Call *c = innermost;
    if (c && c->of == &w) {
      constexpr Site s = site<kFn>;
      constexpr bool kControl = s.tag == Tag::kControl;
      if (c->site->tag == Tag::kPure)
        w.layer.tell(w, nullptr, c->site->function, "CONSORT-I-51",
                     Text() << "calls host->" << s.function << " from a [pure] function");
      else if (kControl && c->site->tag != Tag::kControl)
        w.layer.tell(w, nullptr, c->site->function,
                     w.inner->kind == CONSORT_KIND_SCHEDULER ? "CONSORT-S-33" : "host-control",
                     Text() << "calls host->" << s.function << ", which only [control] functions may call");
    }
    if constexpr (same<kFn, &consort_host::complete>) return completed(w, next, a...);
    else return next(a...);
  }

  template <auto kFn, class... A>
  static void opened(N &n, A... a) {
    if constexpr (same<kFn, &D::queue_open>)
      queue_opened(n, a...);
    else if constexpr (same<kFn, &S::create>)
      created(n, a...);
  }

 private:
  // One call of the plugin.
  struct Now {
    N &n;
    const char *part;
    const Site &site;
    bool broken = false;
    Call mine{&n.of, &site, innermost};

    Now(N &node, const char *p, const Site &s) : n(node), part(p), site(s) { innermost = &mine; }
    ~Now() { innermost = mine.outer; }
    Now(const Now &) = delete;

    void tell(const char *rule, const Text &what) {
      broken = true;
      n.of.layer.tell(n.of, part, site.function, rule, what);
    }
    template <class R>
    R refused() {
      if constexpr (std::is_same_v<R, consort_status>)
        return n.of.layer.host_->fail(n.of.layer.host_, CONSORT_E_INTERNAL,
                                      "a rule was violated and checks.fatal is set: see the log");
      else if constexpr (!std::is_void_v<R>)
        return R{};
    }
    uint32_t at_most(const char *rule, uint32_t r, uint32_t max) {
      if (r <= max) return r;
      tell(rule, Text() << "returned " << r << ", at most " << max << " are allowed");
      return max;
    }
    void grown(const char *what, uint32_t before, uint32_t after) {
      if (after > before)
        tell("out-size", Text() << "wrote " << after << " bytes of " << what << ", which has " << before);
    }
    template <auto kFn, class Next, class... A>
    auto checked(Next &next, A... a);
    template <class Next, class E>
    uint32_t filled(Next &next, E *out, uint32_t max, const char *what);
    template <class Next>
    consort_status boxed(Next &next, void *out, uint32_t size);
    template <class Next>
    uint32_t push(Next &next, const consort_push *p);
    template <class Next>
    uint32_t victims(Next &next, uint32_t n_replicas, uint32_t *order);
    template <class Next, class E>
    uint32_t taken(Next &next, E *out, uint32_t max);
    bool came_out(consort_task *t, const char *rule);
    bool done(N &of, const consort_done &d);
    void init();
    void fini();
    void close_device();
    void close_endpoint();
  };

  // Checks the thread tag of one call on its object.
  class Tagged {
   public:
    Tagged(Now &now, uint32_t worker) : now_(now) {
      Object &o = now.n.state;
      switch (now.site.tag) {
        case Tag::kControl: {
          const auto me = reinterpret_cast<uintptr_t>(&this_thread);
          uintptr_t holder = 0;
          if (o.control.compare_exchange_strong(holder, me, std::memory_order_acquire) || holder == me)
            ++o.depth, control_ = true;
          else
            told(" while another thread is inside a [control] function of it");
          break;
        }
        case Tag::kQueue:
        case Tag::kLoad:
          enter(o.busy);
          break;
        case Tag::kWorker:
          if (worker < o.nseats) enter(o.seats[worker]);
          driven_by_this_thread(worker);
          break;
        default:
          break;
      }
    }
    ~Tagged() {
      if (control_ && --now_.n.state.depth == 0) now_.n.state.control.store(0, std::memory_order_release);
      if (busy_) busy_->store(false, std::memory_order_release);
    }
    Tagged(const Tagged &) = delete;

   private:
    void enter(std::atomic<bool> &busy) {
      if (!busy.exchange(true, std::memory_order_acquire))
        busy_ = &busy;
      else
        told(" by two threads at once");
    }
    void driven_by_this_thread(uint32_t worker) {
      const Checks &layer = now_.n.of.layer;
      if (!layer.threads_) return;  // a host without a runtime
      const uint32_t driven = layer.threads_->worker(layer.host_);
      if (driven == worker) return;
      Text t;
      t << "[worker], called for worker " << worker << " by a thread that drives ";
      if (driven == CONSORT_NONE) t << "none";
      else t << "worker " << driven;
      now_.tell("thread-tag", t);
    }
    void told(const char *how) {
      now_.tell("thread-tag", Text() << tag_text(now_.site.tag) << ", entered for one " << now_.n.what << how);
    }
    Now &now_;
    bool control_ = false;
    std::atomic<bool> *busy_ = nullptr;
  };

  template <auto kFn, class... A>
  static uint32_t worker_of([[maybe_unused]] A... a) {
    if constexpr (site<kFn>.tag == Tag::kWorker)
      return std::get<0>(std::tuple{a...});
    else
      return 0;
  }

  void tell(const W &w, const char *part, const char *function, const char *rule, const Text &what) noexcept try {
    {
      const std::lock_guard lock(mutex_);
      if (!told_.emplace(&w, rule, function).second) return;
    }
    Text t;
    t << kind_name(w.inner->kind) << " \"" << w.inner->name << "\", " << (part ? part : "") << (part ? "." : "")
      << function << " (" << rule << "): " << what.view();
    host_->log(host_, 0, t.c_str());
  } catch (const std::bad_alloc &) {  // no report without memory
  }

  static void queue_opened(N &n, uint32_t, uint64_t, consort_queue_desc *desc) {
    n.state.flight.order(desc && (desc->flags & CONSORT_Q_IN_ORDER));
  }
  static void created(N &n, const consort_host *, const consort_topology *t, uint64_t epoch) {
    constexpr uint32_t kSpare = 64;  // workers added later
    n.state.tasks.know(*t);
    n.state.tasks.begin(epoch);
    n.state.nseats = t->nworkers + t->nteams + kSpare;
    n.state.seats.reset(new (std::nothrow) std::atomic<bool>[n.state.nseats]());
    if (!n.state.seats) n.state.nseats = 0;
  }
  // Pushed completions: recorded before the host gets them, because it may submit under the same cookie again.
  template <class Next>
  static void completed(W &w, Next &next, uint64_t token, const consort_done *d, uint32_t n) {
    static constexpr Site here{"host->complete", Tag::kAny};
    N *const queue = w.of_token(token);
    Now now(queue ? *queue : w.root, nullptr, here);
    if (!queue) return now.tell("known-token", Text() << "for token " << token << ", which belongs to no open queue");
    for (uint32_t i = 0; i < n; ++i)
      if (now.done(*queue, d[i])) next(token, d + i, 1u);
  }

  const consort_host *const host_;
  const consort_threads *const threads_;  // NULL: the host does not know which thread drives which worker
  const Names plugins_;
  const bool fatal_;
  std::mutex mutex_;
  std::set<std::tuple<const W *, std::string, std::string>> told_;
};

}  // namespace checks

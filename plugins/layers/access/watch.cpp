#include "watch.hpp"

#include <exception>

namespace access_check {

struct Watch::Body {
  std::shared_ptr<Owner> owner = std::make_shared<Owner>();
  std::vector<Guarded> copies;
  std::vector<const void *> views;
  std::vector<Range> own, bare;    // memory of all its data, and of what it uses in place
  std::vector<uint64_t> declared;  // handles
};

namespace {

// Sets `current` for a scope.
class Scope {
 public:
  explicit Scope(const Current &c) noexcept : outer_(current) { current = c; }
  ~Scope() { current = outer_; }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

 private:
  const Current outer_;
};

void open_page(uintptr_t a) noexcept {
  (void)mprotect(reinterpret_cast<void *>(page_down(a)), page_size(), PROT_READ | PROT_WRITE);
}

bool holds(const std::vector<Range> &ranges, uintptr_t a) noexcept {
  for (const Range &r : ranges)
    if (a >= r.begin && a < r.end) return true;
  return false;
}

}  // namespace

// -- life -----------------------------------------------------------------------------------------------------

Watch::Watch(const consort_host *host, const Settings &s) : host_(host), settings_(s), homes_(s.homes) {}
Watch::~Watch() { close(); }

consort_status Watch::open() {
  static constexpr auto self = [](void *user) -> Watch & { return *static_cast<Watch *>(user); };
  bodies_ = static_cast<const consort_bodies *>(host_->get(host_, CONSORT_BODIES_ID));
  sched_ = static_cast<const consort_sched_host *>(host_->get(host_, CONSORT_SCHED_ID));
  if (!bodies_)
    return host_->fail(host_, CONSORT_E_UNSUPPORTED, "this host runs no bodies, or its version has no consort.bodies/1");
  if (!arena_.open(settings_.arena))
    return host_->fail(host_, CONSORT_E_NOMEM, "no address space for guarded copies: raise the limit on virtual memory");
  const consort_body_watch watch = {
      sizeof watch, 0, this,
      [](void *user, const consort_body *b, consort_call *call) { return self(user).body(*b, *call); },
      [](void *user, uint64_t task) { self(user).ended(task); },
      [](void *user, const consort_body_datum *d) { self(user).added(*d); },
      [](void *user, uint64_t id) { self(user).removed(id); },
      [](void *user, const consort_body_datum *d, uint32_t on) { self(user).acquired(*d, on); }};
  if (!add_handler(*this))
    return host_->fail(host_, CONSORT_E_UNSUPPORTED, "the process has too many runtimes with this layer, or no signal handler can be set");
  handling_ = true;
  return bodies_->watch(host_, &watch);
}

void Watch::close() noexcept {
  if (!std::exchange(handling_, false)) return;
  remove_handler(*this);
  homes_.let_be();
  findings_.tell(host_);
  findings_.tell_dropped(host_);
}

uint32_t Watch::count_workers() const noexcept {
  const consort_topology *t = sched_ ? sched_->topology(host_) : nullptr;
  return t ? t->nworkers : 2;
}

// -- faults ---------------------------------------------------------------------------------------------------

void Watch::found(Kind kind, bool write, Owner *owner, const What &what, int64_t offset, uint32_t block, uint32_t mode,
                  const char *how) noexcept {
  Finding f{};
  f.kind = kind, f.write = write, f.offset = offset, f.block = block, f.mode = mode, f.what = what, f.how = how;
  if (owner) f.task = owner->label;
  if (kind == Kind::kKeptPointer && current.owner) {
    f.has_user = true;
    f.user = current.owner->label;
    current.owner->findings.fetch_add(1, std::memory_order_relaxed);
  }
  if (owner) owner->findings.fetch_add(1, std::memory_order_relaxed);
  findings_.add(f);
}

// Precondition: the arena's lock is held.
void Watch::fault_in_region(const Fault &fault, Region *r) noexcept {
  const auto offset = r ? static_cast<int64_t>(fault.address - r->data) : 0;
  open_page(fault.address);
  if (!r || !r->live) {
    What none{};
    set(none.name, sizeof none.name, "(of long ago)");
    return found(Kind::kKeptPointer, fault.write, r ? r->owner.get() : nullptr, r ? r->what : none, offset, r ? r->block : 0, 0);
  }
  if (fault.address < r->data || fault.address >= r->data + r->bytes)
    return found(Kind::kOutOfBounds, fault.write, r->owner.get(), r->what, offset, r->block, r->mode);
  if (r->untouched) {
    if (fault.read) found(Kind::kReadsUnwritten, false, r->owner.get(), r->what, offset, r->block, r->mode);
  } else if (fault.write && !(r->mode & (CONSORT_M_W | CONSORT_M_SCRATCH | CONSORT_M_REDUX))) {
    found(Kind::kWritesReadOnly, true, r->owner.get(), r->what, offset, r->block, r->mode);
  }
}

void Watch::fault_at_home(const Fault &fault, const What &what, int64_t offset) noexcept {
  if (homes_.are_moved()) return;  // it may be the kernel that copies, inside a wait of the body
  if (!current.owner || current.trusted) return;
  const bool own = current.own && holds(*current.own, fault.address);
  found(Kind::kUndeclared, fault.write, current.owner, what, offset, 0, 0,
        own ? " at this place: it uses a pointer of its own, not its view" : nullptr);
}

void Watch::found_on_device(Owner &owner, const What &what, int64_t offset, uint32_t block, bool declared) noexcept {
  found(Kind::kDevice, true, &owner, what, offset, block, 0,
        declared ? ", which it declared R, in the device's memory" : ", which it did not declare, in the device's memory");
}

bool Watch::tell(const Owner &owner) noexcept {
  findings_.tell(host_);
  return settings_.fatal && owner.findings.load(std::memory_order_relaxed);
}

bool Watch::handle(const Fault &fault) noexcept {
  if (arena_.holds(fault.address)) {
    arena_.at(fault.address, [&](Region *r) { fault_in_region(fault, r); });
    return true;
  }
  return homes_.fault(fault.address, [&](const What &what, int64_t offset) { fault_at_home(fault, what, offset); });
}

// -- bodies ---------------------------------------------------------------------------------------------------

std::unique_ptr<Watch::Body> Watch::prepare(const consort_body &b, const consort_call &call) {
  auto body = std::make_unique<Body>();
  TaskLabel &label = body->owner->label;
  label.task = b.task;
  set(label.name, sizeof label.name, b.name), set(label.codelet, sizeof label.codelet, b.codelet);
  set(label.unit, sizeof label.unit, b.unit);
  const bool copies = !(b.flags & (CONSORT_BODY_SHARED | CONSORT_BODY_ASYNC)) && (b.space->flags & CONSORT_SP_CPU);
  const bool here = b.space->flags & CONSORT_SP_CPU;
  body->copies.reserve(b.ndata);
  const uint32_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < b.ndata; ++i) {
    const consort_body_datum &d = b.data[i];
    body->views.push_back(call.views[i]);
    body->declared.push_back(d.id);
    if (d.mode & CONSORT_M_REDUX) homes_.exclude(d.id);
    const std::vector<Range> ranges = here ? ranges_of(*d.ops, d.shape, d.view) : std::vector<Range>();
    if (!ranges.empty() && !homes_.has(d.id, ranges.front().begin)) homes_.moved();
    body->own.insert(body->own.end(), ranges.begin(), ranges.end());
    const bool at_end = settings_.place ? settings_.place == 1 : turn % 2 == 0;
    Guarded copy(arena_, homes_);
    if (copies && copy.make(d, body->owner, at_end)) {
      body->copies.push_back(std::move(copy));
      body->views.back() = body->copies.back().view();
    } else {
      body->bare.insert(body->bare.end(), ranges.begin(), ranges.end());
    }
  }
  if (!here) homes_.moved();
  const auto before = [](const Range &a, const Range &z) { return a.begin < z.begin; };
  std::sort(body->bare.begin(), body->bare.end(), before);
  return body;
}

// Calls the function with the guarded views, and compares the homes of other data.
consort_status Watch::run(Body &body, const consort_body &b, consort_call &call) {
  const void *const *const views = std::exchange(call.views, body.views.data());
  homes_.open(body.bare);
  if (!workers_.load(std::memory_order_relaxed)) workers_.store(count_workers(), std::memory_order_relaxed);
  Homes::Snapshot before;
  homes_.enter(body.declared, workers_.load(std::memory_order_relaxed) == 1, before);
  consort_status s;
  {
    const Scope scope({body.owner.get(), &body.own, false});
    s = b.run(&b, &call);
  }
  homes_.leave(before, [&](const What &what, int64_t offset) {
    found(Kind::kUndeclared, true, body.owner.get(), what, offset, 0, 0);
  });
  homes_.close(body.bare);
  call.views = views;
  return s;
}

// The same body with another pattern where contents are not defined: what it writes may not depend on that.
void Watch::run_again(Body &body, const consort_body &b, consort_call &call) {
  std::vector<std::vector<char>> first;
  for (Guarded &g : body.copies) {
    g.check([](Region &, int64_t) {});  // opens the pages
    first.emplace_back();
    if (g.is_output()) g.save(first.back());
  }
  for (Guarded &g : body.copies) g.begin(kPatterns[1]);
  if (run(body, b, call) < 0) return;
  for (Guarded &g : body.copies) g.check([](Region &, int64_t) {});
  for (size_t i = 0; i < body.copies.size(); ++i)
    if (body.copies[i].is_output())
      body.copies[i].compare(first[i], [&](Region &r, int64_t offset) {
        found(Kind::kReadsUnwritten, false, body.owner.get(), r.what, offset, r.block, r.mode,
              ": its result there depends on contents that are not defined (two patterns were tried)");
      });
}

void Watch::end(std::unique_ptr<Body> body) noexcept {
  for (Guarded &g : body->copies) {
    g.check([&](Region &r, int64_t offset) {
      found(Kind::kOutOfBounds, true, body->owner.get(), r.what, offset, r.block, r.mode);
    });
    g.give_back();
  }
}

consort_status Watch::body(const consort_body &b, consort_call &call) try {
  if (b.flags & CONSORT_BODY_INTERNAL) {
    const Scope scope({current.owner, current.own, true});
    return b.run(&b, &call);
  }
  std::unique_ptr<Body> body;
  {
    const Scope scope({current.owner, current.own, true});
    body = prepare(b, call);
    for (Guarded &g : body->copies) g.begin(kPatterns[0]);
  }
  consort_status s = run(*body, b, call);
  const std::shared_ptr<Owner> owner = body->owner;
  const Scope scope({current.owner, current.own, true});
  if (settings_.twice && s >= 0 && !body->copies.empty()) run_again(*body, b, call);
  {
    const std::lock_guard lock(mutex_);
    if (bodies_->holds(host_, b.task)) parked_[b.task] = std::move(body);  // others use its data until it ends
  }
  if (body) end(std::move(body));
  return tell(*owner) && s >= 0 ? host_->fail(host_, CONSORT_E_INTERNAL, kFatal) : s;
} catch (const std::bad_alloc &) {
  return host_->fail(host_, CONSORT_E_NOMEM, "no memory for guarded copies of its data");
}

void Watch::ended(uint64_t task) noexcept {
  std::unique_ptr<Body> body;
  {
    const std::lock_guard lock(mutex_);
    const auto it = parked_.find(task);
    if (it == parked_.end()) return;
    body = std::move(it->second);
    parked_.erase(it);
  }
  const Scope scope({current.owner, current.own, true});
  end(std::move(body));
  findings_.tell(host_);
}

// -- data -----------------------------------------------------------------------------------------------------

void Watch::added(const consort_body_datum &d) try {
  homes_.add(d);
} catch (const std::bad_alloc &) {  // it is not protected
}

void Watch::acquired(const consort_body_datum &d, bool on) try {
  const std::vector<Range> ranges = ranges_of(*d.ops, d.shape, d.view);
  on ? homes_.open(ranges) : homes_.close(ranges);
} catch (const std::bad_alloc &) {  // the handler opens it at the first access
}

}  // namespace access_check

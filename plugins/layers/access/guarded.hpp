// guarded.hpp — the copy of one datum that a body gets in place of the datum's own memory.
//
// R: read-only pages. W and SCRATCH: pages without access until the first one, then a pattern. Around the bytes of the
// datum stands another pattern, and inaccessible pages. Used by the thread that runs the body, then by the one that ends
// the task.
#pragma once
#include "arena.hpp"
#include "homes.hpp"

namespace access_check {

constexpr unsigned char kMargin = 0xc9;
// A NaN as float and as double, large as an integer; and a number that is none of these.
constexpr uint32_t kPatterns[] = {0x7ff7a5a5, 0x41424344};

inline void fill(char *p, uint64_t n, uint32_t pattern) noexcept {
  for (uint64_t i = 0; i < n; i += 4) std::memcpy(p + i, &pattern, std::min<uint64_t>(4, n - i));
}

class Guarded {
 public:
  Guarded(Arena &arena, Homes &homes) noexcept : arena_(&arena), homes_(&homes) {}
  Guarded(Guarded &&o) noexcept { *this = std::move(o); }
  Guarded &operator=(Guarded &&o) noexcept {
    arena_ = o.arena_, homes_ = o.homes_, ops_ = o.ops_, mode_ = o.mode_;
    shape_.swap(o.shape_), original_.swap(o.original_), view_.swap(o.view_), regions_.swap(o.regions_);
    in_.swap(o.in_), out_.swap(o.out_), own_.swap(o.own_);
    return *this;
  }
  ~Guarded() {
    for (Region *r : regions_) arena_->retire(*r);
  }

  // False: this datum cannot be copied (its layout has no flat form, it is empty, or there is no memory).
  bool make(const consort_body_datum &d, const std::shared_ptr<Owner> &owner, bool at_end) {
    ops_ = d.ops, mode_ = d.mode;
    const std::vector<consort_block> blocks = blocks_of(*ops_, d.shape);
    if (blocks.empty() || (ops_->flags & CONSORT_IF_PACK_ONLY) || !ops_->bytes(d.shape)) return false;
    keep(shape_, d.shape, ops_->shape_size), keep(original_, d.view, ops_->view_size), keep(view_, d.view, ops_->view_size);
    own_ = ranges_of(*ops_, shape(), original());
    if (own_.empty() || !take(blocks, d, owner, at_end)) return false;
    in_ = runs_between(*ops_, shape(), original(), view());
    out_ = runs_between(*ops_, shape(), view(), original());
    return !in_.empty() && in_.size() == out_.size();
  }

  // Fills the copy and protects it.
  void begin(uint32_t pattern) noexcept {
    for (Region *r : regions_) {
      access(*r, PROT_READ | PROT_WRITE);
      std::memset(reinterpret_cast<void *>(r->low), kMargin, r->high - r->low);
      if (!reads()) fill(r->begin(), r->bytes, pattern);
    }
    if (reads()) {
      homes_->open(own_);
      copy(in_);
      homes_->close(own_);
    }
    for (Region *r : regions_) {
      r->untouched = !reads();
      if (!reads()) access(*r, PROT_NONE);
      else if (!writes()) access(*r, PROT_READ);
    }
  }
  // After the body: f(region, offset) for each margin that was written.
  template <class F>
  void check(F f) noexcept {
    for (Region *r : regions_) {
      access(*r, PROT_READ | PROT_WRITE);
      r->untouched = false;
      for (uintptr_t a = r->low; a < r->high; ++a) {
        if (a == r->data) a += r->bytes;
        if (a >= r->high) break;
        if (*reinterpret_cast<unsigned char *>(a) == kMargin) continue;
        f(*r, static_cast<int64_t>(a) - static_cast<int64_t>(r->data));
        break;
      }
    }
  }
  void give_back() noexcept {
    if (!writes() || (mode_ & CONSORT_M_SCRATCH)) return;
    homes_->open(own_);
    copy(out_);
    homes_->close(own_);
  }
  // The bytes of all blocks, and where the first one differs.
  void save(std::vector<char> &to) const {
    for (const Region *r : regions_) to.insert(to.end(), r->begin(), r->begin() + r->bytes);
  }
  template <class F>
  void compare(const std::vector<char> &saved, F f) const noexcept {
    const char *p = saved.data();
    for (Region *r : regions_) {
      for (uint64_t i = 0; i < r->bytes; ++i)
        if (p[i] != r->begin()[i]) return f(*r, static_cast<int64_t>(i));
      p += r->bytes;
    }
  }

  const void *view() const noexcept { return view_.data(); }
  const std::vector<Range> &own() const noexcept { return own_; }
  bool reads() const noexcept { return (mode_ & CONSORT_M_R) || (mode_ & CONSORT_M_REDUX); }
  bool writes() const noexcept { return (mode_ & CONSORT_M_W) || (mode_ & (CONSORT_M_REDUX | CONSORT_M_SCRATCH)); }
  bool is_output() const noexcept { return writes() && !(mode_ & CONSORT_M_SCRATCH); }

 private:
  const void *shape() const noexcept { return shape_.data(); }
  const void *original() const noexcept { return original_.data(); }
  static void access(const Region &r, int how) noexcept {
    (void)mprotect(reinterpret_cast<void *>(r.low), r.high - r.low, how);
  }
  static void copy(const std::vector<consort_run> &runs) noexcept {
    each_piece(runs, [](uintptr_t from, uintptr_t to, uint64_t n) {
      std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), n);
    });
  }
  bool take(const std::vector<consort_block> &blocks, const consort_body_datum &d, const std::shared_ptr<Owner> &owner,
            bool at_end) {
    std::vector<consort_addr> at;
    const consort_space_desc space = host_space();
    for (const consort_block &b : blocks) {
      // No more than the original has: its codelet cannot rely on more.
      const uint64_t least = own_.front().begin & (~own_.front().begin + 1);
      const uint64_t align = std::max<uint64_t>(1, std::min(b.align ? b.align : 1, least));
      Region *r = arena_->take(b.bytes, std::min<uint64_t>(align, page_size()), at_end);
      if (!r) return false;
      r->block = static_cast<uint32_t>(regions_.size());
      r->mode = d.mode;
      r->what = {d.id, ops_->bytes(d.shape), {}};
      set(r->what.name, sizeof r->what.name, d.name);
      r->owner = owner;
      regions_.push_back(r);
      at.push_back({r->data, 0});
    }
    return ops_->view(shape(), &space, at.data(), static_cast<uint32_t>(at.size()), view_.data()) >= 0;
  }

  Arena *arena_ = nullptr;
  Homes *homes_ = nullptr;
  const consort_interface_ops *ops_ = nullptr;
  uint32_t mode_ = 0;
  Store shape_, original_, view_;
  std::vector<Region *> regions_;
  std::vector<consort_run> in_, out_;
  std::vector<Range> own_;  // of the original
};

}  // namespace access_check

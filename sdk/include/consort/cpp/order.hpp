// consort/cpp/order.hpp — order that data do not say: Tag, Bundle, Hook; and the options of a submission, which name them.
//
// Part of consort.hpp; include that. A Tag is a cheap value, good from any thread while its runtime lives; a Bundle is a
// move-only owner. A Hook owns its callable and may be given to any number of submissions.
#ifndef CONSORT_CPP_ORDER_HPP
#define CONSORT_CPP_ORDER_HPP
#include <consort/cpp/task.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace consort::inline face {

// A name for a point in the order, good before the tasks exist: rt.tag(7).after({rt.tag(3)}).
class Tag {
 public:
  Tag(const detail::Ref &control, uint64_t number) noexcept : control_(control), number_(number) {}

  uint64_t number() const noexcept { return number_; }  // Its number.
  // Cumulative. A circle is refused, and named link by link.
  const Tag &after(std::initializer_list<Tag> others) const {
    std::vector<uint64_t> numbers;
    for (const Tag &t : others) numbers.push_back(t.number_);
    return after(numbers);
  }
  const Tag &after(std::span<const uint64_t> others) const {
    detail::check(consort_tag_after(control_.need(), number_, others.data(), static_cast<uint32_t>(others.size())));
    return *this;
  }
  // The tag is reached now, by hand.
  void notify() const { detail::check(consort_tag_notify(control_.need(), number_)); }
  // Not reached any more. Throws Error (E_BUSY) while an unfinished task carries it.
  void restart() const { detail::check(consort_tag_restart(control_.need(), number_)); }
  // Forgotten. Throws Error (E_BUSY) while a task carries it or waits for it.
  void remove() const { detail::check(consort_tag_remove(control_.need(), number_)); }
  // Whether it is reached, at this moment.
  bool reached() const { return detail::check(consort_tag_state(control_.need(), number_)) == CONSORT_OK; }
  // Throws what made the task fail that reached it.
  void wait(Flags<Wait> how = {}) const {
    detail::check(consort_tag_wait(control_.need(), &number_, 1, CONSORT_FOREVER, how.bits()));
  }
  // True: it was reached in time. False: time ran out.
  bool wait_for(Timeout timeout, Flags<Wait> how = {}) const {
    return detail::in_time(consort_tag_wait(control_.need(), &number_, 1, timeout.ns(), how.bits()));
  }

 private:
  detail::Ref control_;
  uint64_t number_;
};

// Tasks that had better run on one worker. Its destructor closes it: no more tasks.
class Bundle {
 public:
  Bundle() noexcept = default;
  Bundle(const detail::Ref &control, consort_bundle_id id) noexcept : control_(control), id_(id) {}
  Bundle(Bundle &&other) noexcept
      : control_(std::move(other.control_)), id_(std::exchange(other.id_, consort_bundle_id{})) {}
  Bundle &operator=(Bundle &&other) noexcept {
    if (this != &other) {
      close();
      control_ = std::move(other.control_);
      id_ = std::exchange(other.id_, consort_bundle_id{});
    }
    return *this;
  }
  ~Bundle() { close(); }
  // No more tasks; it is gone when its last one ends.
  void close() noexcept {
    consort_runtime *rt = control_.live();
    if (id_.v && rt) consort_bundle_close(rt, id_);
    id_ = {};
  }
  consort_bundle_id id() const noexcept { return id_; }  // The handle, for the C API.

 private:
  detail::Ref control_;
  consort_bundle_id id_{};
};

// Called about one task: f(Task) or f(). What it throws is lost.
class Hook {
 public:
  Hook() noexcept = default;
  // Keeps a copy of f until the task has ended.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Hook> && (std::is_invocable_v<F &, Task> || std::is_invocable_v<F &>))
  Hook(F f) : call_(std::make_shared<Of<F>>(std::move(f))) {}
  explicit operator bool() const noexcept { return call_ != nullptr; }  // Whether there is a function.

  // For one submission, which has to drop it.
  consort_hook taken(consort_runtime *rt) const {
    if (!call_) return {};
    return {[](void *arg, consort_task_id task) {
              const auto &t = *static_cast<Taken *>(arg);
              t.call->call({t.rt, task});
            },
            new Taken{call_, rt}, [](void *arg) { delete static_cast<Taken *>(arg); }};
  }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual void call(Task) noexcept = 0;
  };
  template <class F>
  struct Of final : Any {
    explicit Of(F f) : f_(std::move(f)) {}
    void call(Task task) noexcept override {
      try {
        if constexpr (std::is_invocable_v<F &, Task>) f_(task);
        else f_();
      } catch (...) {
      }
    }
    F f_;
  };
  struct Taken {
    std::shared_ptr<Any> call;
    consort_runtime *rt;
  };
  std::shared_ptr<Any> call_;
};

// Which tag a task carries. None: no tag.
class WithTag {
 public:
  WithTag() noexcept = default;
  WithTag(uint64_t number) noexcept : number_(number), any_(true) {}  // Of that number, or that tag.
  WithTag(const Tag &tag) noexcept : WithTag(tag.number()) {}
  uint64_t number() const noexcept { return number_; }  // The number of the tag.
  explicit operator bool() const noexcept { return any_; }  // Whether there is a tag.

 private:
  uint64_t number_ = 0;
  bool any_ = false;
};
// Which bundle a task belongs to. None: no bundle.
class InBundle {
 public:
  InBundle() noexcept = default;
  InBundle(const Bundle &bundle) noexcept : id_(bundle.id()) {}  // Of that bundle.
  consort_bundle_id id() const noexcept { return id_; }  // The handle; null: none.

 private:
  consort_bundle_id id_{};
};

// What a submission may say beside codelet, data and arguments: rt.submit({.priority = 3, .after = {a, b}}, …).
struct Options {
  int32_t priority = 0;              // higher first
  uint32_t worker = CONSORT_NONE;    // only this one
  const char *name = nullptr;        // of this task; copied
  InGroup group = {};
  After after = {};
  Done done = {};
  uint64_t footprint = 0, work = 0;  // size class (0: from the data), the codelet's own measure of work
  // -- order that data do not say; costs a little --
  WithTag tag = {};                  // reached when the task ends; the task comes after what the tag does
  After end_after = {};              // it ends, for its successors, when these have ended too
  uint32_t end_holds = 0;            // and when Task::release_end() was called so often
  Hook ready = {}, begin = {};       // when its last predecessor has ended; on the worker, just before the body
  InBundle bundle = {};
  bool repeat = false;               // again each time it has ended well, until Task::stop_repeating()

  // Whether some option asks for order that data do not say.
  bool in_order() const noexcept {
    return tag || end_after.size() || end_holds || ready || begin || bundle.id().v || repeat;
  }
};

}  // namespace consort::inline face
#endif

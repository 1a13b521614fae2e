// consort/cpp/context.hpp — Context: a set of workers with a scheduler of its own (consort/contexts.h).
//
// Part of consort.hpp; include that. A Context is a move-only owner: when it ends its workers and what is left of its
// tasks are its parent's again. One that is inside another ends before it. InContext: while it lives, what its thread
// submits belongs to the context.
#ifndef CONSORT_CPP_CONTEXT_HPP
#define CONSORT_CPP_CONTEXT_HPP
#include <consort/cpp/error.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace consort::inline face {

class Runtime;

// Options of a Context.
struct ContextOptions {
  const char *name = nullptr;        // for messages; copied
  const char *scheduler = nullptr;   // nullptr: the parent's
};

// A set of workers with a scheduler of its own.
class Context {
 public:
  Context() noexcept = default;
  // Of workers that are the runtime's own by then, or those of another context.
  Context(Runtime &rt, const std::vector<uint32_t> &workers, const ContextOptions &options = {});  // in consort.hpp
  // Takes these workers from the parent. Throws Error where one of them is not the parent's.
  Context(const Context &parent, const std::vector<uint32_t> &workers, const ContextOptions &options = {})
      : Context(parent.rt_, workers, options, parent.id_) {}
  Context(Context &&other) noexcept
      : rt_(std::exchange(other.rt_, nullptr)), id_(std::exchange(other.id_, consort_context_id{})) {}
  Context &operator=(Context &&other) noexcept {
    if (this != &other) {
      end();
      rt_ = std::exchange(other.rt_, nullptr);
      id_ = std::exchange(other.id_, consort_context_id{});
    }
    return *this;
  }
  ~Context() { end(); }

  consort_context_id id() const noexcept { return id_; }  // The handle, for the C API.
  // Workers of its parent are its from here on. Throws Error; none has moved then.
  void add(const std::vector<uint32_t> &workers) {
    detail::check(consort_context_add(rt_, id_, workers.data(), static_cast<uint32_t>(workers.size())));
  }
  // Workers of it are its parent's again. Throws Error; none has moved then.
  void remove(const std::vector<uint32_t> &workers) {
    detail::check(consort_context_remove(rt_, id_, workers.data(), static_cast<uint32_t>(workers.size())));
  }
  // Its workers are those of `to` from here on, as one step.
  void give(Context &to, const std::vector<uint32_t> &workers) {
    detail::check(consort_context_move(rt_, id_, to.id_, workers.data(), static_cast<uint32_t>(workers.size())));
  }
  // Another scheduler, while tasks run.
  void set_scheduler(const char *name) { detail::check(consort_context_set_scheduler(rt_, id_, name)); }
  // Waits until the context has no unfinished task.
  void wait() const { detail::check(consort_context_wait(rt_, id_, CONSORT_FOREVER, 0)); }
  // Its name, its scheduler and its counts at this moment.
  consort_context_info info() const {
    consort_context_info i{};
    i.size = sizeof i;
    detail::check(consort_get_context(rt_, id_, &i));
    return i;
  }
  // Its workers, ascending.
  std::vector<uint32_t> workers() const {
    std::vector<uint32_t> all;
    for (uint32_t n = info().nworkers;;) {  // more may come in between
      all.resize(n);
      detail::check(consort_context_workers(rt_, id_, all.data(), static_cast<uint32_t>(all.size()), &n));
      if (n <= all.size()) return all.resize(n), all;
    }
  }

 private:
  friend class InContext;
  Context(consort_runtime *rt, const std::vector<uint32_t> &workers, const ContextOptions &options,
          consort_context_id parent)
      : rt_(rt) {
    consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
    d.name = options.name;
    d.scheduler = options.scheduler;
    d.workers = workers.data();
    d.nworkers = static_cast<uint32_t>(workers.size());
    d.parent = parent;
    detail::check(consort_context_create(rt_, &d, &id_));
  }
  void end() noexcept {
    if (id_.v) (void)consort_context_destroy(rt_, id_);
    id_ = {};
  }
  consort_runtime *rt_ = nullptr;
  consort_context_id id_{};
};

// While it lives, what its thread submits belongs to the context.
class [[nodiscard]] InContext {
 public:
  // Enters the context. Throws Error where the context was destroyed.
  explicit InContext(const Context &context) : rt_(context.rt_) {
    detail::check(consort_context_enter(rt_, context.id_));
  }
  ~InContext() { (void)consort_context_leave(rt_); }
  InContext(const InContext &) = delete;
  InContext &operator=(const InContext &) = delete;

 private:
  consort_runtime *const rt_;
};

}  // namespace consort::inline face
#endif

// consort/cpp/replay.hpp — Recording: a sequence of submissions, analysed once, run many times (consort/replay.h).
//
// Part of consort.hpp; include that. A Recording is a move-only owner; made by Runtime::record().
#ifndef CONSORT_CPP_REPLAY_HPP
#define CONSORT_CPP_REPLAY_HPP
#include <consort/cpp/data.hpp>
#include <consort/cpp/task.hpp>

#include <cstring>

namespace consort::inline face {

// Do the submissions run while they are recorded?
enum class Recorded { only, and_run };

// A sequence of submissions that is run many times.
class Recording {
 public:
  Recording() noexcept = default;
  Recording(const detail::Ref &control, consort_recording_id id) noexcept : control_(control), id_(id) {}
  Recording(Recording &&other) noexcept
      : control_(std::move(other.control_)), id_(std::exchange(other.id_, consort_recording_id{})) {}
  Recording &operator=(Recording &&other) noexcept {
    if (this != &other) {
      end();
      control_ = std::move(other.control_);
      id_ = std::exchange(other.id_, consort_recording_id{});
    }
    return *this;
  }
  ~Recording() { end(); }  // waits until it does not run

  consort_recording_id id() const noexcept { return id_; }  // The handle, for the C API.
  // Once more; asynchronous, one after the other. The whole as one task.
  Task replay(InGroup group = {}) {
    consort_runtime *rt = control_.need();
    consort_task_id id{};
    detail::check(consort_replay(rt, id_, group.id(), &id));
    return {rt, id};
  }

  // From the next replay on; not while one is pending or runs.
  // Another datum in place of one, everywhere in the sequence.
  template <class V>
  void set(const Data<V> &old, const Data<V> &now) {
    detail::check(consort_recording_set_data(control_.need(), id_, old.id(), now.id()));
  }
  // Another value of one task: both numbered as they were submitted, from 0. T: the type that the codelet takes.
  template <class T>
  void set_argument(uint32_t task, uint32_t argument, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>, "an argument is copied as bytes: it must be trivially copyable");
    uint64_t scalar = 0;
    if constexpr (sizeof(T) <= sizeof scalar) std::memcpy(&scalar, &value, sizeof(T));
    else scalar = reinterpret_cast<uintptr_t>(&value);
    const consort_arg a{sizeof(T) <= sizeof scalar ? CONSORT_ARG_SCALAR : CONSORT_ARG_BYTES, sizeof(T), {0, 0}, 0, scalar};
    detail::check(consort_recording_set_arg(control_.need(), id_, task, argument, &a));
  }
  // Another priority of one task, numbered as it was submitted, from 0.
  void set_priority(uint32_t task, int32_t priority) {
    detail::check(consort_recording_set_priority(control_.need(), id_, task, priority));
  }
  // How many tasks, data and edges it has, and how often it was replayed.
  consort_recording_info info() const {
    consort_recording_info i{};
    i.size = sizeof i;
    detail::check(consort_recording_get_info(control_.need(), id_, &i));
    return i;
  }

 private:
  void end() noexcept {
    consort_runtime *rt = control_.live();
    if (id_.v && rt) consort_recording_destroy(rt, id_);
    id_ = {};
  }
  detail::Ref control_;
  consort_recording_id id_{};
};

}  // namespace consort::inline face
#endif

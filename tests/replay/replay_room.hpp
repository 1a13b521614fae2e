// replay_room.hpp — the state of the room replay, or of one above: what the test's thread submits is recorded.
#pragma once
#include "exec/exec_room.hpp"
#include "replay/recorder.hpp"
#include "replay/replay.hpp"
#include "replay/replaying.hpp"

namespace consort_test {

template <class S>
class ReplayingOn : public ExecutionOn<S> {
 public:
  explicit ReplayingOn(const Pairs &pairs, bool host_memory = true) : ExecutionOn<S>(pairs, host_memory) {
    set_replay_kinds(this->kinds);
    this->data_keepers = &this->recordings;
  }

  // What submit() submits becomes a recording and does not run.
  template <class F>
  consort::Recording &record(F submit) {
    consort::ThreadState &thread = this->thread();
    auto &recorder = *this->recordings.keep(
        std::make_unique<consort::Recorder>(*this, this->recordings.next_serial(), CONSORT_RECORD_ONLY, nullptr));
    thread.recorder = &recorder;
    thread.watched |= consort::ThreadState::kWatchedByRecorder;
    submit();
    thread.recorder = nullptr;
    thread.watched = 0;
    consort::Recording &r = *must(this->recordings.add());
    if (recorder.refused < 0 || recorder.build(r) < 0) std::abort();
    this->recordings.drop(&recorder);
    r.live = true;
    return r;
  }
  consort_status replay(const consort::Recording &r) {
    return submit_replay(*this, this->thread(), r.id(), *this->standard_group, nullptr);
  }
  void run_all() {
    while (pump_all(*this, this->thread(), CONSORT_NEVER)) {
    }
  }
};

struct ReplayRoom : ReplayingOn<consort::Replaying> {
  explicit ReplayRoom(const Pairs &pairs = {}) : ReplayingOn(pairs) {}
};

}  // namespace consort_test

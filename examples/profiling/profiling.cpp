// profiling — where the time goes. With the setting `profile` each worker knows how long it was inside tasks, and a
// trace is told when each task starts and ends; without it neither costs anything. The program runs tasks of two kinds,
// short ones and long ones, and prints for each worker its tasks and its share of the time, and for each codelet how
// many there were and how long they took on average.
#include "../clock.hpp"
#include "../example.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

void spin(double us) {
  for (const auto start = Clock::now(); std::chrono::duration<double, std::micro>(Clock::now() - start).count() < us;) {
  }
}
const consort::Codelet short_one{"short", consort::counted, consort::cpu([](double us) { spin(us); })};
const consort::Codelet long_one{"long", consort::counted, consort::cpu([](double us) { spin(10 * us); })};

// Told of starts and ends by all workers at the same time.
class Profile {
 public:
  struct Total {
    uint64_t tasks = 0, ns = 0;
  };
  static void tell(void *self, const consort_trace_event *event) { static_cast<Profile *>(self)->add(*event); }
  const std::map<std::string, Total> &codelets() const { return codelets_; }

 private:
  void add(const consort_trace_event &event) {
    const std::lock_guard lock(mutex_);
    if (event.what == 0) {
      running_[event.task] = event.t_ns;
      return;
    }
    Total &total = codelets_[event.name];
    ++total.tasks;
    total.ns += event.t_ns - running_[event.task];
    running_.erase(event.task);
  }
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> running_;  // task: when it started
  std::map<std::string, Total> codelets_;
};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 1000, "tasks"}, {"us", 20, "microseconds of a short task"}});
  const size_t n = size["n"], longs = n / 10;
  consort::Settings settings = size.settings();
  Profile profile;
  consort::Runtime rt(settings.set("profile", true));
  if (consort_trace(rt.c(), Profile::tell, &profile) < 0) throw std::runtime_error(consort_error());

  const uint64_t start = example::now_ns(rt);
  const auto us = static_cast<double>(size["us"]);
  for (size_t i = 0; i < n; ++i) rt.submit(i < longs ? long_one : short_one, us);
  rt.wait();
  const auto elapsed = static_cast<double>(example::now_ns(rt) - start);

  const std::vector<uint64_t> shorts = rt.counts(short_one), longs_of = rt.counts(long_one);
  uint64_t tasks = 0, traced = 0;
  double busy = 0, in_codelets = 0;
  bool counted = true;
  for (uint32_t k = 0; k < rt.info().nworkers; ++k) {
    const consort_worker_info w = rt.worker(k);
    const auto share = 100 * static_cast<double>(w.busy_ns) / elapsed;
    std::printf("  worker %-12s %6llu tasks, %llu of them long, %5.1f %% of the time\n", w.name,
                static_cast<unsigned long long>(w.tasks), static_cast<unsigned long long>(longs_of[k]), share);
    counted &= w.tasks == shorts[k] + longs_of[k];
    tasks += w.tasks;
    busy += static_cast<double>(w.busy_ns);
  }
  bool lengths = true;
  for (const auto &[name, total] : profile.codelets()) {
    const double mean = static_cast<double>(total.ns) / static_cast<double>(total.tasks) / 1000;
    std::printf("  codelet %-11s %6llu tasks, %7.1f us each\n", name.c_str(),
                static_cast<unsigned long long>(total.tasks), mean);
    lengths &= mean >= (name == "long" ? 10 : 1) * us && total.tasks == (name == "long" ? longs : n - longs);
    traced += total.tasks;
    in_codelets += static_cast<double>(total.ns);
  }
  // What the workers say and what the trace says is the same time.
  return example::end(tasks == n && traced == n && counted && lengths && std::abs(busy - in_codelets) <= 0.05 * busy,
                      "profiling: %zu tasks in %.1f ms, of which the workers were busy %.1f %%", n, elapsed / 1e6,
                      100 * busy / elapsed / rt.info().nworkers);
} catch (const std::exception &e) {
  return example::failed(e);
}

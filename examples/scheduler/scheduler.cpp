// scheduler — a policy of one's own. fifo.c is the policy, built with consort_add_plugin(); this program names it in
// its configuration and watches in which order tasks start. A gate holds the first one back until all have been
// submitted, with priorities that fifo does not look at: on one worker they must start in the order of their
// submission. Compare --scheduler prio. Prints the policy, the first few tasks in the order of their start, and whether
// that is the order of submission.
#include "../example.hpp"

#include <atomic>
#include <string>
#include <thread>

namespace {

struct Record {
  explicit Record(size_t n) : started(n), times(n) {}
  std::atomic<bool> open{false};
  std::atomic<size_t> next{0};
  std::vector<size_t> started;          // the numbers of the tasks, in the order of their start
  std::vector<std::atomic<int>> times;  // how often each ran
};

const consort::Codelet gate{"gate", consort::cpu([](const Record *record) {
                              while (!record->open) std::this_thread::yield();
                            })};
const consort::Codelet note{"note", consort::cpu([](Record *record, size_t number) {
                              record->started[record->next++] = number;
                              ++record->times[number];
                            })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 1000, "tasks"}});
  const size_t n = size["n"];
  consort::Settings settings = size.settings();  // of the command line: they go before the text
  settings.text("scheduler = 'fifo'\nplugin_path = '" EXAMPLE_PLUGIN_DIR
                "'\n"
                "window = 0\n");  // or else a submitter of very many tasks would wait for some to end: behind the gate

  Record record(n);
  consort::Runtime rt(settings);
  const std::string policy = rt.info().scheduler;
  const uint32_t workers = rt.info().nworkers;
  for (uint32_t w = 0; w < workers; ++w)  // a device has no function of `gate`
    if (rt.worker(w).klass == std::string("cpu")) rt.submit({.worker = w}, gate, &record);
  for (size_t i = 0; i < n; ++i) rt.submit({.priority = static_cast<int32_t>(i % 10)}, note, &record, i);
  record.open = true;
  rt.wait();

  std::string first;
  bool in_order = true, once = record.next == n;
  for (size_t i = 0; i < n && once; ++i) {
    if (i < 8) first += ' ' + std::to_string(record.started[i]);
    in_order &= record.started[i] == i;
    once = record.times[i] == 1;
  }
  return example::end(once && (in_order || policy != "fifo" || workers > 1),
                      "scheduler: %zu tasks by %s on %u workers, first:%s, %s", n, policy.c_str(), workers,
                      first.c_str(), in_order ? "in the order of submission" : "in another order");
} catch (const std::exception &e) {
  return example::failed(e);
}

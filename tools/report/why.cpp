// why.cpp — `consort why`: why a task ran where and when it did.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../commands.hpp"
#include "../json.hpp"
#include "../terminal.hpp"
#include "task_story.hpp"

namespace tool {
namespace {

class StoryTeller {
 public:
  explicit StoryTeller(const TaskStory &s) : s_(s), t_(s.a.trace), own_(t_.runs[s.run]) {}

  void print() const {
    line("task " + id_words(s_.id) + " (" + t_.codelet(own_.codelet) + ") ran on " + worker(own_.worker) + " from " + when(own_.t0) + " to " + when(own_.t1) +
         ": " + time_words(ns(own_.t0, own_.t1)) + (own_.expected > 0 ? ", " + time_words(static_cast<double>(own_.expected)) + " were expected" : "") +
         (own_.status < 0 ? "; it failed: " + std::string(consort_status_name(own_.status)) : ""));
    if (s_.runs > 1) line("It is the last of its " + std::to_string(s_.runs) + " runs: on the workers of a team, or again after a loss.");
    print_where();
    print_when();
    print_data();
    if (s_.task == kNoIndex) line("\nWhat it waited for needs the graph: record with CONSORT_TRACE_GRAPH=true as well.");
  }

  Json json() const {
    Json all = document("why");
    all["task"] = id_words(s_.id), all["codelet"] = t_.codelet(own_.codelet), all["worker"] = worker(own_.worker);
    all["begin_ns"] = own_.t0 - t_.begin, all["end_ns"] = own_.t1 - t_.begin, all["status"] = own_.status, all["runs"] = s_.runs;
    all["expected_ns"] = own_.expected > 0 ? Json(own_.expected) : Json();
    all["decision"] = s_.decision ? Json{{"at_ns", since(s_.decision->at)}, {"worker", worker(s_.decision->worker)},
                                         {"end_ns", s_.decision->end ? Json(since(s_.decision->end)) : Json()}} : Json();
    const bool graph = s_.task != kNoIndex;
    all["submitted_ns"] = graph && t_.tasks[s_.task].at ? Json(since(t_.tasks[s_.task].at)) : Json();
    all["ready_ns"] = graph ? Json(since(s_.ready)) : Json();
    all["priority"] = graph ? Json(t_.tasks[s_.task].priority) : Json();
    all["last_predecessor"] = s_.last_before == kNoIndex ? Json() : Json(id_words(t_.tasks[s_.last_before].id));
    all["by_datum"] = s_.last_datum == kNoIndex ? Json() : Json(id_words(t_.data[s_.last_datum].id));
    all["waited"] = {{"worker_ns", std::llround(s_.worker_busy)}, {"data_ns", std::llround(s_.data)}, {"scheduling_ns", std::llround(s_.rest)}};
    all["places"] = Json::array();
    for (const TaskStory::Place &p : s_.places)
      all["places"].push_back({{"worker", worker(p.worker)}, {"expected_ns", p.expected < 0 ? Json() : Json(std::llround(p.expected))},
                               {"busy_until_ns", p.free_at ? Json(since(p.free_at)) : Json()}});
    all["data"] = Json::array();
    for (const TaskStory::Input &in : s_.inputs) {
      Json copies = Json::array();
      for (const uint32_t c : in.copies) copies.push_back({{"from", t_.spaces[t_.copies[c].from]}, {"begin_ns", since(t_.copies[c].t0)}, {"end_ns", since(t_.copies[c].t1)}});
      all["data"].push_back({{"datum", id_words(t_.data[in.datum].id)}, {"bytes", t_.data[in.datum].bytes}, {"mode", std::string(1, in.how)},
                             {"writer", in.writer == kNoIndex ? Json() : Json(id_words(t_.tasks[in.writer].id))}, {"copies", copies}});
    }
    return all;
  }

 private:
  static void line(const std::string &text) { std::puts(printable(text, Newlines::kKeep).c_str()); }
  static void heading(const char *text) { std::printf("\n%s\n", bold(text).c_str()); }
  static double ns(uint64_t a, uint64_t b) { return b > a ? static_cast<double>(b - a) : 0; }
  int64_t since(uint64_t at) const { return static_cast<int64_t>(at - t_.begin); }
  std::string when(uint64_t at) const { return at < t_.begin ? "-" + time_words(ns(at, t_.begin)) : time_words(ns(t_.begin, at)); }
  std::string worker(uint32_t w) const { return w < t_.workers.size() ? t_.workers[w].name : std::to_string(w); }
  std::string task(uint32_t i) const {
    const uint32_t r = s_.a.history.run_of[i];
    return "task " + id_words(t_.tasks[i].id) + (r == kNoIndex ? "" : " (" + t_.codelet(t_.runs[r].codelet) + " on " + worker(t_.runs[r].worker) + ")");
  }

  void print_where() const {
    heading("Why there");
    if (s_.decision) {
      const Trace::Decision &d = *s_.decision;
      line("  " + t_.scheduler + " placed it on " + worker(d.worker) + " at " + when(d.at) +
           (d.end ? " and expected its end at " + when(d.end) + "; it came " + time_words(ns(std::min(d.end, own_.t1), std::max(d.end, own_.t1))) +
                        (own_.t1 >= d.end ? " later" : " earlier") : "") + ".");
      if (d.worker != own_.worker) line("  It ran on another worker: " + worker(own_.worker) + " took it, as an idle one may, or the placement was changed.");
    } else {
      line("  " + t_.scheduler + " reports no decision for it: a worker that was free took it, or the event was dropped.");
    }
    if (s_.task != kNoIndex && s_.places.empty() && !t_.times.empty()) line("  No other worker has an implementation for it.");
    constexpr size_t kMost = 6;
    for (size_t i = 0; i < std::min(kMost, s_.places.size()); ++i) {
      const TaskStory::Place &p = s_.places[i];
      line("  " + worker(p.worker) + (p.expected < 0 ? ": its time there was unknown" : " would have taken " + time_words(p.expected)) +
           (p.free_at ? "; it was busy until " + when(p.free_at) + ", " + time_words(ns(own_.t0, p.free_at)) + " after the task began." : "; it was free."));
    }
    if (s_.places.size() > kMost) line("  and " + std::to_string(s_.places.size() - kMost) + " more workers that can run it");
  }

  void print_when() const {
    if (s_.task == kNoIndex) return;
    heading("Why then");
    const Trace::Task &task_of = t_.tasks[s_.task];
    if (task_of.at) line("  submitted at " + when(task_of.at) + (task_of.priority ? ", priority " + std::to_string(task_of.priority) : ""));
    line("  ready at " + when(s_.ready) +
         (s_.last_before == kNoIndex || s_.a.history.end_of(s_.last_before) < s_.ready
              ? ", when it was submitted: nothing that it needs was left to be done"
              : ", when " + task(s_.last_before) + " had ended" + (s_.last_datum == kNoIndex ? ", which it was told to come after"
                                                                      : ": both use " + s_.a.datum_words(t_.data[s_.last_datum].id))));
    const double waited = ns(s_.ready, own_.t0);
    line("  began " + time_words(waited) + " later:");
    if (s_.worker_busy > 0) line("    " + time_words(s_.worker_busy) + " " + worker(own_.worker) + " ran " + count_words(s_.ran_between, "other task", "other tasks"));
    if (s_.data > 0) line("    " + time_words(s_.data) + " its data were on their way");
    if (s_.rest > 0) line("    " + time_words(s_.rest) + " it was scheduled");
  }

  void print_data() const {
    if (s_.inputs.empty()) return;
    heading("Data");
    for (const TaskStory::Input &in : s_.inputs) {
      static constexpr const char *kHow[] = {"read", "changed beside others", "changed", "written anew"};
      const size_t how = in.how == 'r' ? 0 : in.how == 'c' ? 1 : in.how == 'u' ? 2 : 3;
      std::string text = "  " + s_.a.datum_words(t_.data[in.datum].id) + ", " + kHow[how];
      if (in.writer != kNoIndex) text += "; before that by " + task(in.writer);
      for (const uint32_t c : in.copies) {
        const Trace::Copy &one = t_.copies[c];
        text += "; copied from " + t_.spaces[one.from] + " in " + time_words(ns(one.t0, one.t1)) + ", there at " + when(one.t1);
      }
      line(text);
    }
  }

  const TaskStory &s_;
  const Trace &t_;
  const Trace::Run &own_;
};

}  // namespace

int run_why(const std::string &record, const std::string &which, bool json) {
  Progress progress("reading " + record);
  const Trace t = read_trace(record);
  progress.now("looking at " + record);
  const Analysis a(t);
  const TaskStory story(a, which);
  progress.clear();
  if (json) tool::print(StoryTeller(story).json());
  else StoryTeller(story).print();
  return 0;
}

}  // namespace tool

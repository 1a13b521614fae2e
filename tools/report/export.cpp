#include "export.hpp"

#include <consort/shared/trace_text.hpp>

#include <algorithm>
#include <cinttypes>
#include <fstream>
#include <stdexcept>

#include "../commands.hpp"
#include "../json.hpp"
#include "../plain_file.hpp"
#include "../terminal.hpp"

namespace tool {
namespace {

// Chrome's times are in microseconds; three decimals are nanoseconds.
std::string micro(uint64_t ns) {
  std::string text = std::to_string(ns / 1000) + ".";
  const std::string rest = std::to_string(ns % 1000);
  return text + std::string(3 - rest.size(), '0') + rest;
}

std::string quoted_json(const std::string &text) { return text_of(Json(text), -1); }

std::string quoted_csv(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string hex_of(uint64_t n) {
  char text[24];
  std::snprintf(text, sizeof text, "%" PRIx64, n);
  return text;
}

class ChromeWriter {
 public:
  explicit ChromeWriter(const History &h) : h_(h), t_(h.trace) {}
  std::string write(const Idle &idle) {
    name("process_name", 1, 0, "workers");
    name("process_name", 2, 0, "links");
    for (uint32_t w = 0; w < t_.workers.size(); ++w) name("thread_name", 1, w, t_.workers[w].name);
    for (uint32_t r = 0; r < t_.runs.size(); ++r) run(r);
    copies();
    for (const auto &[at, n] : idle.ready_curve) counter("ready tasks", at, n);
    for (const Trace::MemoryUse &u : t_.memory) counter("memory of " + t_.spaces[u.space], u.at, u.bytes);
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + s_ + "\n]}\n";
  }

 private:
  void event(const std::string &members) { s_ += (s_.empty() ? "{" : ",\n{") + members + "}"; }
  void name(const char *what, int pid, uint32_t tid, const std::string &text) {
    event("\"name\":\"" + std::string(what) + "\",\"ph\":\"M\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ",\"args\":{\"name\":" + quoted_json(text) + "}");
  }
  std::string since(uint64_t at) const { return micro(at - std::min(at, t_.begin)); }
  void run(uint32_t i) {
    const Trace::Run &r = t_.runs[i];
    const uint32_t task = h_.task_of[i];
    std::string args = "\"task\":\"" + hex_of(r.task) + "\"";
    if (r.expected >= 0) args += ",\"expected_ns\":" + std::to_string(r.expected);
    if (r.status < 0) args += ",\"status\":" + std::to_string(r.status);
    if (task != kNoIndex) args += ",\"waited_ready_ns\":" + std::to_string(r.t0 - h_.ready[task]);
    event("\"name\":" + quoted_json(t_.codelet(r.codelet)) + ",\"cat\":\"task\",\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(r.worker) + ",\"ts\":" + since(r.t0) +
          ",\"dur\":" + micro(r.t1 - r.t0) + ",\"args\":{" + args + "}");
    if (task == kNoIndex || h_.run_of[task] != i) return;
    for (const uint32_t *p = h_.before.begin(task); p != h_.before.end(task); ++p) {
      if (h_.run_of[*p] == kNoIndex) continue;
      const Trace::Run &from = t_.runs[h_.run_of[*p]];
      const std::string id = std::to_string(++flows_);
      event("\"name\":\"after\",\"cat\":\"order\",\"ph\":\"s\",\"id\":" + id + ",\"pid\":1,\"tid\":" + std::to_string(from.worker) + ",\"ts\":" + since(from.t1));
      event("\"name\":\"after\",\"cat\":\"order\",\"ph\":\"f\",\"bp\":\"e\",\"id\":" + id + ",\"pid\":1,\"tid\":" + std::to_string(r.worker) + ",\"ts\":" + since(r.t0));
    }
  }
  void copies() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> links;
    for (const Trace::Copy &c : t_.copies) {
      const auto [at, fresh] = links.try_emplace({c.from, c.to}, static_cast<uint32_t>(links.size()));
      if (fresh) name("thread_name", 2, at->second, t_.spaces[c.from] + " to " + t_.spaces[c.to]);
      const char *why = c.why == 'p' ? "prefetch" : c.why == 's' ? "write-back" : "copy";
      event("\"name\":\"" + std::string(why) + "\",\"cat\":\"copy\",\"ph\":\"X\",\"pid\":2,\"tid\":" + std::to_string(at->second) + ",\"ts\":" + since(c.t0) + ",\"dur\":" +
            micro(c.t1 - c.t0) + ",\"args\":{\"bytes\":" + std::to_string(c.bytes) + ",\"datum\":\"" + hex_of(c.datum) + "\"}");
    }
  }
  void counter(const std::string &what, uint64_t at, uint64_t value) {
    event("\"name\":" + quoted_json(what) + ",\"ph\":\"C\",\"pid\":1,\"ts\":" + since(at) + ",\"args\":{\"value\":" + std::to_string(value) + "}");
  }

  const History &h_;
  const Trace &t_;
  std::string s_;
  uint64_t flows_ = 0;
};

// Names are in double quotes, which have no escape.
std::string quoted_paje(std::string text) {
  for (char &c : text)
    if (c == '"' || static_cast<unsigned char>(c) < ' ') c = '\'';
  return "\"" + text + "\"";
}

constexpr const char *kPajeHead = R"(%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeDefineLinkType 3
% Alias string
% Type string
% StartContainerType string
% EndContainerType string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 4
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 5
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajePushState 6
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 7
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeSetVariable 8
% Time date
% Type string
% Container string
% Value double
%EndEventDef
%EventDef PajeStartLink 9
% Time date
% Type string
% Container string
% StartContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeEndLink 10
% Time date
% Type string
% Container string
% EndContainer string
% Value string
% Key string
%EndEventDef
0 R 0 Run
0 W R Worker
0 M R Memory
1 S W Task
2 Q R "Ready tasks" "0.2 0.6 0.4"
2 U M "Bytes in use" "0.5 0.5 0.9"
3 L R M M Copy
)";

class PajeWriter {
 public:
  explicit PajeWriter(const History &h) : t_(h.trace) {}
  std::string write(const Idle &idle) {
    std::string all = kPajeHead;
    all += "4 0.000000000 run R 0 run\n";
    for (uint32_t w = 0; w < t_.workers.size(); ++w) all += "4 0.000000000 w" + std::to_string(w) + " W run " + quoted_paje(t_.workers[w].name) + "\n";
    for (uint32_t s = 0; s < t_.spaces.size(); ++s) all += "4 0.000000000 m" + std::to_string(s) + " M run " + quoted_paje(t_.spaces[s]) + "\n";
    for (const Trace::Run &r : t_.runs) {
      // Of two at one time, the ends come first; a body within another one begins after it.
      add(r.t0, 1, "6 " + since(r.t0) + " S w" + std::to_string(r.worker) + " " + quoted_paje(t_.codelet(r.codelet)));
      add(r.t1, r.t0 == r.t1 ? 2 : 0, "7 " + since(r.t1) + " S w" + std::to_string(r.worker));
    }
    for (const auto &[at, n] : idle.ready_curve) add(at, 3, "8 " + since(at) + " Q run " + std::to_string(n));
    for (const Trace::MemoryUse &u : t_.memory) add(u.at, 3, "8 " + since(u.at) + " U m" + std::to_string(u.space) + " " + std::to_string(u.bytes));
    for (size_t i = 0; i < t_.copies.size(); ++i) {
      const Trace::Copy &c = t_.copies[i];
      const std::string tail = " \"" + hex_of(c.datum) + "\" c" + std::to_string(i);
      add(c.t0, 3, "9 " + since(c.t0) + " L run m" + std::to_string(c.from) + tail);
      add(c.t1, 4, "10 " + since(c.t1) + " L run m" + std::to_string(c.to) + tail);
    }
    std::stable_sort(events_.begin(), events_.end(), [](const Event &a, const Event &b) { return std::pair(a.at, a.order) < std::pair(b.at, b.order); });
    for (const Event &e : events_) all += e.line + "\n";
    const std::string end = since(std::max(t_.end, events_.empty() ? 0 : events_.back().at));
    for (uint32_t w = 0; w < t_.workers.size(); ++w) all += "5 " + end + " W w" + std::to_string(w) + "\n";
    for (uint32_t s = 0; s < t_.spaces.size(); ++s) all += "5 " + end + " M m" + std::to_string(s) + "\n";
    return all + "5 " + end + " R run\n";
  }

 private:
  struct Event { uint64_t at; int order; std::string line; };
  void add(uint64_t at, int order, std::string line) { events_.push_back({at, order, std::move(line)}); }
  std::string since(uint64_t at) const {  // seconds
    const uint64_t ns = at - std::min(at, t_.begin);
    const std::string rest = std::to_string(ns % 1000000000);
    return std::to_string(ns / 1000000000) + "." + std::string(9 - rest.size(), '0') + rest;
  }

  const Trace &t_;
  std::vector<Event> events_;
};

}  // namespace

std::string chrome_of(const History &h, const Idle &idle) { return ChromeWriter(h).write(idle); }
std::string paje_of(const History &h, const Idle &idle) { return PajeWriter(h).write(idle); }

std::string csv_of(const History &h) {
  const Trace &t = h.trace;
  std::string all = "task,codelet,worker,class,submitted_ns,ready_ns,fetch_ns,begin_ns,end_ns,expected_ns,priority,status\r\n";
  for (uint32_t i = 0; i < t.runs.size(); ++i) {
    const Trace::Run &r = t.runs[i];
    const uint32_t task = h.task_of[i];
    const auto known = [](bool is, uint64_t n) { return is ? std::to_string(n) : std::string(); };
    all += hex_of(r.task) + "," + quoted_csv(t.codelet(r.codelet)) + "," + quoted_csv(t.workers[r.worker].name) + "," + quoted_csv(t.workers[r.worker].klass) + "," +
           known(task != kNoIndex && t.tasks[task].at, task == kNoIndex ? 0 : t.tasks[task].at) + "," + known(task != kNoIndex, task == kNoIndex ? 0 : h.ready[task]) + "," +
           known(h.fetch_from[i], h.fetch_from[i]) + "," + std::to_string(r.t0) + "," + std::to_string(r.t1) + "," + known(r.expected >= 0, static_cast<uint64_t>(r.expected)) + "," +
           (task == kNoIndex ? "" : std::to_string(t.tasks[task].priority)) + "," + std::to_string(r.status) + "\r\n";
  }
  return all;
}

namespace {

// Of the file's bytes: it also has what the command does not know.
std::string text_form(const std::string &path) {
  std::string all = read_plain(path, kLargestTrace), text, why;
  if (!consort::shared::TraceReader::is_binary(all)) return all;
  if (!consort::shared::TraceText::write(all, &text, &why)) throw std::runtime_error(path + ": " + why);
  return text;
}

}  // namespace

int run_trace_export(const std::string &record, const std::string &form, const std::string &out, bool json) {
  const Trace t = read_trace(record);
  const History h(t);
  const Idle idle(h);
  const std::string text = form == "chrome" ? chrome_of(h, idle) : form == "paje" ? paje_of(h, idle) : form == "text" ? text_form(record) : csv_of(h);
  std::ofstream file(out, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
  if (!file) throw std::runtime_error(out + " cannot be written");
  if (json) {
    Json all = document("trace export");
    all["file"] = out;
    all["form"] = form;
    all["tasks"] = t.runs.size();
    all["copies"] = t.copies.size();
    return print(all), 0;
  }
  std::printf("%s: %zu tasks and %zu copies\n", printable(out).c_str(), t.runs.size(), t.copies.size());
  return 0;
}

}  // namespace tool

// sim.cpp — `consort sim`: runs any program that uses Consort, unchanged, in virtual time on a described machine.
//
// The program's runtime gets its settings by the environment; settings in the program's code override them. After
// its end the driver's report is printed: simulated time, kernels per device, bytes per link.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "commands.hpp"
#include "environment.hpp"
#include "json.hpp"
#include "plain_file.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

std::string absolute(const std::string &file) {
  char *path = realpath(file.c_str(), nullptr);
  if (!path) throw std::runtime_error("--machine " + file + ": " + std::strerror(errno));
  std::string text = path;
  std::free(path);
  return text;
}

struct Scratch {
  int fd = memfd_create("consort-sim", MFD_CLOEXEC);  // unnamed: a kill leaves nothing behind
  std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
  Scratch() {
    if (fd < 0) throw std::runtime_error(std::string("cannot create a temporary file: ") + std::strerror(errno));
  }
  ~Scratch() { ::close(fd); }
};

int run_program(const std::vector<std::string> &program) {
  std::vector<char *> words;
  for (const std::string &w : program) words.push_back(const_cast<char *>(w.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    execvp(words[0], words.data());
    std::fprintf(stderr, "consort: %s: %s\n", words[0], std::strerror(errno));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr uint32_t kMostProcesses = 64;

// Settings of the ranks; the network is that of the machine's file.
void set_ranks(const Simulation &s, const Scratch &report) {
  set_variable("CONSORT_TRANSPORT", "simnet");
  set_variable("CONSORT_SIMNET__MACHINE", absolute(s.machine));
  set_variable("CONSORT_SIMNET__MOVE", s.execute ? "true" : "false");
  set_variable("CONSORT_SIMNET__REPORT", report.path);
  if (!s.trace.empty()) set_variable("CONSORT_TRACE", s.trace.find("%r") == s.trace.npos ? s.trace + ".%r" : s.trace);
  if (s.one_process) set_variable("CONSORT_RANKS_HERE", std::to_string(s.ranks));
}

int run_program_as_ranks(const Settings &settings, const Simulation &s) {
  if (s.one_process) return run_program(s.program);
  RunOptions options;
  options.ranks = s.ranks, options.unbound = true, options.program = s.program;
  return run_ranks(settings, options);
}

// Totals of all ranks. Lines of the driver, of each rank, as below; of the transport: "network MESSAGES BYTES",
// "wires NAME COUNT MESSAGES BYTES BUSIEST_NS".
class RanksReport {
 public:
  explicit RanksReport(const char *path) {
    std::istringstream in(read_plain(path));
    for (std::string line; std::getline(in, line);) read(line);
  }
  bool any() const { return runtimes_; }
  Json json(uint32_t ranks) const {
    Json run{{"ranks", ranks}, {"time_ns", time_}, {"kernels", Json::array()}, {"copies", Json::array()}, {"wires", Json::array()}};
    for (const auto &[device, k] : kernels_) run["kernels"].push_back({{"device", device}, {"count", k.first}, {"busy_ns", k.second}});
    for (const auto &[way, c] : copies_)
      run["copies"].push_back({{"from", way.first}, {"to", way.second}, {"count", c.first}, {"bytes", c.second}});
    run["messages"] = {{"count", messages_}, {"bytes", bytes_}};
    for (const Wires &w : wires_)
      run["wires"].push_back({{"name", w.name}, {"count", w.count}, {"messages", w.messages}, {"bytes", w.bytes}, {"busiest_ns", w.busiest}});
    return run;
  }
  void print(uint32_t ranks) const {
    const auto share = [&](double ns) { return time_ > 0 ? 100 * ns / time_ : 0; };
    std::printf("simulated time  %.6f s on %u ranks\n", time_ * 1e-9, ranks);
    for (const auto &[device, k] : kernels_)
      std::printf("  %-22s %9.0f kernels, busy %.1f %%\n", printable(device).c_str(), k.first, share(k.second / ranks));
    for (const auto &[way, c] : copies_)
      std::printf("  %-22s %9.0f copies, %s\n", printable(way.first + " -> " + way.second).c_str(), c.first,
                  bytes(static_cast<uint64_t>(c.second)).c_str());
    std::printf("  %-22s %9.0f, %s\n", "messages", messages_, bytes(static_cast<uint64_t>(bytes_)).c_str());
    for (const Wires &w : wires_)
      std::printf("  %-22s %9.0f messages, %s, the busiest %.1f %%\n", printable(w.name).c_str(), w.messages,
                  bytes(static_cast<uint64_t>(w.bytes)).c_str(), share(w.busiest));
  }

 private:
  struct Wires { std::string name; double count, messages, bytes, busiest; };
  void read(const std::string &line) {
    std::istringstream words(line);
    std::string what, from, to;
    double a = 0, b = 0, c = 0, d = 0;
    words >> what;
    if (what == "time" && words >> a) time_ = std::max(time_, a), ++runtimes_;
    else if (what == "kernels" && words >> from >> a >> b) kernels_[from].first += a, kernels_[from].second += b;
    else if (what == "way" && words >> from >> to >> a >> b) copies_[{from, to}].first += a, copies_[{from, to}].second += b;
    else if (what == "network" && words >> a >> b) messages_ += a, bytes_ += b;
    else if (what == "wires" && words >> from >> a >> b >> c >> d) wires_.push_back({from, a, b, c, d});
  }

  uint32_t runtimes_ = 0;
  double time_ = 0, messages_ = 0, bytes_ = 0;
  std::map<std::string, std::pair<double, double>> kernels_;
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> copies_;
  std::vector<Wires> wires_;
};

void write_json(const Json &all, const std::string &file) {
  if (file == "-") return print(all);
  if (file.empty()) return;
  std::ofstream out(file);
  out << text_of(all) << "\n";
  if (!out.flush()) throw std::runtime_error(file + " cannot be written: " + std::strerror(errno));
}

bool print_report_of_ranks(const char *path, const Simulation &s) {
  const RanksReport report(path);
  Json all = document("sim");
  all["runs"] = Json::array();
  if (report.any()) all["runs"].push_back(report.json(s.ranks));
  if (report.any() && s.json != "-") report.print(s.ranks);
  write_json(all, s.json);
  return report.any();
}

// Lines of the driver: "time NS", "kernels DEVICE COUNT BUSY_NS", "way FROM TO COPIES BYTES"; "time" begins a runtime.
bool print_report(const char *path, const std::string &json) {
  std::istringstream in(read_plain(path));
  bool any = false;
  double time = 0;
  Json all = document("sim");
  Json &runs = all["runs"] = Json::array();
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string what, from, to;
    double a = 0, b = 0;
    words >> what;
    const bool told = json != "-";
    if (what == "time" && words >> time) {
      if (told) std::printf("%ssimulated time  %.6f s\n", any ? "\n" : "", time * 1e-9);
      runs.push_back({{"time_ns", time}, {"kernels", Json::array()}, {"copies", Json::array()}});
      any = true;
    } else if (what == "kernels" && any && words >> from >> a >> b) {
      if (told) std::printf("  %-14s %8.0f kernels, busy %.1f %%\n", printable(from).c_str(), a, time > 0 ? 100 * b / time : 0);
      runs.back()["kernels"].push_back({{"device", from}, {"count", a}, {"busy_ns", b}});
    } else if (what == "way" && any && words >> from >> to >> a >> b) {
      if (told) std::printf("  %-14s %8.0f copies, %s\n", printable(from + " -> " + to).c_str(), a, bytes(static_cast<uint64_t>(b)).c_str());
      runs.back()["copies"].push_back({{"from", from}, {"to", to}, {"count", a}, {"bytes", b}});
    }
  }
  write_json(all, json);
  return any;
}

}  // namespace

int run_sim(const Settings &settings, const Simulation &s) {
  if (s.one_process && !s.ranks) return complain("--one-process is for several ranks: say their number by -n");
  if (s.ranks > kMostProcesses && !s.one_process)
    return complain(std::to_string(s.ranks) + " ranks are too many processes for one clock: " + std::to_string(kMostProcesses) +
                    " at most. With --one-process a program that gives its rank by consort_rank_main() has up to 1,024");
  for (const std::string &assignment : settings.assignments) set_from(assignment);
  if (!settings.file.empty()) set_variable("CONSORT_CONFIG", settings.file);
  const Scratch report;
  set_variable("CONSORT_DRIVERS", "sim");
  set_variable("CONSORT_TIME", "virtual");
  set_variable("CONSORT_SIM__MACHINE", absolute(s.machine));
  set_variable("CONSORT_SIM__EXECUTE", s.execute ? "true" : "false");
  set_variable("CONSORT_SIM__MOVE", s.execute ? "true" : "false");
  set_variable("CONSORT_SIM__REPORT", report.path);
  if (!s.policy.empty()) set_variable("CONSORT_SCHEDULER", s.policy);
  if (!s.noise.empty()) set_variable("CONSORT_SIM__NOISE", s.noise);
  if (!s.kernels.empty()) set_variable("CONSORT_SIM__KERNELS", s.kernels);
  if (!s.seed.empty()) set_variable("CONSORT_SEED", s.seed), set_variable("CONSORT_SIM__SEED", s.seed);
  if (!s.trace.empty()) set_variable("CONSORT_TRACE", s.trace);
  if (s.ranks) set_ranks(s, report);
  const int status = s.ranks ? run_program_as_ranks(settings, s) : run_program(s.program);
  const bool simulated = s.ranks ? print_report_of_ranks(report.path.c_str(), s) : print_report(report.path.c_str(), s.json);
  if (simulated && !s.execute) {  // a program that checks its results fails then
    if (s.json != "-") std::puts("results         not computed: kernels only took time; --execute calls their functions");
    if (status != 0)
      complain(s.program[0] + " ended with status " + std::to_string(status) +
               ": it may check results, which are not computed without --execute");
  }
  if (!simulated && status == 0) {
    return complain("nothing was simulated: " + s.program[0] + " started no runtime, or sets `drivers` in its own code");
  }
  return status;
}

}  // namespace tool

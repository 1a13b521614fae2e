// sim.cpp — `consort sim`: runs any program that uses Consort, unchanged, in virtual time on a described machine.
//
// The program's runtime gets its settings by the environment; settings in the program's code override them. After
// its end the driver's report is printed: simulated time, kernels per device, bytes per link.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
  if (json == "-") print(all);
  else if (!json.empty()) {
    std::ofstream out(json);
    out << text_of(all) << "\n";
    if (!out.flush()) throw std::runtime_error(json + " cannot be written: " + std::strerror(errno));
  }
  return any;
}

}  // namespace

int run_sim(const Settings &settings, const Simulation &s) {
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
  const int status = run_program(s.program);
  const bool simulated = print_report(report.path.c_str(), s.json);
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

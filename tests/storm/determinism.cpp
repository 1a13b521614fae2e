#include "storm/determinism.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tools/conform/patience.hpp"

namespace storm {
namespace {

// The text of one run, in memory that the parent and the child share.
struct Text {
  static constexpr size_t kMost = 1 << 22;
  size_t size;
  char text[kMost];
  std::string string() const { return {text, size}; }
};
Text *new_text() {
  void *p = mmap(nullptr, sizeof(Text), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::perror("storm: mmap"), std::exit(2);
  return static_cast<Text *>(p);
}

// Returns false where the case failed: the process is of no more use.
bool run_into(Text &out, uint64_t seed, const Wishes &wishes) {
  Seen seen;
  std::string events;
  const Verdict v = run(make_case(seed, wishes), &seen, &events);
  events += v.complaint.empty() ? "good\n" : v.complaint + "\n";
  out.size = std::min(events.size(), Text::kMost);
  std::memcpy(out.text, events.data(), out.size);
  return v.complaint.empty();
}

std::string first_difference(const std::string &a, const std::string &b) {
  std::istringstream one(a), two(b);
  std::string before;
  for (int line = 1;; ++line) {
    std::string x, y;
    const bool more_x = static_cast<bool>(std::getline(one, x)), more_y = static_cast<bool>(std::getline(two, y));
    if (!more_x && !more_y) return "";
    if (x != y || more_x != more_y)
      return "line " + std::to_string(line) + "\n  both before:    " + before + "\n  after others:   " + x +
             "\n  alone:          " + y + "\n";
    before = x;
  }
}

// A child that runs cases as it is asked for them.
class Veteran {
 public:
  Veteran(Text &out, const Wishes &wishes) : out_(out), wishes_(wishes) {}
  ~Veteran() { stop(); }

  void ask(uint64_t seed) {
    if (pid_ < 0) start();
    if (write(to_[1], &seed, sizeof seed) != sizeof seed) std::perror("storm: write");
  }
  bool answered(int limit_s) {
    pollfd p{from_[0], POLLIN, 0};
    char good = 0;
    conform::Patience patience(pid_, limit_s);
    while (poll(&p, 1, 20) == 0 && !patience.is_over()) continue;
    if (poll(&p, 1, 0) > 0 && read(from_[0], &good, 1) == 1 && good) return true;
    stop();
    return good != 0;
  }

 private:
  void start() {
    if (pipe(to_) || pipe(from_)) std::perror("storm: pipe"), std::exit(2);
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_) {
      close(to_[0]);
      close(from_[1]);
      return;
    }
    close(to_[1]);
    for (uint64_t seed; read(to_[0], &seed, sizeof seed) == sizeof seed;) {
      const char good = run_into(out_, seed, wishes_);
      if (write(from_[1], &good, 1) != 1 || !good) break;
    }
    std::_Exit(0);
  }
  void stop() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    close(to_[1]);
    close(from_[0]);
  }
  Text &out_;
  const Wishes &wishes_;
  pid_t pid_ = -1;
  int to_[2] = {}, from_[2] = {};
};

}  // namespace

uint64_t check_determinism(const Plan &plan, const std::function<void(const Failure &)> &told) {
  const auto start = std::chrono::steady_clock::now();
  Text &veteran = *new_text(), &alone = *new_text();
  Veteran process(veteran, plan.wishes);
  uint64_t cases = 0;
  int failures = 0;
  for (uint64_t seed = plan.from; seed < plan.to && failures < plan.most_failures; ++seed, ++cases) {
    if (plan.seconds > 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > plan.seconds) break;
    veteran.size = alone.size = 0;
    process.ask(seed);
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) std::_Exit(run_into(alone, seed, plan.wishes) ? 0 : 1);
    const bool good = process.answered(plan.limit_s);
    std::string over;
    const int status = wait_for(pid, plan.limit_s, &over);
    const std::string a = veteran.string(), b = alone.string();
    if (a == b && good && status == 0) continue;
    ++failures;
    told({seed, a == b ? "the case fails" : "two runs of the case differ", first_difference(a, b)});
  }
  return cases;
}

}  // namespace storm

#include "storm/process.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "tools/conform/patience.hpp"

namespace storm {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

void write(char *to, size_t cap, const std::string &text) {
  const size_t n = std::min(cap - 1, text.size());
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

// In the child. A case that fails ends the process: its runtime may never come to rest.
void run_case(const Case &c, Board &b) {
  Seen seen;
  const Verdict v = run(c, &seen);
  if (!v.complaint.empty()) {
    write(b.complaint, sizeof b.complaint, v.complaint);
    write(b.explained, sizeof b.explained, v.explained);
    b.failed = true;
    std::_Exit(1);
  }
  b.coverage.add(seen);
  b.cases.fetch_add(1, std::memory_order_relaxed);
  b.beats.fetch_add(1, std::memory_order_relaxed);
}

std::string how_it_died(int status) {
  if (WIFSIGNALED(status)) return std::string("crash: signal ") + strsignal(WTERMSIG(status));
  return "crash: exit status " + std::to_string(WEXITSTATUS(status));
}

Failure failure_of(const Board &b, uint64_t seed, int status) {
  if (b.failed) return {seed, b.complaint, b.explained};
  return {seed, how_it_died(status), ""};
}

std::string hang(const conform::Patience &p, int limit_s) {
  return std::string("hang: no end (") + p.reason() + " " + std::to_string(limit_s) + " s)";
}

struct Job {
  std::unique_ptr<Board, void (*)(Board *)> board{new_board(), [](Board *b) { munmap(b, sizeof *b); }};
  pid_t pid = -1;
  uint64_t next = 0, beats = 0;
  std::optional<conform::Patience> patience;
};

}  // namespace

Board *new_board() {
  void *p = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    std::perror("storm: mmap");
    std::exit(2);
  }
  return new (p) Board;
}

int wait_for(pid_t pid, int limit_s, std::string *over) {
  const auto start = Clock::now();
  conform::Patience patience(pid, limit_s);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (patience.is_over()) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      *over = hang(patience, limit_s);
      break;
    }
    usleep(since(start) < 0.01 ? 200 : 2000);  // nap: between two looks at a child
  }
  return status;
}

Failure try_in_child(const Case &c, int limit_s) {
  static Board *const board = new_board();
  board->failed = false;
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    // The output of a candidate that dies is of no interest to the reader.
    if (!std::freopen("/dev/null", "w", stderr)) std::_Exit(2);
    run_case(c, *board);
    std::_Exit(0);
  }
  std::string why;
  const int status = wait_for(pid, limit_s, &why);
  if (!why.empty()) return {c.seed, why, ""};
  if (!board->failed && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure_of(*board, c.seed, status);
}

uint64_t run_all(const Plan &plan, const std::function<void(const Failure &)> &failed, Coverage *all) {
  const auto start = Clock::now();
  const auto step = static_cast<uint64_t>(plan.jobs);
  std::vector<Job> jobs(static_cast<size_t>(plan.jobs));
  int failures = 0;
  const auto over = [&] { return (plan.seconds > 0 && since(start) > plan.seconds) || failures >= plan.most_failures; };
  const auto begin = [&](Job &j) {
    j.pid = -1;
    if (j.next >= plan.to || over()) return;
    j.board->failed = false;
    j.beats = j.board->beats;
    std::fflush(nullptr);
    j.pid = fork();
    if (j.pid) return (void)j.patience.emplace(j.pid, plan.limit_s);
    for (uint64_t seed = j.next; seed < plan.to && !over(); seed += step) {
      j.board->seed = seed;
      run_case(make_case(seed, plan.wishes), *j.board);
    }
    std::_Exit(0);
  };
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].next = plan.from + i;
    begin(jobs[i]);
  }
  for (bool any = true; any;) {
    any = false;
    for (Job &j : jobs) {
      if (j.pid < 0) continue;
      any = true;
      int status = 0;
      if (const uint64_t beats = j.board->beats; beats != j.beats) j.beats = beats, j.patience->start_anew();
      Failure f;
      if (waitpid(j.pid, &status, WNOHANG) != 0) {
        if (!j.board->failed && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
          j.pid = -1;
          continue;
        }
        f = failure_of(*j.board, j.board->seed, status);
      } else if (j.patience->is_over()) {
        kill(j.pid, SIGKILL);
        waitpid(j.pid, &status, 0);
        f = {j.board->seed, hang(*j.patience, plan.limit_s), ""};
      } else {
        continue;
      }
      ++failures;
      failed(f);
      j.next = f.seed + step;
      begin(j);
    }
    usleep(5000);  // nap: between two looks at the children
  }
  uint64_t cases = 0;
  for (Job &j : jobs) {
    cases += j.board->cases;
    all->cases += j.board->coverage.cases;
    for (int a = 0; a < kFeatures; ++a)
      for (int b = a; b < kFeatures; ++b) all->counts[a][b] += j.board->coverage.counts[a][b];
  }
  return cases;
}

}  // namespace storm

#include "case_run.hpp"

#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

#if CONSORT_SAN == 1u
extern "C" int __lsan_do_recoverable_leak_check();
#endif

namespace conform {
namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void run_whole(const Case &c, const Subject &subject, Verdict &v) {
  run_case(c, subject, v);
#if CONSORT_SAN == 1u
  if (v.outcome == Outcome::kPassed && __lsan_do_recoverable_leak_check()) {
    v.outcome = Outcome::kFailed;
    ++v.failures;
    std::strcpy(v.seen, "memory was leaked; the sanitizer's report follows\n");
  }
#endif
  std::snprintf(v.doing, sizeof v.doing, "end of the process");
}

void tell(Result &r, const std::string &how) {
  Verdict &v = r.verdict;
  v.outcome = Outcome::kFailed;
  ++v.failures;
  const size_t used = std::strlen(v.seen);
  std::snprintf(v.seen + used, sizeof v.seen - used, "%s in: %s\n", how.c_str(), *v.doing ? v.doing : "begin of the case");
}

}  // namespace

SharedVerdict::SharedVerdict() {
  void *p = mmap(nullptr, sizeof(Verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "no memory to share with a case");
  verdict_ = new (p) Verdict{};
}

SharedVerdict::~SharedVerdict() { munmap(verdict_, sizeof(Verdict)); }

CaseRun::CaseRun(const Case &c, const Subject &subject, double limit)
    : limit_(limit), began_(now()), child_(limit, [&] { run_whole(c, subject, *shared_); }) {}

bool CaseRun::has_ended() {
  if (is_judged_) return true;
  if (!child_.has_ended()) return false;
  is_judged_ = true;
  Ended &e = child_.ended();
  Result &r = result_;
  r.printed = std::move(e.printed);
  r.timed_out = e.timed_out;
  r.verdict = *shared_;
  r.seconds = now() - began_;
  r.crashed = !r.timed_out;
  if (r.timed_out) {
    tell(r, "did not come back within " + std::to_string(static_cast<int>(limit_)) + " s");
  } else if (WIFSIGNALED(e.status)) {
    const char *name = sigabbrev_np(WTERMSIG(e.status));
    tell(r, "crashed by SIG" + std::string(name ? name : "?"));
  } else if (WEXITSTATUS(e.status) != 0) {
    tell(r, "the process ended with status " + std::to_string(WEXITSTATUS(e.status)));
  } else if (r.verdict.outcome == Outcome::kNone) {
    tell(r, "the plugin ended the process");
  } else {
    r.crashed = false;
  }
  return true;
}

Result run_in_process(const Case &c, const Subject &subject) {
  Result r;
  const double began = now();
  run_case(c, subject, r.verdict);
  r.seconds = now() - began;
  return r;
}

}  // namespace conform

#include "patience.hpp"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

namespace conform {

double Patience::computed_by(pid_t child) {
  clockid_t clock;
  timespec t;
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Returns whether one of its threads would compute if it had a core, or waits for a disk.
bool Patience::is_runnable(pid_t child) {
  const std::string threads = "/proc/" + std::to_string(child) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(opendir(threads.c_str()), closedir);
  while (const dirent *thread = folder ? readdir(folder.get()) : nullptr) {
    const std::string path = threads + "/" + thread->d_name + "/stat";
    const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "re"), std::fclose);
    char state = 0;
    if (file && std::fscanf(file.get(), "%*d (%*[^)]) %c", &state) == 1 && (state == 'R' || state == 'D')) return true;
  }
  return false;
}

bool Patience::is_over() {
  const auto now = Clock::now();
  const double passed = std::chrono::duration<double>(now - asked_).count();
  if (passed < kTurn) return false;
  asked_ = now;
  const double computed = computed_by(child_), counted = std::min(passed, kGap);
  wall_ += counted;
  if (computed > last_ + 0.001) {
    idle_ = 0;
    spent_ += std::min(passed, computed - last_);  // threads at once: no more than the time that passed
  } else if (!is_runnable(child_)) {
    idle_ += counted, spent_ += counted;
  }
  last_ = computed;
  reason_ = computed - begun_with_ > limit_ ? "computed for"
            : idle_ > limit_                ? "nothing computed for"
            : wall_ > kWall * limit_        ? "woke up now and then for 30 times"
                                            : "";
  return *reason_;
}

void Patience::start_anew() {
  begun_with_ = last_ = computed_by(child_);
  idle_ = wall_ = 0;
  asked_ = Clock::now();
}

}  // namespace conform

// isolated_run.hpp — runs code of plugins in a child process, and returns the text that it wrote, also if it ends abnormally.
//
// The child writes text to a file in memory, which the parent reads after the child has ended. The plugin's own output is
// discarded. The caller must have loaded no plugin. Throws std::system_error without a process or file.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

class Teller {
 public:
  explicit Teller(int fd) : fd_(fd) {}
  void tell(std::string_view text) const;          // written at once, so it survives the child

 private:
  const int fd_;
};

struct Told {
  std::string text;                                // text from tell()
  std::string ending;                              // "": the body returned and the process ended normally
  bool returned = false;                           // the body returned
  bool timed_out = false;                          // it was ended because its time had passed
};

constexpr double kPluginSeconds = 5;               // time limit, CPU or wall time
using Body = std::function<void(const Teller &)>;
enum class Limit { kWhole, kStep };                // seconds of the whole body; or, anew after each tell(), of a step
Told ask_apart(double seconds, const Body &, Limit = Limit::kWhole);
// One child for each body, several at a time. Of each the same as ask_apart().
std::vector<Told> ask_each_apart(double seconds, const std::vector<Body> &, Limit = Limit::kWhole);

}  // namespace tool

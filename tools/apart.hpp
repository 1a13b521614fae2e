// apart.hpp — runs code of plugins in a child process, and receives what that code found before it may have died.
//
// The child writes pieces of text into a file in memory, which the parent reads when the child has ended. What the plugin
// prints is kept apart. Each call forks once; the caller has loaded no plugin. Throws std::system_error where no process or
// file in memory is to be had.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace tool {

class Teller {
 public:
  explicit Teller(int fd) : fd_(fd) {}
  void tell(std::string_view text) const;          // written at once: it survives the death of the child

 private:
  const int fd_;
};

struct Told {
  std::string text;                                // what was told
  std::string ending;                              // "": the body returned, and the process ended as it should
  bool returned = false;                           // the body returned, whatever came then
};

constexpr double kPluginSeconds = 5;               // of computing, or of doing nothing
Told ask_apart(double seconds, const std::function<void(const Teller &)> &body);

}  // namespace tool

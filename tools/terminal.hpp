// terminal.hpp — what the command prints for people: errors in one form, colours on a terminal alone, progress of what takes long.
//
// Colours: --color=always or never says it; else (auto) they are used on a terminal, unless NO_COLOR is set or TERM is "dumb".
// Text of plugins and files is escaped by printable() before it comes here. One thread, but for Progress.
#pragma once
#include <consort/shared/printable.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tool {

using consort::shared::Newlines, consort::shared::printable;

void choose_color(const std::string &when);        // "auto", "always" or "never"

// For standard output; unchanged where no colours are used.
std::string bold(const std::string &);
std::string dim(const std::string &);
std::string green(const std::string &);
std::string yellow(const std::string &);
std::string red(const std::string &);

// "consort: TEXT" on standard error; answers the status, 1: something is wrong, 2: wrongly called.
int complain(const std::string &text, int status = 1);
void warn(const std::string &text);                // "consort: warning: TEXT"

// A line on standard error about what is being done, from its second second on, only on a terminal; gone at the end.
class Progress {
 public:
  explicit Progress(std::string doing);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void now(std::string doing);                     // another text from here on
  void clear();                                    // before something is printed

 private:
  void run();
  std::mutex mutex_;                               // guards all below
  std::condition_variable changed_;
  std::string doing_;
  bool over_ = false, shown_ = false;
  std::thread thread_;                             // runs only where standard error is a terminal
};

}  // namespace tool

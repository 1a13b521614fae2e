// terminal.hpp — terminal output of the command: errors in one form, colours on a terminal only, progress of long operations.
//
// Colours: by --color=always or never; else (auto) on a terminal, unless NO_COLOR is set or TERM is "dumb".
// Text of plugins and files must be escaped by printable() first. One thread, except for Progress.
#pragma once
#include <consort/shared/printable.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tool {

using consort::shared::Newlines, consort::shared::printable;

void choose_color(const std::string &when);        // "auto", "always" or "never"

// For standard output; unchanged without colours.
std::string bold(const std::string &);
std::string dim(const std::string &);
std::string green(const std::string &);
std::string yellow(const std::string &);
std::string red(const std::string &);

// "consort: TEXT" on standard error; returns the status, 1: a problem, 2: wrong usage.
int complain(const std::string &text, int status = 1);
void warn(const std::string &text);                // "consort: warning: TEXT"

// A progress line on standard error, after one second, only on a terminal; removed at the end.
class Progress {
 public:
  explicit Progress(std::string doing);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void now(std::string doing);                     // changes the text
  void clear();                                    // to be called before printing

 private:
  void run();
  std::mutex mutex_;                               // guards the fields below
  std::condition_variable changed_;
  std::string doing_;
  bool over_ = false, shown_ = false;
  std::thread thread_;                             // runs only if standard error is a terminal
};

}  // namespace tool

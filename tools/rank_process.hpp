// rank_process.hpp — the process of one rank: its start, its share of the cores, and how it ended.
#pragma once
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};  // signals that go on to all ranks
inline bool asks_for_end(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT; }
constexpr int kNoInput = -2;

struct RankPlace {
  uint32_t rank;
  const std::vector<int> &cores;          // of this machine; empty: not bound
  size_t nth, among;                      // its share of them: one of that many ranks here
  int in, out;                            // standard input and output; -1: as this process; kNoInput: none
};

// Runs `program` as a rank, which ends with this process. Throws if no process can be created. signals: its signal mask.
pid_t start_rank(const RankPlace &, const std::vector<std::string> &program, const sigset_t &signals);

std::runtime_error system_error(const std::string &what);  // with the text of errno
std::vector<int> own_cores();             // that this process may use
std::string this_host();                  // printable
// Of the status that waitpid() returned: "was killed by signal 9 (SIGKILL)"; the status of a shell.
std::string words_of_end(int how);
int status_of_end(int how);

}  // namespace tool

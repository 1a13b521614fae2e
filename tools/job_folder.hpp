// job_folder.hpp — the private folder in which the ranks of a job on one machine meet: its secret, what ranks publish, and
// which ranks have ended. Its process keeps it locked (flock): a folder that a killed process has left is removed by the next
// one of the same user. The kernel's side, with the names of the files: kernel/remote/folder_boot.hpp.
#pragma once
#include <string>

namespace tool {

struct JobIdentity {
  std::string name, secret;
  static JobIdentity make();              // throws if the system gives no random numbers
};

class JobFolder {
 public:
  JobFolder();                            // in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp; throws
  explicit JobFolder(const JobIdentity &);  // of a part: the job's name and secret are those of all machines
  JobFolder(const JobFolder &) = delete;
  JobFolder &operator=(const JobFolder &) = delete;
  ~JobFolder();                           // removes it
  const std::string &path() const { return path_; }
  void note_end(int rank, const std::string &how) const;  // ranks that wait for this one at the start get an error
  std::string abort_text() const;         // of a rank that asked for the end of the job; "": none did
  void write(const std::string &name, const std::string &text) const;  // throws
  std::string read(const std::string &name) const;                     // throws

 private:
  int lock_ = -1;                         // of top_; before it, as the constructor fills it
  std::string top_, path_;
};

}  // namespace tool

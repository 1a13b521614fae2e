// job_folder.hpp — the private folder in which the ranks of a job on one machine meet: its secret, what ranks publish, and
// which ranks have ended. The kernel's side, with the names of the files: kernel/remote/folder_boot.hpp.
#pragma once
#include <string>

namespace tool {

class JobFolder {
 public:
  JobFolder();                            // in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp; throws
  JobFolder(const JobFolder &) = delete;
  JobFolder &operator=(const JobFolder &) = delete;
  ~JobFolder();                           // removes it
  const std::string &path() const { return path_; }
  void note_end(int rank, const std::string &how) const;  // ranks that wait for this one at the start get an error
  std::string abort_text() const;         // of a rank that asked for the end of the job; "": none did

 private:
  void write(const std::string &name, const std::string &text) const;
  std::string path_;
};

}  // namespace tool

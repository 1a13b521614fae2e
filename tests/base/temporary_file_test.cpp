// Temporary files of a killed process are removed by the next process that writes in the folder. Files of living
// processes, and other files, stay.
#include <consort/shared/temporary_file.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace consort_test {
namespace {

using consort::shared::TemporaryFile;

struct TemporaryFiles : testing::Test, Folder {
  TemporaryFiles() : Folder("temporary") {}
};

// A child that holds a temporary file until it is killed.
struct Holder {
  pid_t child;
  std::string name;
  explicit Holder(const std::string &path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child = fork();
    if (child == 0) {
      TemporaryFile file(path);
      (void)file.write("half of a te");
      (void)!write(ends[1], file.name().data(), file.name().size());
      close(ends[1]);
      for (;;) pause();
    }
    close(ends[1]);
    char text[512];
    for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0;) name.append(text, static_cast<size_t>(n));
    close(ends[0]);
  }
  void kill_it() {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    child = 0;
  }
  ~Holder() {
    if (child > 0) kill_it();
  }
};

TEST_F(TemporaryFiles, RenameReplacesTheFileAtOnce) {
  const std::string place = *this / "kept";
  {
    TemporaryFile f(place);
    ASSERT_EQ(f.error(), 0);
    EXPECT_TRUE(f.write("old"));
    EXPECT_FALSE(std::filesystem::exists(place));
    EXPECT_TRUE(f.rename());
  }
  EXPECT_EQ(read_file(place), "old");
  {
    TemporaryFile f(place);
    EXPECT_TRUE(f.write("new, and given up"));
  }
  EXPECT_EQ(read_file(place), "old");
  EXPECT_EQ(files(), 1u) << "a file that is given up is removed";
}

TEST_F(TemporaryFiles, RemovesFilesOfKilledProcesses) {
  Holder living(*this / "a"), killed(*this / "b");
  ASSERT_TRUE(std::filesystem::exists(living.name)) << living.name;
  ASSERT_TRUE(std::filesystem::exists(killed.name)) << killed.name;
  { TemporaryFile next(*this / "c"); }
  EXPECT_TRUE(std::filesystem::exists(killed.name)) << "its process lives";
  killed.kill_it();
  EXPECT_TRUE(std::filesystem::exists(killed.name)) << "nothing removes it yet";
  { TemporaryFile next(*this / "c"); }
  EXPECT_FALSE(std::filesystem::exists(killed.name));
  EXPECT_TRUE(std::filesystem::exists(living.name)) << "its process lives";
  EXPECT_EQ(read_file(living.name), "half of a te");
}

TEST_F(TemporaryFiles, RemovesNothingElse) {
  for (const char *name : {"kept", "kept.XXXXXX", "x.unfinished-12345", "x.unfinished-1234567", "unfinished-123456"})
    std::ofstream(*this / name) << name;
  std::filesystem::create_directory(*this / "folder.unfinished-123456");
  std::filesystem::create_symlink(*this / "kept", *this / "link.unfinished-123456");
  ASSERT_EQ(mkfifo((*this / "pipe.unfinished-123456").c_str(), 0600), 0);
  std::ofstream(*this / "x.unfinished-123456") << "abandoned";
  { TemporaryFile next(*this / "kept"); }
  EXPECT_FALSE(std::filesystem::exists(*this / "x.unfinished-123456"));
  size_t left = 0;
  for (const auto &e : std::filesystem::directory_iterator(path())) left += e.exists() || e.is_symlink();
  EXPECT_EQ(left, 8u);
}

TEST_F(TemporaryFiles, AbsentFolderIsAnError) {
  TemporaryFile f(*this / "no/where");
  EXPECT_EQ(f.error(), ENOENT);
}

TEST_F(TemporaryFiles, ConcurrentWritersOfOneFolder) {
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    children.push_back(fork());
    if (children.back() == 0) {
      int failures = 0;
      for (int i = 0; i < 200; ++i) {
        TemporaryFile f(*this / ("kept" + std::to_string(i % 3)));
        failures += f.error() || !f.write(std::string(1000, 'x')) || !f.rename();
      }
      _exit(failures != 0);
    }
  }
  for (const pid_t c : children) {
    int status = -1;
    waitpid(c, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files(), 3u);
}

}  // namespace
}  // namespace consort_test

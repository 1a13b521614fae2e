// Temporary files of a killed process are removed by the next process that writes in the folder; files of living
// processes, and of anything else, stay. Both copies of the header are tested.
#include "../../kernel/temporary_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../../plugins/drivers/temporary_file.hpp"
#include "support/folder.hpp"

namespace consort_test {
namespace {

template <class T>
struct TemporaryFile : testing::Test, Folder {
  TemporaryFile() : Folder("temporary") {}
  static std::string text_of(const std::string &path) {
    std::ifstream f(path);
    return {std::istreambuf_iterator<char>(f), {}};
  }
};
using Copies = testing::Types<consort::TemporaryFile, drivers::TemporaryFile>;
TYPED_TEST_SUITE(TemporaryFile, Copies);

// A child that holds a temporary file until it is killed.
template <class T>
struct Holder {
  pid_t child;
  std::string name;
  explicit Holder(const std::string &path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child = fork();
    if (child == 0) {
      T file(path);
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

TYPED_TEST(TemporaryFile, HasItsPlaceOnlyWhenItIsWhole) {
  const std::string place = *this / "kept";
  {
    TypeParam f(place);
    ASSERT_EQ(f.error(), 0);
    EXPECT_TRUE(f.write("old"));
    EXPECT_FALSE(std::filesystem::exists(place));
    EXPECT_TRUE(f.rename());
  }
  EXPECT_EQ(this->text_of(place), "old");
  {
    TypeParam f(place);
    EXPECT_TRUE(f.write("new, and given up"));
  }
  EXPECT_EQ(this->text_of(place), "old");
  EXPECT_EQ(this->files(), 1u) << "a file that is given up is removed";
}

TYPED_TEST(TemporaryFile, FilesOfAKilledProcessAreRemovedByTheNext) {
  Holder<TypeParam> living(*this / "a"), killed(*this / "b");
  ASSERT_TRUE(std::filesystem::exists(living.name)) << living.name;
  ASSERT_TRUE(std::filesystem::exists(killed.name)) << killed.name;
  { TypeParam next(*this / "c"); }
  EXPECT_TRUE(std::filesystem::exists(killed.name)) << "its process lives";
  killed.kill_it();
  EXPECT_TRUE(std::filesystem::exists(killed.name)) << "nothing removes it yet";
  { TypeParam next(*this / "c"); }
  EXPECT_FALSE(std::filesystem::exists(killed.name));
  EXPECT_TRUE(std::filesystem::exists(living.name)) << "its process lives";
  EXPECT_EQ(this->text_of(living.name), "half of a te");
}

TYPED_TEST(TemporaryFile, RemovesNothingElse) {
  for (const char *name : {"kept", "kept.XXXXXX", "x.unfinished-12345", "x.unfinished-1234567", "unfinished-123456"})
    std::ofstream(*this / name) << name;
  std::filesystem::create_directory(*this / "folder.unfinished-123456");
  std::filesystem::create_symlink(*this / "kept", *this / "link.unfinished-123456");
  ASSERT_EQ(mkfifo((*this / "pipe.unfinished-123456").c_str(), 0600), 0);
  std::ofstream(*this / "x.unfinished-123456") << "abandoned";
  { TypeParam next(*this / "kept"); }
  EXPECT_FALSE(std::filesystem::exists(*this / "x.unfinished-123456"));
  size_t left = 0;
  for (const auto &e : std::filesystem::directory_iterator(this->path())) left += e.exists() || e.is_symlink();
  EXPECT_EQ(left, 8u);
}

TYPED_TEST(TemporaryFile, AFolderThatIsNotThereIsAnError) {
  TypeParam f(*this / "no/where");
  EXPECT_EQ(f.error(), ENOENT);
}

TYPED_TEST(TemporaryFile, ManyWritersOfOneFolderDoNotDisturbOneAnother) {
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    children.push_back(fork());
    if (children.back() == 0) {
      int failures = 0;
      for (int i = 0; i < 200; ++i) {
        TypeParam f(*this / ("kept" + std::to_string(i % 3)));
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
  EXPECT_EQ(this->files(), 3u);
}

}  // namespace
}  // namespace consort_test

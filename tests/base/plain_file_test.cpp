// Files that are read: a special file, or one that is too large, is refused at once with a message.
#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/cache_file.hpp"
#include "support/folder.hpp"

namespace consort {
namespace {

using shared::PlainFile;

struct PlainFiles : ::testing::Test {
  consort_test::Folder folder{"plain"};
  std::string file(const char *name, const std::string &text) const {
    std::ofstream(folder / name) << text;
    return folder / name;
  }
  std::string pipe() const {
    EXPECT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    return folder / "pipe";
  }
};

TEST_F(PlainFiles, ReadsText) {
  const PlainFile f(file("a", "one\ntwo\n").c_str(), 100);
  ASSERT_TRUE(f) << f.why();
  EXPECT_EQ(f.bytes(), 8u);
  std::string text, why;
  ASSERT_TRUE(f.read(&text, &why)) << why;
  EXPECT_EQ(text, "one\ntwo\n");
}

TEST_F(PlainFiles, ReadsEmptyFiles) {
  const PlainFile f(file("a", "").c_str(), 0);
  ASSERT_TRUE(f) << f.why();
  std::string text = "old", why;
  ASSERT_TRUE(f.read(&text, &why)) << why;
  EXPECT_EQ(text, "");
}

TEST_F(PlainFiles, RefusesSpecialFilesWithoutWaiting) {
  for (const std::string &odd : {pipe(), folder.path(), std::string("/dev/zero"), std::string("/dev/null"), std::string("/dev/full")}) {
    const PlainFile f(odd.c_str(), PlainFile::kAnySize);
    EXPECT_FALSE(f) << odd;
    EXPECT_FALSE(f.absent()) << odd;
    EXPECT_EQ(f.why(), "is not a plain file") << odd;
  }
  const std::string socket = folder / "socket";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, socket.c_str());
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  const PlainFile f(socket.c_str(), PlainFile::kAnySize);
  EXPECT_FALSE(f);
  EXPECT_NE(f.why(), "");
  ::close(fd);
}

TEST_F(PlainFiles, DistinguishesAbsentFiles) {
  for (const std::string &name : {folder / "none", file("a", "") + "/below"}) {
    const PlainFile f(name.c_str(), 100);
    EXPECT_FALSE(f);
    EXPECT_TRUE(f.absent()) << name << " " << f.why();
  }
}

TEST_F(PlainFiles, LimitsTheSize) {
  const std::string name = file("large", "");
  ASSERT_EQ(::truncate(name.c_str(), 5 << 20), 0);
  const PlainFile f(name.c_str(), 4 << 20);
  EXPECT_FALSE(f);
  EXPECT_EQ(f.why(), "is larger than 4 MiB: is it the right file?");
  EXPECT_FALSE(PlainFile(file("small", "12345").c_str(), 4));
}

// dlopen() and dlmopen() open any path, and wait.
TEST_F(PlainFiles, RefusesSpecialFilesAsLibraries) {
  for (const std::string &odd : {pipe(), folder.path(), std::string("/dev/zero")}) {
    EXPECT_EQ(::dlopen(shared::LibraryName(odd.c_str()), RTLD_NOW | RTLD_LOCAL), nullptr) << odd;
    EXPECT_EQ(::dlmopen(LM_ID_NEWLM, shared::LibraryName(odd.c_str()), RTLD_NOW | RTLD_LOCAL), nullptr) << odd;
  }
  EXPECT_STREQ(shared::LibraryName("libm.so.6"), "libm.so.6") << "a name that the loader looks for";
  EXPECT_EQ(std::string(shared::LibraryName(file("lib.so", "x").c_str())), folder / "lib.so");
}

TEST_F(PlainFiles, CacheFileMayNotBeAPipe) {
  std::string text, why;
  EXPECT_EQ(CacheFile::read_any(pipe(), "models", 1, &text, &why), CacheFile::State::kUnusable);
  EXPECT_EQ(why, "it is not a plain file");
  EXPECT_EQ(CacheFile::read_any(folder / "none", "models", 1, &text, &why), CacheFile::State::kAbsent);
}

}  // namespace
}  // namespace consort

// consort.boot/1 by a folder: keys of other ranks, fences, limits of time, folders that others may read.
#include "remote/folder_boot.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/clock.hpp"
#include "base/last_error.hpp"
#include "support/folder.hpp"

namespace {

using namespace consort;

constexpr uint64_t kSecond = 1'000'000'000;

class FolderBootTest : public ::testing::Test {
 protected:
  void SetUp() override { write("secret", "0123456789abcdef"); }
  void write(const std::string &name, const std::string &text, mode_t mode = 0600) const {
    std::ofstream(folder_ / name) << text;
    chmod((folder_ / name).c_str(), mode);
  }
  std::unique_ptr<FolderBoot> boot(uint32_t rank, uint32_t ranks) const {
    auto opened = FolderBoot::open(clock_, folder_.path(), rank, ranks);
    EXPECT_TRUE(opened) << opened.error().text;
    return opened ? std::move(*opened) : nullptr;
  }
  std::string refusal() const {
    auto opened = FolderBoot::open(clock_, folder_.path(), 0, 2);
    return opened ? "" : opened.error().text;
  }
  uint64_t in(uint64_t ns) const { return clock_.now() + ns; }

  const Clock clock_{false, 1};
  const consort_test::Folder folder_{"boot"};
};

TEST_F(FolderBootTest, KeyOfAnotherRankIsFound) {
  const auto a = boot(0, 2), b = boot(1, 2);
  char text[16];
  uint32_t n = sizeof text;
  ASSERT_EQ(a->put("an odd/../key", "hello", 5), CONSORT_OK) << error_text();
  ASSERT_EQ(b->get(0, "an odd/../key", text, &n, in(kSecond)), CONSORT_OK) << error_text();
  EXPECT_EQ(std::string(text, n), "hello");
  n = 2;
  EXPECT_EQ(b->get(0, "an odd/../key", text, &n, in(kSecond)), CONSORT_E_TRUNCATED);
  EXPECT_EQ(n, 5u);
}

TEST_F(FolderBootTest, WaitsForTheKey) {
  const auto a = boot(0, 2), b = boot(1, 2);
  std::thread later([&] { EXPECT_EQ(a->put("k", "v", 1), CONSORT_OK); });
  char text[16];
  uint32_t n = sizeof text;
  EXPECT_EQ(b->get(0, "k", text, &n, in(60 * kSecond)), CONSORT_OK) << error_text();
  later.join();
  n = sizeof text;
  EXPECT_EQ(b->get(0, "other", text, &n, in(kSecond / 100)), CONSORT_E_TIMEOUT);
  EXPECT_STREQ(error_text(), "rank 0 has not joined the job in time");
}

TEST_F(FolderBootTest, FenceWaitsForAllRanks) {
  const auto a = boot(0, 3), b = boot(1, 3), c = boot(2, 3);
  EXPECT_EQ(a->fence(in(kSecond / 100)), CONSORT_E_TIMEOUT);
  std::thread one([&] { EXPECT_EQ(b->fence(in(60 * kSecond)), CONSORT_OK) << error_text(); });
  EXPECT_EQ(c->fence(in(60 * kSecond)), CONSORT_OK) << error_text();
  one.join();
}

TEST_F(FolderBootTest, RankThatHasEndedIsToldAtOnce) {
  const auto a = boot(0, 2);
  write("1.ended", "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(a->fence(in(60 * kSecond)), CONSORT_E_PEER_LOST);
  EXPECT_STREQ(error_text(), "rank 1 was killed by signal 9 (SIGKILL) before it joined the job");
}

TEST_F(FolderBootTest, DescribesTheJob) {
  const auto b = boot(1, 2);
  consort_boot d{};
  b->describe(d);
  EXPECT_EQ(d.rank, 1u);
  EXPECT_EQ(d.nranks, 2u);
  EXPECT_EQ(std::string(d.job), folder_.path().substr(5));
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(d.secret), d.nsecret), "0123456789abcdef");
  EXPECT_EQ(d.host_id, host_number());
}

TEST_F(FolderBootTest, FoldersAndSecretsThatOthersMayReadAreRefused) {
  EXPECT_EQ(refusal(), "");
  chmod((folder_ / "secret").c_str(), 0640);
  EXPECT_NE(refusal().find("another user may read the file \"secret\""), std::string::npos) << refusal();
  write("secret", "short");
  EXPECT_NE(refusal().find("less than 16 bytes"), std::string::npos) << refusal();
  write("secret", "0123456789abcdef");
  chmod(folder_.path().c_str(), 0750);
  EXPECT_NE(refusal().find("another user may read or change it"), std::string::npos) << refusal();
  chmod(folder_.path().c_str(), 0700);
  remove((folder_ / "secret").c_str());
  EXPECT_NE(refusal().find("no file \"secret\""), std::string::npos) << refusal();
}

TEST_F(FolderBootTest, FilesThatOthersMayWriteAreNotRead) {
  const auto a = boot(0, 2);
  write("1.k", "v", 0666);
  char text[4];
  uint32_t n = sizeof text;
  EXPECT_EQ(a->get(1, "k", text, &n, in(kSecond)), CONSORT_E_IO) << error_text();
}

}  // namespace

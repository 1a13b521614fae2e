// The text of stored models. What is written is read again, damaged lines are refused with their words, and the name of
// a file is safe.
#include "model/model_file.hpp"

#include <consort/model.h>
#include <gtest/gtest.h>

namespace consort {
namespace {

StoredModel sample() {
  StoredModel m;
  m.machine = "node1 x86_64";
  m.name = "gemm";
  m.what = CONSORT_MODEL_TIME;
  m.impls = {{"cpu", "plain"}, {"gpu", "tiled"}};
  m.cells.push_back({"cpu", "zen4", 0, 0x1234, 4096, 70, 2, {1000, 1010, 990}});
  m.cells.push_back({"gpu", "h100", 1, 0x1234, 4096, 9, 0, {80, 81}, {64, 64}});
  return m;
}
std::string body_error(const StoredModel &head, std::string_view text) {
  StoredModel m;
  EXPECT_TRUE(m.read_about(head.about()));
  const auto r = m.read_body(text);
  return r ? "" : r.error().text;
}

TEST(StoredModelText, IsReadAsWritten) {
  const StoredModel m = sample();
  const std::string text = m.about() + m.body();
  StoredModel read;
  const auto head = read.read_about(text);
  ASSERT_TRUE(head);
  ASSERT_TRUE(read.read_body(std::string_view(text).substr(*head)));
  EXPECT_EQ(read.machine, m.machine);
  EXPECT_EQ(read.name, m.name);
  EXPECT_EQ(read.what, m.what);
  ASSERT_EQ(read.impls.size(), 2u);
  EXPECT_EQ(read.impls[1].name, "tiled");
  ASSERT_EQ(read.cells.size(), 2u);
  EXPECT_EQ(read.cells[0].footprint, 0x1234u);
  EXPECT_EQ(read.cells[0].count, 70u);
  EXPECT_EQ(read.cells[0].outliers, 2u);
  EXPECT_EQ(read.cells[0].samples, m.cells[0].samples);
  EXPECT_TRUE(read.cells[0].at.empty());
  EXPECT_EQ(read.cells[1].arch, "h100");
  EXPECT_EQ(read.cells[1].impl, 1u);
  EXPECT_EQ(read.cells[1].at, m.cells[1].at);
}

TEST(StoredModelText, ControlCharactersDoNotBreakLines) {
  StoredModel m = sample();
  m.name = "two\nlines";
  m.impls[0].name = "with\ttab";
  StoredModel read;
  ASSERT_TRUE(read.read_about(m.about()));
  EXPECT_EQ(read.name, "two?lines");
  EXPECT_EQ(read.impls[0].name, "with?tab");
}

TEST(StoredModelText, DamagedLinesAreRefused) {
  const StoredModel m = sample();
  const std::string unit = "unit cpu\tzen4\n", line = "0000000000001234\t4096\t0\t2\t0\t1\t0\t1 2";
  EXPECT_EQ(body_error(m, unit + line + "\n"), "");
  EXPECT_EQ(body_error(m, line + "\n"), "its line \"" + line + "\" is no measurement") << "of no unit";
  for (const char *bad : {"0\t4096\t0\t2\t0\t1\t0\t1 2",                    // no footprint
                          "1234\t4096\t2\t2\t0\t1\t0\t1 2",                 // an implementation that is not there
                          "1234\t4096\t0\t1\t0\t1\t0\t1 2",                 // more samples than measurements
                          "1234\t4096\t0\t2\t0\t1\t0\t1 -2",                // a time below 0
                          "1234\t4096\t0\t2\t0\t1\t0\t1 nan", "1234\t4096\t0\t2\t0\t1\t0"})
    EXPECT_NE(body_error(m, unit + bad + "\n"), "") << bad;
}

TEST(StoredModelText, HeadOfAnotherFormIsRefused) {
  for (const char *bad : {"", "machine m\nmodel \nmeasures ns\n", "machine m\nmodel g\nmeasures s\n",
                          "machine m\nmodel g\nmeasures ns\nimplementation cpu\n"}) {
    StoredModel m;
    const auto r = m.read_about(bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_NE(r.error().text.find("is none of its head"), std::string::npos);
  }
}

TEST(StoredModelText, FileNamesAreSafeAndDistinct) {
  StoredModel m = sample(), other = sample();
  m.name = "../up/my codelet";
  EXPECT_EQ(m.file_name().find('/'), std::string::npos);
  EXPECT_TRUE(m.file_name().starts_with("___up_my_codelet-"));
  other.impls[1].name = "blocked";
  EXPECT_NE(other.file_name(), sample().file_name()) << "other implementations, another file";
}

TEST(StoredModelText, ImportedModelStandsForEveryUnit) {
  const StoredModel m = StoredModel::brought("node1", "gemm", CONSORT_MODEL_ENERGY);
  EXPECT_TRUE(m.is_brought());
  EXPECT_FALSE(sample().is_brought());
  EXPECT_EQ(m.impls.size(), StoredModel::kBroughtImpls);
  EXPECT_NE(m.about().find("measures uJ\n"), std::string::npos);
}

}  // namespace
}  // namespace consort

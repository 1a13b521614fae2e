// file_main.cpp — main() of the test programs that hold several files. `--of NAME` runs the tests of the file
// NAME_test.cpp alone, in a process of their own, as ctest does. Without it all tests of the program run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

// A filter with the tests of the file, empty if there is no such file.
std::string tests_of(const std::string &file) {
  std::string filter;
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite &suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo &test = *suite.GetTestInfo(t);
      const std::string path = test.file();
      if (path.substr(path.rfind('/') + 1) != file) continue;
      filter += std::string(filter.empty() ? "" : ":") + suite.name() + "." + test.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && !std::strcmp(argv[1], "--of")) {
    const std::string given = GTEST_FLAG_GET(filter);  // of GTEST_FILTER: what it leaves out stays out
    std::string filter = tests_of(std::string(argv[2]) + "_test.cpp");
    if (filter.empty()) return std::fprintf(stderr, "no tests of a file %s_test.cpp here\n", argv[2]), 2;
    if (given.find('-') != given.npos) filter += given.substr(given.find('-'));
    GTEST_FLAG_SET(filter, filter);
  } else if (argc > 1) {
    return std::fprintf(stderr, "usage: %s [--of FILE] [options of GoogleTest]\n", argv[0]), 2;
  }
  return RUN_ALL_TESTS();
}

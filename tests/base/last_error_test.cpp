// The last error of a thread: its own buffer, made by the first error.
#include "base/last_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace consort {
namespace {

TEST(LastError, KeepsLongTexts) {
  const std::string text(kErrorBytes - 1, 'x');
  EXPECT_EQ(set_error(CONSORT_E_IO, text), CONSORT_E_IO);
  EXPECT_EQ(error_text(), text);
  EXPECT_EQ(set_error(CONSORT_E_IO, text + "more"), CONSORT_E_IO);
  EXPECT_EQ(error_text(), text) << "cut where the buffer ends";
}

TEST(LastError, OfAThreadWithoutErrorsIsEmpty) {
  set_error(CONSORT_E_IO, "of this thread");
  std::string seen = "unset";
  std::thread([&] {
    clear_error();
    seen = error_text();
    const LastError nothing;
    seen += nothing.text();
  }).join();
  EXPECT_EQ(seen, "");
  EXPECT_STREQ(error_text(), "of this thread");
}

TEST(LastError, MayBeMadeOfItself) {
  set_error(CONSORT_E_IO, "disk");
  set_error(CONSORT_E_IO, error_text());
  EXPECT_STREQ(error_text(), "disk");
  set_errorf(CONSORT_E_IO, "because of %s", error_text());
  EXPECT_STREQ(error_text(), "because of disk");
}

TEST(LastError, IsRestored) {
  set_error(CONSORT_E_IO, "first");
  const LastError first;
  set_error(CONSORT_E_NOMEM, "second");
  EXPECT_EQ(first.restore(CONSORT_E_IO), CONSORT_E_IO);
  EXPECT_STREQ(error_text(), "first");
}

}  // namespace
}  // namespace consort

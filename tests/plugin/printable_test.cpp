// Text for a terminal and a log: control characters, direction overrides and broken UTF-8 are escaped; all else stays.
#include <consort/shared/printable.hpp>

#include <gtest/gtest.h>

#include <string>

#include "base/last_error.hpp"
#include "plugin/host.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

using shared::is_printable, shared::make_printable, shared::Newlines, shared::printable;

TEST(Printable, KeepsPlainText) {
  for (const char *text : {"", "plain", "größe → 1 µs, 𝄞", "back\\slash \"quoted\""}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b") << "the control sequence introducer of C1";
  EXPECT_EQ(printable("\xe2\x80\xaexe.txt"), "\\u202exe.txt") << "a direction override";
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("a\nb\x07", Newlines::kKeep), "a\nb\\x07");
}

TEST(Printable, EscapesBrokenUtf8ByBytes) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80") << "longer than need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\x9b"), "\\x9b");
}

TEST(Printable, IsIdempotent) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string once = printable(all);
  EXPECT_TRUE(is_printable(once));
  EXPECT_EQ(printable(once), once);
}

TEST(Printable, FillsBuffersWithWholeEscapes) {
  char out[8];
  for (size_t room = 0; room <= sizeof out; ++room) {
    const size_t n = make_printable("\x1b\x1b", out, room);
    EXPECT_EQ(n, room / 4 * 4) << room;
    EXPECT_EQ(std::string(out, n), std::string("\\x1b\\x1b").substr(0, n));
  }
}

TEST(Printable, LogLinesAndErrorsAreEscaped) {
  std::string line;
  const Log log{[](void *user, int32_t, const char *utf8) { *static_cast<std::string *>(user) = utf8; }, &line, kLogDebug};
  log.write(kLogWarn, "plugin \x1b[2J: first\nsecond");
  EXPECT_EQ(line, "plugin \\x1b[2J: first\nsecond");
  const Host host({}, log, nullptr, "mine");
  host.table()->log(host.table(), kLogWarn, "x\nconsort error: forged\x1b[0m");
  EXPECT_EQ(line, "mine: x\\nconsort error: forged\\x1b[0m") << "a plugin writes one line";
  EXPECT_EQ(host.table()->fail(host.table(), CONSORT_E_IO, "a\x1b\nb"), CONSORT_E_IO);
  EXPECT_STREQ(error_text(), "a\\x1b\\nb");
  set_error(CONSORT_E_IO, "c\x1b\nd");
  EXPECT_STREQ(error_text(), "c\\x1b\nd");
}

TEST(PluginStatus, UnknownCodesBecomeInternal) {
  for (consort_status s = CONSORT_E_STOPPED; s <= CONSORT_OK; ++s) EXPECT_EQ(plugin_status(s, "mine", "open()"), s);
  for (const consort_status s : {CONSORT_E_STOPPED - 1, -77, INT32_MIN, int32_t{CONSORT_AGAIN}, 5}) {
    set_error(CONSORT_E_IO, "no such device");
    EXPECT_EQ(plugin_status(s, "mine", "open()"), CONSORT_E_INTERNAL);
    EXPECT_EQ(std::string(error_text()), "plugin \"mine\": open() answered " + std::to_string(s) +
                                             ", which is no status of Consort: answer CONSORT_OK or a CONSORT_E_ value; it said: no such device");
  }
}

}  // namespace
}  // namespace consort

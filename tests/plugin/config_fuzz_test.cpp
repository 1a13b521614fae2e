// Configuration texts with damage, by the thousand: each is taken or refused in one line that names a place.
// A few seconds; with CONSORT_FULL=1 about half a minute.
#include <random>

#include "base/clock.hpp"
#include "base/suggestion.hpp"
#include "loader_support.hpp"
#include "plugin/config_file.hpp"
#include "plugin/config_value.hpp"

namespace consort {
namespace {

const uint64_t kNs = getenv("CONSORT_FULL") ? 20'000'000'000 : 1'500'000'000;

constexpr std::string_view kSeed =
    "# a comment\nscheduler = \"lws\"\ndrivers = [\"cpu\", \"^sim\"]\nwindow = 1_000\nspin_us = 0x10\nprofile = true\n"
    "[lws]\ndepth = 64\nratio = 0.5\nname = '''raw\ntext'''\nwho = { a = 1, b = [1, 2.5, \"x\"] }\n[a.b.\"c d\"]\nx = "
    "1979-05-27\n[[t]]\ny = \"\\u00e9\"\n";
constexpr std::string_view kPieces[] = {"[",
                                        "]",
                                        "{",
                                        "}",
                                        "=",
                                        "\"",
                                        "'''",
                                        "\"\"\"",
                                        ".",
                                        ",",
                                        "\n",
                                        "#",
                                        "\\",
                                        "\\u",
                                        "\xff",
                                        "\xed\xa0\x80", "\xc3\xa9", "\xe2\xb4\xb0",
                                        "1e999",
                                        "-",
                                        "nan",
                                        "inf",
                                        "0x",
                                        "99999999999999999999",
                                        "true",
                                        "[[",
                                        "lws.depth = 3\n",
                                        std::string_view("\0", 1)};
constexpr consort_param kParams[] = {
    {"depth", "u32", "64", "1..1024", ""}, {"ratio", "f64", "0.5", "0..1", ""}, {"name", "string", "", nullptr, ""}};

std::string damaged(std::mt19937_64 &random) {
  std::string text(kSeed);
  const auto pick = [&](uint64_t n) { return static_cast<size_t>(random() % n); };
  for (size_t n = 1 + pick(6); n > 0 && !text.empty(); --n) {
    const size_t at = pick(text.size());
    switch (pick(5)) {
      case 0: text.insert(at, kPieces[pick(std::size(kPieces))]); break;
      case 1: text.erase(at, 1 + pick(12)); break;
      case 2: text[at] = static_cast<char>(random()); break;
      case 3: text.insert(at, text.substr(pick(text.size()), pick(40))); break;
      default: text.resize(at);
    }
  }
  return text;
}

void one_line(const Error &e, uint64_t seed) {
  ASSERT_EQ(e.status, CONSORT_E_INVAL) << seed;
  ASSERT_FALSE(e.text.empty()) << seed;
}

TEST(ConfigFuzz, DamagedTexts) {
  const uint64_t end = Clock(false, 0).now() + kNs;
  uint64_t seed = 1, taken = 0;
  for (; Clock(false, 0).now() < end; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text = damaged(random);
    auto lines = read_toml(text, "file x");
    if (!lines) {
      one_line(lines.error(), seed);
      ASSERT_EQ(lines.error().text.find("file x:"), 0u) << seed << ": " << lines.error().text;
    }
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.text = text.c_str();
    auto c = Config::load(&s);
    if (!c) {
      one_line(c.error(), seed);
    } else {
      ++taken;
      auto declared = (*c)->declare("lws", kParams, std::size(kParams));
      if (!declared) one_line(declared.error(), seed);
      else ASSERT_NE((*c)->param("lws", "depth"), nullptr) << seed;
      (void)(*c)->check_unused();
      (void)(*c)->entries();
    }
    if (HasFatalFailure()) return;
  }
  std::printf("%llu texts, %llu taken\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(taken));
  EXPECT_GT(seed, 100u);
}

TEST(ConfigFuzz, DeepNesting) {
  for (const char *piece : {"[", "{a=", "a=["}) {
    std::string text = "x = ";
    for (int i = 0; i < 100000; ++i) text += piece;
    EXPECT_FALSE(read_toml(text, "text"));
  }
  std::string dotted = "x";
  for (int i = 0; i < 2000; ++i) dotted += ".y";
  (void)read_toml(dotted + " = 1", "text");
}

TEST(ConfigFuzz, ArbitraryValues) {
  constexpr std::string_view types[] = {"bool", "i32", "i64", "u32", "u64", "f64", "string", "list", "other", ""};
  constexpr std::string_view ranges[] = {"",  "..",    "1..",      "..1",  "1..2..3",  "a|b",
                                         "|", "-5..5", "0x1..0x2", "x..y", "1e3..1e4", "99999999999999999999..1"};
  constexpr std::string_view letters = "0123456789+-.eExX_ ,|abftruelsno\t\xc3\xa9";
  const uint64_t end = Clock(false, 0).now() + kNs / 4;
  for (uint64_t seed = 1; Clock(false, 0).now() < end; ++seed) {
    std::mt19937_64 random(seed);
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) text += letters[random() % letters.size()];
    const auto type = types[random() % std::size(types)];
    const auto range = ranges[random() % std::size(ranges)];
    (void)check_type(type, range);
    auto v = read_value(text, type, range);
    if (!v) continue;
    auto again = read_value(v->text, type, range);  // canonical text reads as itself
    ASSERT_TRUE(again) << seed << ": " << text << " -> " << v->text;
    ASSERT_EQ(again->text, v->text) << seed;
    ASSERT_EQ(again->number, v->number) << seed;
    (void)nearest(text, {"depth", "window", v->text});
  }
}

}  // namespace
}  // namespace consort

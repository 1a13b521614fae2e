// A setting's value, by type and range. Input: a byte for the type, a byte for the range, a text.
#include "fuzz.hpp"
#include "kernel/base/suggestion.hpp"
#include "kernel/plugin/config_value.hpp"
#include "plugins/drivers/streams/settings.hpp"

using namespace consort;

namespace {

constexpr std::string_view kTypes[] = {"bool", "i32", "i64", "u32", "u64", "f64", "string", "list", "other", ""};
constexpr std::string_view kRanges[] = {"",      "..",       "1..",  "..1",      "1..2..3",                "a|b",
                                        "-5..5", "0x1..0x2", "x..y", "1e3..1e4", "99999999999999999999..1"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  const std::string_view type = kTypes[in.below(std::size(kTypes))];
  const uint32_t which = in.below(std::size(kRanges) + 1);
  const fuzz::Copy range(which < std::size(kRanges) ? kRanges[which] : in.line()), text(in.rest());
  const std::string_view r(range.data(), range.size()), t(text.data(), text.size());
  if (const auto fine = check_type(type, r); !fine) fuzz::expect_refusal(fine.error().status, fine.error().text);
  for (const Written w : {Written::kText, Written::kInteger, Written::kReal, Written::kTruth, Written::kArray})
    if (const auto fine = check_written(w, t, type, r, true); !fine) fuzz::expect_refusal(fine.error().status, fine.error().text);
  if (auto v = read_value(t, type, r); !v) {
    fuzz::expect_refusal(v.error().status, v.error().text);
  } else {
    auto again = read_value(v->text, type, r);
    fuzz::expect(again && again->text == v->text && again->number == v->number, "a value that was read reads as itself", v->text);
  }
  (void)nearest(t, {"depth", "window", std::string(r)});
  (void)streams::as_key(std::string(t));
  uint64_t bytes = 0;
  (void)streams::parse_bytes(std::string(t), &bytes);
  (void)streams::chosen(streams::split(std::string(t)), 3, "Some Device 16GB");
  return 0;
}

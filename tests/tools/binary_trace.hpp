// binary_trace.hpp — writes the file of a trace by hand (docs/trace.md).
#pragma once
#include <consort/shared/little_endian.hpp>
#include <consort/shared/trace_format.hpp>

#include <string>
#include <vector>

namespace consort_test {

class BinaryTrace {
 public:
  BinaryTrace() { lines(std::string(consort::shared::trace_format::kLayouts)); }

  void lines(std::string text) {
    text.resize((text.size() + 7) / 8 * 8, '\n');
    chunk(consort::shared::trace_format::kLines, text);
  }
  void point(uint64_t ticks, uint64_t ns) { chunk(consort::shared::trace_format::kClock, words({ticks, ns})); }
  // ticks 32 bits long, as most runs are
  void run(uint32_t worker, uint64_t task, uint64_t begin, uint32_t took, uint32_t codelet) {
    record(1, {worker, task, begin, uint64_t{codelet} << 32 | took});
  }
  void failed_run(uint32_t worker, uint64_t task, uint64_t begin, uint64_t end, uint32_t codelet, int32_t status, int64_t expected) {
    record(3, {worker, task, begin, end, uint64_t{static_cast<uint32_t>(status)} << 32 | codelet, static_cast<uint64_t>(expected)});
  }
  // first: the 32 bits behind the head; then words
  void record(uint16_t type, const std::vector<uint64_t> &fields) {
    std::string all;
    consort::shared::append_little(all, type, 2);
    consort::shared::append_little(all, fields.size(), 2);
    consort::shared::append_little(all, fields[0], 4);
    all += words({fields.begin() + 1, fields.end()});
    chunk(consort::shared::trace_format::kEvents, all);
  }
  void chunk(uint32_t kind, const std::string &payload) {
    for (const uint64_t n : {uint64_t{consort::shared::trace_format::kMark}, uint64_t{kind}, uint64_t{payload.size()}, uint64_t{0}})
      consort::shared::append_little(bytes_, n, 4);
    bytes_ += payload;
  }
  const std::string &bytes() const { return bytes_; }
  std::string ended(uint64_t lost = 0) const {
    BinaryTrace whole = *this;
    whole.chunk(consort::shared::trace_format::kEnd, words({lost}));
    return whole.bytes_;
  }

 private:
  static std::string words(const std::vector<uint64_t> &all) {
    std::string text;
    for (const uint64_t n : all) consort::shared::append_little(text, n, 8);
    return text;
  }
  std::string bytes_{consort::shared::trace_format::kFirstLine};
};

}  // namespace consort_test

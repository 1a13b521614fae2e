// pipeline — a stream of items through stages, several items in flight. Each item uses one of a few buffers: how many
// there are bounds how many are in flight, since an item waits for its buffer like any task for its datum. A stage with
// a state of its own takes the items one at a time and in order, because each task of it reads and writes that state;
// the stage without (sort) works on several items at once. Prints the number of items and the stream's checksum.
#include "../example.hpp"

#include <algorithm>
#include <span>

namespace {

using consort::read, consort::readwrite, consort::write;
using Item = std::span<uint64_t>;

uint64_t next(uint64_t &x) { return x = x * 6364136223846793005u + 1442695040888963407u; }

const consort::Codelet produce{"produce", consort::cpu([](uint64_t &seed, Item item) {
                                 for (uint64_t &e : item) e = next(seed) >> 32;
                               })};
const consort::Codelet order{"sort", consort::cpu([](Item item) { std::sort(item.begin(), item.end()); })};
const consort::Codelet consume{"consume", consort::cpu([](std::span<const uint64_t> item, uint64_t &sum) {
                                 for (const uint64_t e : item)
                                   sum = sum * 31 + e;  // another order of items, or within one, gives another sum
                               })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv,
                              {{"items", 1000, "items of the stream"},
                               {"length", 1000, "numbers per item"},
                               {"flight", 4, "items in flight at most"}});
  const size_t items = size["items"], length = size["length"], flight = size["flight"];
  uint64_t seed = 1, sum = 0;
  {
    consort::Runtime rt(size.settings());
    const auto source = rt.variable(seed, "source"), sink = rt.variable(sum, "sink");
    std::vector<consort::Data<Item>> buffers;
    for (size_t b = 0; b < flight; ++b)
      buffers.push_back(rt.vector<uint64_t>(length, "buffer"));  // the runtime's memory
    for (size_t i = 0; i < items; ++i) {
      const auto &buffer = buffers[i % flight];
      rt.submit(produce, readwrite(source), write(buffer));
      rt.submit(order, readwrite(buffer));
      rt.submit({.priority = 1}, consume, read(buffer), readwrite(sink));  // what frees a buffer goes first
    }
    rt.wait();
  }

  uint64_t own_seed = 1, expected = 0;
  std::vector<uint64_t> item(length);
  for (size_t i = 0; i < items; ++i) {
    for (uint64_t &e : item) e = next(own_seed) >> 32;
    std::sort(item.begin(), item.end());
    for (const uint64_t e : item) expected = expected * 31 + e;
  }
  return example::end(sum == expected, "pipeline: %zu items of %zu numbers, %zu in flight, checksum %016llx", items,
                      length, flight, static_cast<unsigned long long>(sum));
} catch (const std::exception &e) {
  return example::failed(e);
}

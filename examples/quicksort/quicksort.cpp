// quicksort — tasks that submit tasks, and one wait for all of them. A task splits its range and submits two more,
// which belong to its own group without a word: the program waits for the group, not for tasks that it has never heard
// of. No data are registered: ranges of different tasks do not overlap, so there is no order to infer. Prints how many
// numbers were sorted by how many tasks.
#include "../example.hpp"

#include <algorithm>
#include <array>

namespace {

struct Sorter {
  consort::Runtime &rt;
  size_t grain;  // ranges as short as this are sorted by the task itself

  void operator()(uint32_t *begin, uint32_t *end) const;
};

// An argument is copied as bytes, so the sorter travels by its address; it outlives the tasks.
const consort::Codelet quicksort{
    "quicksort", consort::cpu([](const Sorter *sorter, uint32_t *begin, uint32_t *end) { (*sorter)(begin, end); })};

void Sorter::operator()(uint32_t *begin, uint32_t *end) const {
  const size_t n = static_cast<size_t>(end - begin);
  if (n <= grain) return std::sort(begin, end);
  std::array<uint32_t, 3> some{begin[0], begin[n / 2], end[-1]};
  std::sort(some.begin(), some.end());
  const uint32_t pivot = some[1];
  uint32_t *const less = std::partition(begin, end, [=](uint32_t e) { return e < pivot; });
  uint32_t *const more = std::partition(less, end, [=](uint32_t e) { return e == pivot; });
  if (less - begin > 1) rt.submit(quicksort, this, begin, less);
  if (end - more > 1) rt.submit(quicksort, this, more, end);
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 1 << 20, "numbers"}, {"grain", 4096, "numbers that one task sorts"}});
  const size_t n = size["n"];
  std::vector<uint32_t> v(n);
  uint64_t x = 1;
  for (uint32_t &e : v) e = static_cast<uint32_t>((x = x * 6364136223846793005u + 1442695040888963407u) >> 40);
  std::vector<uint32_t> expected = v;

  consort::Runtime rt(size.settings());
  const Sorter sorter{rt, size["grain"]};
  consort::Group sorting = rt.group("sorting");
  rt.submit({.group = sorting}, quicksort, &sorter, v.data(), v.data() + n);
  sorting.wait();  // for the first task, those it submitted, those they submitted …

  std::sort(expected.begin(), expected.end());
  return example::end(v == expected, "quicksort: %zu numbers sorted by %llu tasks", n,
                      static_cast<unsigned long long>(rt.info().submitted));
} catch (const std::exception &e) {
  return example::failed(e);
}

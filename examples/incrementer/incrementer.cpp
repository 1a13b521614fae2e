// incrementer — the smallest chain: many tasks that each add one to the same variable. The
// program declares no dependencies: each task reads and writes the variable, so it follows the one before. Prints the sum
// halfway and at the end.
#include "../example.hpp"

namespace {

const consort::Codelet increment{"increment", consort::cpu([](long &x) { ++x; })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 10000, "tasks"}});
  const size_t n = size["n"];
  consort::Runtime rt(size.settings());
  long value = 0;
  const auto x = rt.variable(value, "x");

  for (size_t i = 0; i < n / 2; ++i) rt.submit(increment, consort::readwrite(x));
  auto half = x.read();  // as a task would: after the tasks submitted so far, before later ones
  const long at_half = *half;
  for (size_t i = n / 2; i < n; ++i) rt.submit(increment, consort::readwrite(x));
  std::printf("halfway: %ld; it stays %ld for as long as it is held\n", at_half, *half);
  const bool held = *half == at_half;
  half.release();

  const long at_end = *x.read();
  return example::end(held && at_half == static_cast<long>(n / 2) && at_end == static_cast<long>(n),
                      "incrementer: %zu increments, the variable is %ld", n, at_end);
} catch (const std::exception &e) {
  return example::failed(e);
}

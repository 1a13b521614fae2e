// coroutines — asynchronous flows that read like straight code. Each integrates a function: a task chooses the interval,
// then groups of tasks sum over finer and finer steps until two results agree, so what is submitted depends on what was
// computed. Hundreds of flows share one thread, which sleeps while the workers compute; loop.hpp has the machinery.
#include "loop.hpp"

#include "../example.hpp"

#include <array>
#include <stdexcept>

namespace {

using consort::read, consort::write;
constexpr size_t kParts = 4;

double choose(uint64_t number) {
  if (number % 10 == 9) throw std::domain_error("no interval for this flow");
  return 1 + static_cast<double>(number % 50) / 10;
}
double part_of_sum(double end, uint64_t steps, uint64_t part) {
  const double h = end / static_cast<double>(steps);
  double sum = 0;
  for (uint64_t i = steps * part / kParts; i < steps * (part + 1) / kParts; ++i)
    sum += h / (1 + std::sin(h * (static_cast<double>(i) + 0.5)) / 2);
  return sum;
}
bool agree(double a, double b) { return std::abs(a - b) < 1e-9; }

const consort::Codelet interval{"interval", consort::cpu([](double &end, uint64_t number) { end = choose(number); })};
const consort::Codelet integrate{"integrate", consort::cpu([](const double &end, double &sum, uint64_t steps,
                                                              uint64_t part) { sum = part_of_sum(end, steps, part); })};

struct Result {
  double integral = 0;
  uint64_t steps = 0;
  bool failed = false;
};

Loop::Flow flow(Loop &loop, consort::Runtime &rt, uint64_t number, Result &result) {
  const auto end = rt.variable<double>("end");
  std::array<consort::Data<double &>, kParts> sums;
  for (auto &s : sums) s = rt.variable<double>("sum");
  try {
    co_await ended(loop, [&](consort::Done done) { rt.submit({.done = done}, interval, write(end), number); });
    Batch batch(loop, rt, "round");
    double before = 0;
    for (result.steps = 8;; result.steps *= 2) {
      for (uint64_t p = 0; p < kParts; ++p)
        rt.submit({.group = batch.group()}, integrate, read(end), write(sums[p]), result.steps, p);
      co_await batch;
      result.integral = 0;
      for (auto &s : sums) result.integral += *s.read();
      if (agree(result.integral, before)) break;
      before = result.integral;
    }
  } catch (const consort::Error &) {  // the first task failed: this flow is over, the others go on
    result.failed = true;
  }
}

Result alone(uint64_t number) try {
  Result result;
  const double end = choose(number);
  double before = 0;
  for (result.steps = 8;; result.steps *= 2) {
    result.integral = 0;
    for (uint64_t p = 0; p < kParts; ++p) result.integral += part_of_sum(end, result.steps, p);
    if (agree(result.integral, before)) return result;
    before = result.integral;
  }
} catch (const std::domain_error &) {
  return {0, 0, true};
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"flows", 100, "flows at the same time"}});
  std::vector<Result> results(size["flows"]);
  consort::Runtime rt(size.settings());
  Loop loop;
  for (size_t i = 0; i < results.size(); ++i) flow(loop, rt, i, results[i]);
  loop.run();

  size_t failed = 0, wrong = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Result own = alone(i);
    failed += results[i].failed;
    wrong += results[i].failed != own.failed ||
             (!own.failed && (results[i].integral != own.integral || results[i].steps != own.steps));
  }
  return example::end(wrong == 0, "coroutines: %zu flows, %zu of them failed, %zu turns of the loop, %zu wrong",
                      results.size(), failed, loop.turns(), wrong);
} catch (const std::exception &e) {
  return example::failed(e);
}

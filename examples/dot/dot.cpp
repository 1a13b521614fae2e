// dot — a scalar product by reduction: every piece adds to the same sum, and yet no piece waits for another, since each
// adds to a copy that is its own while it runs. A copy begins as 0, std::plus combines two, and a task that reads the sum
// gets all copies combined. The order of a free reduction is chance, and with it the last bits; in a fixed
// tree they are the same every time. Prints the product and how far apart the results were.
#include "../example.hpp"

#include <functional>
#include <span>

namespace {

using consort::read, consort::redux, consort::redux_fixed, consort::write;
using Piece = std::span<const double>;

const consort::Codelet dot{"dot", consort::cpu([](Piece x, Piece y, double &sum) {
                             for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
                           })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 1 << 20, "elements"}, {"pieces", 64, "tasks"}});
  const size_t n = size["n"], pieces = size["pieces"];
  std::vector<double> x(n), y(n);
  double expected = 0, magnitude = 0;
  for (size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<double>(i)), y[i] = 1 / static_cast<double>(i + 1);
  for (size_t i = 0; i < n; ++i) expected += x[i] * y[i], magnitude += std::abs(x[i] * y[i]);

  consort::Runtime rt(size.settings());
  std::vector<consort::Data<Piece>> xs, ys;
  for (size_t p = 0; p < pieces; ++p) {
    const size_t begin = n * p / pieces, end = n * (p + 1) / pieces;
    xs.push_back(rt.vector(Piece(x).subspan(begin, end - begin), "x"));
    ys.push_back(rt.vector(Piece(y).subspan(begin, end - begin), "y"));
  }
  const auto sum = [&] {
    auto s = rt.variable<double>("sum");
    rt.reduction(s, 0.0, std::plus<>{});
    return s;
  };
  auto free = sum(), fixed = sum(), again = sum();
  for (size_t p = 0; p < pieces; ++p) {
    rt.submit(dot, read(xs[p]), read(ys[p]), redux(free));
    rt.submit(dot, read(xs[p]), read(ys[p]), redux_fixed(fixed));
    rt.submit(dot, read(xs[p]), read(ys[p]), redux_fixed(again));
  }
  const double result = *free.read(), tree = *fixed.read();
  const bool same_bits = tree == *again.read();
  const double error = std::max(std::abs(result - expected), std::abs(tree - expected));
  return example::end(error <= 1e-12 * magnitude && same_bits,
                      "dot: %zu elements in %zu pieces, %.12f, largest error %.1g, fixed trees %s", n, pieces, result,
                      error, same_bits ? "agree to the last bit" : "differ");
} catch (const std::exception &e) {
  return example::failed(e);
}

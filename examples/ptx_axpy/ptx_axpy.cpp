// ptx_axpy — y := a x + y on a GPU of NVIDIA's, by a kernel that is written in Rust (axpy.rs) and comes as PTX in a file: the
// codelet has that and nothing else, no function for the host. Where no such GPU is it says so, and does nothing.
#include "../example.hpp"

#include <cstring>
#include <numeric>
#include <span>

namespace {

using consort::read, consort::readwrite;

// No function says what its parameters are, so its type does. The kernel takes of each vector the address and the
// length, then the factor.
using consort::arg;
const consort::Codelet<void(float, std::span<const float>, std::span<float>)> axpy{
    "axpy", consort::cuda_file(EXAMPLE_PTX, "axpy", {.args = {arg(1), arg(2), arg(0)}})};

bool has_gpu(const consort::Runtime &rt) {
  for (uint32_t w = 0; w < rt.info().nworkers; ++w)
    if (!std::strcmp(rt.worker(w).klass, "cuda")) return true;
  return false;
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv,
                              {{"n", 1 << 18, "elements"}, {"pieces", 16, "tasks per round"}, {"rounds", 4, "rounds"}});
  const size_t n = size["n"], pieces = size["pieces"], rounds = size["rounds"];
  std::vector<float> x(n), y(n, 1), expected = y;
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 100);

  consort::Settings settings = size.settings();
  if (!std::getenv("CONSORT_DRIVERS")) settings.set("drivers", "*, cuda");  // it starts where it is named
  {
    consort::Runtime rt(settings);
    if (!has_gpu(rt)) {
      std::puts("ptx_axpy: no unit of class \"cuda\" here, and nothing else runs PTX");
      return 0;
    }
    if (example::is_nothing_computed()) {
      std::puts("ptx_axpy: not computed: a simulated GPU runs the function for cores, and PTX has none");
      return 0;
    }
    std::vector<consort::Data<std::span<float>>> xs, ys;
    for (size_t p = 0; p < pieces; ++p) {
      const size_t begin = n * p / pieces, end = n * (p + 1) / pieces;
      xs.push_back(rt.vector(std::span(x).subspan(begin, end - begin), "x"));
      ys.push_back(rt.vector(std::span(y).subspan(begin, end - begin), "y"));
    }
    for (size_t round = 1; round <= rounds; ++round)
      for (size_t p = 0; p < pieces; ++p)
        rt.submit(axpy, 0.5f * static_cast<float>(round), read(xs[p]), readwrite(ys[p]));
    rt.wait();
  }

  for (size_t round = 1; round <= rounds; ++round)
    for (size_t i = 0; i < n; ++i) expected[i] += 0.5f * static_cast<float>(round) * x[i];
  const double error = example::difference(y, expected);
  return example::end(error == 0, "ptx_axpy: %zu elements in %zu pieces, %zu rounds, largest error %g", n, pieces, rounds,
                      error);
} catch (const std::exception &e) {
  return example::failed(e);
}

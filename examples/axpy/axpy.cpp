// axpy — y := a x + y, the vectors cut into pieces that are data of their own: tasks on different pieces need no order,
// so all workers are busy; the second round of each piece comes after its first, and after nothing else. Prints the
// size and the largest error.
#include "../example.hpp"

#include <numeric>
#include <span>

namespace {

using consort::read, consort::readwrite;

// Where the runtime drives OpenCL devices, tasks run there as well: a work item for each element. What the kernel takes
// is picked: the addresses of the task's two data, and its first value.
constexpr const char *axpy_cl = R"(
  __kernel void axpy(__global const float *x, __global float *y, float a) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
  })";
// GPUs of NVIDIA's and AMD's take one text. Threads come in blocks, and some reach beyond: it needs the size, too.
constexpr const char *axpy_cu = R"(
  extern "C" __global__ void axpy(const float *x, float *y, unsigned long long n, float a) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  })";
// What the kernels take, by the places of a submission: axpy's are a, x, y.
using consort::arg;
const consort::Launch on_gpu{.args = {arg(1).ptr(), arg(2).ptr(), arg(2).size(0), arg(0)}};
const consort::Codelet axpy{"axpy", consort::cpu([](float a, std::span<const float> x, std::span<float> y) {
                              for (size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
                            }),
                            consort::opencl_source(axpy_cl, "axpy", {.args = {arg(1).ptr(), arg(2).ptr(), arg(0)}}),
                            consort::cuda_source(axpy_cu, "axpy", on_gpu),
                            consort::hip_source(axpy_cu, "axpy", on_gpu)};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv,
                              {{"n", 1 << 20, "elements"}, {"pieces", 16, "tasks per round"}, {"rounds", 4, "rounds"}});
  const size_t n = size["n"], pieces = size["pieces"], rounds = size["rounds"];
  std::vector<float> x(n), y(n, 1), expected = y;
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 100);

  {
    consort::Runtime rt(size.settings());
    std::vector<consort::Data<std::span<float>>> xs, ys;
    for (size_t p = 0; p < pieces; ++p) {
      const size_t begin = n * p / pieces, end = n * (p + 1) / pieces;
      xs.push_back(rt.vector(std::span(x).subspan(begin, end - begin), "x"));
      ys.push_back(rt.vector(std::span(y).subspan(begin, end - begin), "y"));
    }
    for (size_t round = 1; round <= rounds; ++round)
      for (size_t p = 0; p < pieces; ++p)
        rt.submit(axpy, 0.5f * static_cast<float>(round), read(xs[p]), readwrite(ys[p]));
    rt.wait();  // throws what went wrong, if something did
  }             // here the data end: x and y are the program's again

  for (size_t round = 1; round <= rounds; ++round)
    for (size_t i = 0; i < n; ++i) expected[i] += 0.5f * static_cast<float>(round) * x[i];
  const double error = example::difference(y, expected);
  return example::end(error == 0, "axpy: %zu elements in %zu pieces, %zu rounds, largest error %g", n, pieces, rounds,
                      error);
} catch (const std::exception &e) {
  return example::failed(e);
}

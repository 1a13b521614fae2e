// stencil — each point of a 2-D grid becomes the mean of its four neighbours, step after step. The grid lies in tiles;
// what a tile needs of its neighbours is their outermost rows and columns, the halo, and these are data of their own: a
// tile's task reads four edges of the step before and leaves its own four for the step after. So a tile waits for its
// neighbours alone, and fast parts of the grid run ahead of slow ones. Edges are held twice, for even and odd steps: a
// tile need not wait until its neighbours have read. Prints the largest error.
#include "../example.hpp"

#include <array>
#include <span>

namespace {

using consort::Matrix, consort::read, consort::readwrite, consort::scratch, consort::write;
using Line = std::span<double>;
using Halo = std::span<const double>;

double mean(double up, double down, double left, double right) { return 0.25 * (up + down + left + right); }

void publish(Matrix<const double> t, Line top, Line bottom, Line left, Line right) {
  for (size_t x = 0; x < t.nx(); ++x) top[x] = t(x, 0), bottom[x] = t(x, t.ny() - 1);
  for (size_t y = 0; y < t.ny(); ++y) left[y] = t(0, y), right[y] = t(t.nx() - 1, y);
}

// `old` is memory for the time of the task, without contents. up: the bottom edge of the tile above, and so on.
void advance(Matrix<double> t, Matrix<double> old, Halo up, Halo down, Halo left, Halo right, Line top, Line bottom,
             Line first, Line last) {
  const size_t nx = t.nx(), ny = t.ny();
  for (size_t y = 0; y < ny; ++y)
    for (size_t x = 0; x < nx; ++x) old(x, y) = t(x, y);
  for (size_t y = 0; y < ny; ++y)
    for (size_t x = 0; x < nx; ++x)
      t(x, y) = mean(y > 0 ? old(x, y - 1) : up[x], y + 1 < ny ? old(x, y + 1) : down[x],
                     x > 0 ? old(x - 1, y) : left[y], x + 1 < nx ? old(x + 1, y) : right[y]);
  publish(t, top, bottom, first, last);
}

// The same for OpenCL devices. A tile is one group of work items: between the copy and the new points all of them must
// meet, which items of different groups cannot.
constexpr const char *kernels = R"(
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  void publish(double here, ulong x, ulong y, ulong nx, ulong ny, __global double *top, __global double *bottom,
               __global double *left, __global double *right) {
    if (y == 0) top[x] = here;
    if (y + 1 == ny) bottom[x] = here;
    if (x == 0) left[y] = here;
    if (x + 1 == nx) right[y] = here;
  }
  __kernel void edges(__global const double *t, ulong nx, ulong ny, ulong ld, __global double *top,
                      __global double *bottom, __global double *left, __global double *right) {
    size_t x = get_global_id(0), y = get_global_id(1);
    publish(t[y * ld + x], x, y, nx, ny, top, bottom, left, right);
  }
  __kernel void advance(__global double *t, ulong nx, ulong ny, ulong ld, __global double *old, ulong ldo,
                        __global const double *up, __global const double *down, __global const double *left,
                        __global const double *right, __global double *top, __global double *bottom,
                        __global double *first, __global double *last) {
    for (ulong i = get_local_id(0); i < nx * ny; i += get_local_size(0))
      old[i / nx * ldo + i % nx] = t[i / nx * ld + i % nx];
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (ulong i = get_local_id(0); i < nx * ny; i += get_local_size(0)) {
      ulong x = i % nx, y = i / nx;
      __global const double *here = old + y * ldo + x;
      double above = y > 0 ? here[-(long)ldo] : up[x], below = y + 1 < ny ? here[ldo] : down[x];
      double before = x > 0 ? here[-1] : left[y], behind = x + 1 < nx ? here[1] : right[y];
      double value = 0.25 * (above + below + before + behind);
      t[y * ld + x] = value;
      publish(value, x, y, nx, ny, top, bottom, first, last);
    }
  })";
// And for GPUs of NVIDIA's and AMD's.
constexpr const char *kernels_cu = R"(
  typedef unsigned long long ulong_;
  __device__ void publish(double here, ulong_ x, ulong_ y, ulong_ nx, ulong_ ny, double *top, double *bottom,
                          double *left, double *right) {
    if (y == 0) top[x] = here;
    if (y + 1 == ny) bottom[x] = here;
    if (x == 0) left[y] = here;
    if (x + 1 == nx) right[y] = here;
  }
  extern "C" __global__ void edges(const double *t, ulong_ nx, ulong_ ny, ulong_ ld, double *top, double *bottom,
                                   double *left, double *right) {
    ulong_ x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) publish(t[y * ld + x], x, y, nx, ny, top, bottom, left, right);
  }
  extern "C" __global__ void advance(double *t, ulong_ nx, ulong_ ny, ulong_ ld, double *old, ulong_ ldo,
                                     const double *up, const double *down, const double *left, const double *right,
                                     double *top, double *bottom, double *first, double *last) {
    for (ulong_ i = threadIdx.x; i < nx * ny; i += blockDim.x) old[i / nx * ldo + i % nx] = t[i / nx * ld + i % nx];
    __syncthreads();
    for (ulong_ i = threadIdx.x; i < nx * ny; i += blockDim.x) {
      ulong_ x = i % nx, y = i / nx;
      const double *here = old + y * ldo + x;
      double above = y > 0 ? here[-(long long)ldo] : up[x], below = y + 1 < ny ? here[ldo] : down[x];
      double before = x > 0 ? here[-1] : left[y], behind = x + 1 < nx ? here[1] : right[y];
      double value = 0.25 * (above + below + before + behind);
      t[y * ld + x] = value;
      publish(value, x, y, nx, ny, top, bottom, first, last);
    }
  })";
// Of a tile its address, both sizes and the distance of its lines; of an edge its address.
using consort::arg;
const consort::Launch edges_on_gpu{.args = {arg(0).ptr(), arg(0).size(0), arg(0).size(1), arg(0).step(1), arg(1).ptr(),
                                            arg(2).ptr(), arg(3).ptr(), arg(4).ptr()}};
const consort::Launch step_on_gpu{
    .grid = 1,  // one group
    .block = {64},
    .args = {arg(0).ptr(), arg(0).size(0), arg(0).size(1), arg(0).step(1), arg(1).ptr(), arg(1).step(1), arg(2).ptr(),
             arg(3).ptr(), arg(4).ptr(), arg(5).ptr(), arg(6).ptr(), arg(7).ptr(), arg(8).ptr(), arg(9).ptr()}};
const consort::Codelet edges{"edges", consort::cpu(publish), consort::opencl_source(kernels, "edges", edges_on_gpu),
                             consort::cuda_source(kernels_cu, "edges", edges_on_gpu),
                             consort::hip_source(kernels_cu, "edges", edges_on_gpu)};
const consort::Codelet step{"step", consort::cpu(advance), consort::opencl_source(kernels, "advance", step_on_gpu),
                            consort::cuda_source(kernels_cu, "advance", step_on_gpu),
                            consort::hip_source(kernels_cu, "advance", step_on_gpu)};

enum Side { kTop, kBottom, kLeft, kRight };
struct Tile {
  consort::Data<Matrix<double>> points, old;
  std::array<std::array<consort::Data<Line>, 4>, 2> edge;  // [step % 2][side]
};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(
      argc, argv,
      {{"n", 256, "rows and columns of the grid"}, {"tiles", 4, "tiles along a side"}, {"steps", 50, "steps"}});
  const size_t n = size["n"], tiles = std::min(size["tiles"], n), steps = size["steps"];
  std::vector<double> grid(n * n), expected;
  for (size_t i = 0; i < n * n; ++i) grid[i] = static_cast<double>(i * 31 % 97);
  expected = grid;
  std::vector<double> border(n, 10);  // around the grid, for ever

  {
    consort::Runtime rt(size.settings());
    const auto outside = rt.vector(border, "outside");
    std::vector<Tile> all;
    const auto begin = [&](size_t k) { return n * k / tiles; };
    for (size_t i = 0; i < tiles; ++i)
      for (size_t j = 0; j < tiles; ++j) {
        const size_t ny = begin(i + 1) - begin(i), nx = begin(j + 1) - begin(j);
        Tile t{rt.matrix(&grid[begin(i) * n + begin(j)], nx, ny, n, "tile"), rt.matrix<double>(nx, ny, "old"), {}};
        for (auto &side : t.edge)
          side = {rt.vector<double>(nx, "top"), rt.vector<double>(nx, "bottom"), rt.vector<double>(ny, "left"),
                  rt.vector<double>(ny, "right")};
        auto &e = t.edge[0];
        rt.submit(edges, read(t.points), write(e[kTop]), write(e[kBottom]), write(e[kLeft]), write(e[kRight]));
        all.push_back(std::move(t));
      }
    for (size_t s = 0; s < steps; ++s)
      for (size_t i = 0; i < tiles; ++i)
        for (size_t j = 0; j < tiles; ++j) {
          // The part of the neighbouring tile, or of the border of the grid, that a task reads.
          const auto halo = [&](bool inside, size_t ti, size_t tj, Side side) {
            const auto &line = inside ? all[ti * tiles + tj].edge[s % 2][side] : outside;
            return read(line);
          };
          const Tile &t = all[i * tiles + j];
          const auto &mine = t.edge[(s + 1) % 2];
          rt.submit(step, readwrite(t.points), scratch(t.old), halo(i > 0, i - 1, j, kBottom),
                    halo(i + 1 < tiles, i + 1, j, kTop), halo(j > 0, i, j - 1, kRight),
                    halo(j + 1 < tiles, i, j + 1, kLeft), write(mine[kTop]), write(mine[kBottom]), write(mine[kLeft]),
                    write(mine[kRight]));
        }
    rt.wait();
  }

  for (size_t s = 0; s < steps; ++s) {
    const std::vector<double> old = expected;
    for (size_t y = 0; y < n; ++y)
      for (size_t x = 0; x < n; ++x)
        expected[y * n + x] = mean(y > 0 ? old[(y - 1) * n + x] : 10, y + 1 < n ? old[(y + 1) * n + x] : 10,
                                   x > 0 ? old[y * n + x - 1] : 10, x + 1 < n ? old[y * n + x + 1] : 10);
  }
  const double error = example::difference(grid, expected);
  return example::end(error < 1e-12, "stencil: %zu x %zu points in %zu tiles, %zu steps, largest error %g", n, n,
                      tiles * tiles, steps, error);
} catch (const std::exception &e) {
  return example::failed(e);
}

// Each layout over each driver. Data of every kind pass through tasks on cores, simulated devices and OpenCL's, in
// memory that holds a part of them, and through a disk. Their home has gaps, or they have none. The result is that of a
// loop, and the gaps are untouched (IFC-06, IFC-07, IFC-08, IFC-14, IFC-16, IFC-17).
#include <consort/sparse.h>

#include <filesystem>

#include "../examples/block_list/block_list.h"
#include "../examples/complex/complex.h"
#include "api/harness.hpp"

namespace consort_test {
namespace {

constexpr uint64_t kRows = 32, kLine = 24, kCells = kRows * kLine, kGap = 5;  // 6 KiB of doubles
constexpr double kUntouched = -1;

double *at(consort_addr a) { return static_cast<double *>(consort_ptr(a)); }

// The contents of a view: its doubles, line by line, and the numbers of its structure.
struct Shown {
  std::vector<std::pair<double *, uint64_t>> lines;
  std::vector<std::pair<uint32_t *, uint64_t>> numbers;
  void line(double *p, uint64_t n) { lines.push_back({p, n}); }
  void number(consort_addr a, uint64_t n) { numbers.push_back({static_cast<uint32_t *>(consort_ptr(a)), n}); }
};

// The application's memory of a datum without structure, with gaps behind the lines; of one with it, without.
struct Home {
  std::vector<double> cell = std::vector<double>(kRows * (kLine + kGap), kUntouched);
  std::vector<uint32_t> a = std::vector<uint32_t>(kCells), b = std::vector<uint32_t>(kCells + 1);
};

template <class View>
const View &as(const void *view) { return *static_cast<const View *>(view); }
template <class Args>
consort_data_id registered(consort_runtime *rt, const char *layout, const Args &a) {
  const consort_data_desc d{sizeof d, 0, layout, &a, sizeof a, layout};
  consort_data_id id{0};
  need(consort_register(rt, &d, &id), layout);
  return id;
}

struct Layout {
  const char *name;
  consort_data_id (*make)(consort_runtime *, Home *);  // without a home: nullptr
  Shown (*show)(const void *view);
  uint32_t arrays = 1;        // of doubles, each packed on a device
  const char *plugin = "";    // folder of an example
};

// How each is made and seen. Home sizes are those of Home; a home is where `h` says.
const Layout kLayouts[] = {
    {"vector", [](consort_runtime *rt, Home *h) {
       return registered(rt, "vector", consort_vector_args{h ? h->cell.data() : nullptr, kCells, 8});
     }, [](const void *v) {
       Shown s;
       return s.line(at(as<consort_vector_view>(v).addr), kCells), s;
     }},
    {"matrix", [](consort_runtime *rt, Home *h) {
       return registered(rt, "matrix", consort_matrix_args{h ? h->cell.data() : nullptr, kLine, kRows, h ? kLine + kGap : 0, 8});
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_matrix_view>(v);
       for (uint64_t y = 0; y < m.ny; ++y) s.line(at(m.addr) + y * m.ld, m.nx);
       return s;
     }},
    {"block", [](consort_runtime *rt, Home *h) {
       return registered(rt, "block", consort_block_args{h ? h->cell.data() : nullptr, kLine, kRows / 4, 4, h ? kLine + kGap : 0, 0, 8});
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_block_view>(v);
       for (uint64_t z = 0; z < m.nz; ++z)
         for (uint64_t y = 0; y < m.ny; ++y) s.line(at(m.addr) + z * m.ldz + y * m.ldy, m.nx);
       return s;
     }},
    {"tensor", [](consort_runtime *rt, Home *h) {
       return registered(rt, "tensor", consort_tensor_args{h ? h->cell.data() : nullptr, kLine, kRows / 8, 4, 2, h ? kLine + kGap : 0, 0, 0, 8});
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_tensor_view>(v);
       for (uint64_t t = 0; t < m.nt; ++t)
         for (uint64_t z = 0; z < m.nz; ++z)
           for (uint64_t y = 0; y < m.ny; ++y) s.line(at(m.addr) + t * m.ldt + z * m.ldz + y * m.ldy, m.nx);
       return s;
     }},
    {"ndim", [](consort_runtime *rt, Home *h) {
       consort_ndim_args a{h ? h->cell.data() : nullptr, 3, {kLine, 8, kRows / 8}, {}, 8};
       if (h) a.step[1] = kLine + kGap;
       return registered(rt, "ndim", a);
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_ndim_view>(v);
       for (uint64_t z = 0; z < m.n[2]; ++z)
         for (uint64_t y = 0; y < m.n[1]; ++y) s.line(at(m.addr) + z * m.step[2] + y * m.step[1], m.n[0]);
       return s;
     }},
    {"csr", [](consort_runtime *rt, Home *h) {
       consort_csr_args a{nullptr, nullptr, nullptr, kRows, 1000, kCells, 0, 8, 4};
       if (h) a.value = h->cell.data(), a.column = h->a.data(), a.start = h->b.data();
       return registered(rt, "csr", a);
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_csr_view>(v);
       s.line(at(m.value), m.nnz), s.number(m.start, m.rows + 1), s.number(m.column, m.nnz);
       return s;
     }},
    {"bcsr", [](consort_runtime *rt, Home *h) {
       consort_bcsr_args a{nullptr, nullptr, nullptr, kRows / 2, 1000, kCells / 4, 0, 2, 2, 8, 4};
       if (h) a.value = h->cell.data(), a.column = h->a.data(), a.start = h->b.data();
       return registered(rt, "bcsr", a);
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_bcsr_view>(v);
       s.line(at(m.value), m.nnz * 4), s.number(m.start, m.rows + 1), s.number(m.column, m.nnz);
       return s;
     }},
    {"coo", [](consort_runtime *rt, Home *h) {
       consort_coo_args a{nullptr, nullptr, nullptr, kRows, 1000, kCells, 8, 4};
       if (h) a.value = h->cell.data(), a.column = h->a.data(), a.row = h->b.data();
       return registered(rt, "coo", a);
     }, [](const void *v) {
       Shown s;
       const auto &m = as<consort_coo_view>(v);
       s.line(at(m.value), m.nnz), s.number(m.row, m.nnz), s.number(m.column, m.nnz);
       return s;
     }},
    {"complex", [](consort_runtime *rt, Home *h) {
       complex_args a{nullptr, nullptr, kCells / 2};
       if (h) a.re = h->cell.data(), a.im = h->cell.data() + kCells / 2 + kGap;
       return registered(rt, "complex", a);
     }, [](const void *v) {
       Shown s;
       const auto &m = as<complex_view>(v);
       s.line(at(m.re), m.n), s.line(at(m.im), m.n);
       return s;
     }, 2, "complex"},
    {"block_list", [](consort_runtime *rt, Home *h) {
       block_list_args a{3, {kCells / 4, kCells / 2, kCells / 4}, {}};
       double *p = h ? h->cell.data() : nullptr;
       for (uint32_t i = 0; h && i < 3; p += a.n[i] + kGap, ++i) a.ptr[i] = p;
       return registered(rt, "block_list", a);
     }, [](const void *v) {
       Shown s;
       const auto &m = as<block_list_view>(v);
       for (uint32_t i = 0; i < m.count; ++i) s.line(at(m.at[i]), m.n[i]);
       return s;
     }, 3, "block_list"},
};

double first(uint64_t k, int i) { return static_cast<double>(k % 50) + 100 * i; }
uint32_t number(uint64_t array, uint64_t k) { return array ? static_cast<uint32_t>(k * 7 % 1000) : static_cast<uint32_t>(k); }
// The rows of a csr must ascend within the entries: they are spread evenly.
uint32_t number_of(const Shown &s, uint64_t array, uint64_t k) {
  if (array || s.numbers[0].second == s.numbers[1].second) return number(array, k);
  return static_cast<uint32_t>(k * s.numbers[1].second / (s.numbers[0].second - 1));
}
void fill(const Shown &s, int i) {
  uint64_t k = 0;
  for (const auto &[p, n] : s.lines)
    for (uint64_t j = 0; j < n; ++j) p[j] = first(k++, i);
  for (uint64_t a = 0; a < s.numbers.size(); ++a)
    for (uint64_t j = 0; j < s.numbers[a].second; ++j) s.numbers[a].first[j] = number_of(s, a, j);
}
// The number of cells and structure numbers that are wrong after so many steps.
uint64_t wrong(const Shown &s, int i, int steps) {
  uint64_t k = 0, bad = 0;
  for (const auto &[p, n] : s.lines)
    for (uint64_t j = 0; j < n; ++j) {
      double want = first(k++, i);
      for (int t = 0; t < steps; ++t) want = 2 * want + t;
      bad += p[j] != want;
    }
  for (uint64_t a = 0; a < s.numbers.size(); ++a)
    for (uint64_t j = 0; j < s.numbers[a].second; ++j) bad += s.numbers[a].first[j] != number_of(s, a, j);
  return bad + (k != kCells);
}

// Over one, two or three arrays; the cells of each are task values, then the step.
constexpr char kKernels[] =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "void go(__global double *x, ulong n, double t) { for (ulong i = 0; i < n; ++i) x[i] = 2 * x[i] + t; }\n"
    "__kernel void step1(__global double *x, ulong n, double t) { go(x, n, t); }\n"
    "__kernel void step2(__global double *x, __global double *y, ulong n, ulong m, double t) { go(x, n, t); go(y, m, t); }\n"
    "__kernel void step3(__global double *x, __global double *y, __global double *z, ulong n, ulong m, ulong k, double t) {\n"
    "  go(x, n, t); go(y, m, t); go(z, k, t);\n"
    "}\n";
consort_status alone(void *, const consort_call *, consort_range *io) {
  *io = {{1, 1, 1}, {1, 1, 1}, 0};
  return CONSORT_OK;
}

struct LayoutsOverDrivers : testing::TestWithParam<Layout> {
  std::vector<std::unique_ptr<Body>> bodies;
  std::string plugins;

  void SetUp() override {
    if (*GetParam().plugin) {
      plugins = std::string(CONSORT_BIN_DIR) + "/" + GetParam().plugin + "_plugins";
      if (!std::filesystem::exists(plugins)) GTEST_SKIP() << "the examples were left out";
    }
  }
  Pairs with(Pairs pairs) const {
    if (!plugins.empty()) pairs.push_back({"plugin_path", plugins.c_str()});
    return pairs;
  }
  consort_codelet_id step(consort_runtime *rt, const char *klass) {
    const Layout &l = GetParam();
    bodies.push_back(std::make_unique<Body>([&l](const consort_call &c) {
      for (const auto &[p, n] : l.show(c.views[0]).lines)
        for (uint64_t j = 0; j < n; ++j) p[j] = 2 * p[j] + value<double>(c, l.arrays);
      return CONSORT_OK;
    }));
    std::vector<consort_pass> picks;
    for (uint32_t a = 0; a < l.arrays; ++a) picks.push_back({0, l.arrays == 3 ? 2 * a : a});
    for (uint32_t a = 0; a <= l.arrays; ++a) picks.push_back({CONSORT_NONE, a});
    consort_portable how = CONSORT_PORTABLE_INIT;
    how.args = picks.data();
    how.nargs = static_cast<uint32_t>(picks.size());
    how.range = alone;
    const std::string entry = "step" + std::to_string(l.arrays);
    const bool opencl = std::string(klass) == "opencl";
    const consort_impl impls[] = {
        {"cpu", run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
        {klass, opencl ? nullptr : run_body, opencl ? static_cast<void *>(&how) : bodies.back().get(), nullptr,
         opencl ? "cl" : nullptr, opencl ? kKernels : nullptr, opencl ? entry.c_str() : nullptr, 0}};
    return codelet_of(rt, "step", impls);
  }
  // `ndata` of them, each step on the next worker; half of them have a home.
  void round(consort_runtime *rt, const char *klass, int ndata, int steps) {
    const Layout &l = GetParam();
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(rt, &info), "info");
    const auto step_on = step(rt, klass);
    std::vector<Home> homes(static_cast<size_t>(ndata));
    std::vector<consort_data_id> x;
    std::vector<uint64_t> sizes = {kCells};
    if (l.arrays == 2) sizes = {kCells / 2, kCells / 2};
    if (l.arrays == 3) sizes = {kCells / 4, kCells / 2, kCells / 4};
    for (int i = 0; i < ndata; ++i) {
      x.push_back(l.make(rt, i % 2 ? &homes[static_cast<size_t>(i)] : nullptr));
      consort_hold hold;
      ASSERT_OK(consort_acquire(rt, x.back(), CONSORT_M_W, kLong, &hold));
      fill(l.show(hold.view), i);
      ASSERT_OK(consort_release(rt, hold));
    }
    for (int t = 0; t < steps; ++t)
      for (int i = 0; i < ndata; ++i) {
        Desc d(step_on);
        d.rw(x[static_cast<size_t>(i)]).on(static_cast<uint32_t>(i + t) % info.nworkers);
        for (const uint64_t n : sizes) d.arg(n);
        d.arg(static_cast<double>(t)).must(rt);
      }
    for (int i = 0; i < ndata; ++i) {
      consort_hold hold;
      ASSERT_OK(consort_acquire(rt, x[static_cast<size_t>(i)], CONSORT_M_R, kLong, &hold));
      EXPECT_EQ(wrong(l.show(hold.view), i, steps), 0u) << "datum " << i;
      ASSERT_OK(consort_release(rt, hold));
      ASSERT_OK(consort_unregister(rt, x[static_cast<size_t>(i)]));
      if (i % 2 == 0) continue;
      const auto &cell = homes[static_cast<size_t>(i)].cell;
      EXPECT_EQ(std::count(cell.begin(), cell.end(), kUntouched), static_cast<long>(kRows * kGap)) << "datum " << i;
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  }
};
INSTANTIATE_TEST_SUITE_P(Layouts, LayoutsOverDrivers, testing::ValuesIn(kLayouts), [](const auto &i) { return std::string(i.param.name); });

TEST_P(LayoutsOverDrivers, RoundTripOverSmallSimulatedDevices) {
  Rt rt(with({{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"}, {"sim.devices", "2"},
              {"sim.latency", "1us"}, {"sim.memory", "40K"}}));
  round(rt, "gpu", 12, 7);
}

TEST_P(LayoutsOverDrivers, RoundTripOverSmallMemoryAndDisk) {
  for (const char *driver : {"disk_posix", "disk_uring"}) {
    if (!std::filesystem::exists(std::string(CONSORT_PLUGIN_DIR "/") + driver + ".so")) continue;
    const std::string drivers = std::string("cpu,") + driver, path = std::string(driver) + ".path",
                      capacity = std::string(driver) + ".capacity";
    consort_runtime *rt = nullptr;
    const consort_status s = start(with({{"drivers", drivers.c_str()}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"},
                                         {path.c_str(), "/var/tmp"}, {capacity.c_str(), "16M"}, {"limits", "ram=64K"}, {"log", "error"}}), &rt);
    if (s < 0) continue;  // the system offers it no ring: tests/drivers says so
    round(rt, "none", 24, 5);
    EXPECT_OK(consort_stop(rt));
  }
}

TEST_P(LayoutsOverDrivers, RoundTripOverOpenClDevices) {
  consort_runtime *rt = nullptr;
  const consort_status s = start(with({{"drivers", "cpu,opencl"}, {"cpu.topology", kFourCores}, {"cpu.workers", "1"},
                                       {"opencl.types", "cpu"}, {"opencl.platforms", "portable"}, {"opencl.cache", "off"},
                                       {"opencl.limit", "64K"}, {"log", "error"}}), &rt);
  consort_info info{};
  info.size = sizeof info;
  if (s < 0 || consort_get_info(rt, &info) < 0 || info.nclasses < 2) {
    const std::string why = s < 0 ? consort_error() : "no OpenCL device here: install pocl-opencl-icd";
    if (s >= 0) (void)consort_stop(rt);
    GTEST_SKIP() << why;
  }
  round(rt, "opencl", 8, 5);
  EXPECT_OK(consort_stop(rt));
}

}  // namespace
}  // namespace consort_test

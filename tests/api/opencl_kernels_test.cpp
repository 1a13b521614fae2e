// Kernels on OpenCL devices: chains, failing kernels, and kernels as text or file, which the driver builds.
#include "api/division.hpp"
#include "api/harness.hpp"

#if !defined(CONSORT_HAS_OPENCL)
TEST(OpenClKernels, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no CL/cl.h"; }
#else
#include <consort/memory.h>

#include "api/opencl_programs.hpp"

namespace consort_test {
namespace {

// -- in flight --------------------------------------------------------------------------------------------------------

TEST_F(OpenCl, ChainsAreIssuedEarly) {
  Machine m;
  Gate gate;
  const auto scale = m.scale();
  const auto wait = m.codelet("wait", {}, [&](const consort_call &) { return gate.pass(), CONSORT_OK; }, 0);
  std::vector<float> v(1000, 1), w(1000, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float)), y = vector_of(m, w.data(), w.size(), sizeof(float));
  Desc(wait).rw(x).on(m.devices[0]).must(m);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  for (int i = 0; i < 40; ++i) {
    Desc(scale).rw(x).arg(i % 2 ? 2.f : 0.5f).on(m.devices[0]).must(m);
    Desc(scale).rw(y).arg(i % 2 ? 2.f : 0.25f).on(m.devices[i / 10 % 2]).must(m);
  }
  gate.open();
  ASSERT_OK(consort_unregister(m, x));
  ASSERT_OK(consort_unregister(m, y));
  for (float e : v) ASSERT_EQ(e, 1);
  for (float e : w) ASSERT_EQ(e, 1.f / (1 << 20));
}

// -- failing ----------------------------------------------------------------------------------------------------------

TEST_F(OpenCl, FailedKernelIsNamed) {
  for (const uint32_t flags : {uint32_t{CONSORT_CL_ASYNC}, 0u}) {
    Machine m;
    const auto scale = m.scale(flags);
    const auto wrong = m.codelet("wrong", {}, [](const consort_call &c) { return Launch(c, "scale").value(1).value(2).over(1); }, flags);
    std::vector<float> v(100, 1);
    const auto x = vector_of(m, v.data(), v.size(), sizeof(float), "pressure");
    const auto failing = Desc(wrong).rw(x).name("step 7").on(m.devices[0]).must(m);
    const auto next = Desc(scale).rw(x).arg(2.f).name("step 8").on(m.devices[0]).must(m);
    const auto last = Desc(scale).rw(x).arg(2.f).name("step 9").on(m.cores[0]).must(m);
    EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(m, failing, kLong, 0), "step 7", "opencl0", "not launched");
    EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(m, next, kLong, 0), "step 8", "pressure", "step 7", "not launched");
    EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(m, last, kLong, 0), "step 9", "pressure", "step 7");
    (void)consort_wait_all(m, kLong, 0);
    ASSERT_OK(consort_invalidate(m, x));
    ASSERT_OK(consort_unregister(m, x));
  }
}

// -- kernels as text ----------------------------------------------------------------------------------------------------

struct Text {
  const char *format, *text, *entry;
  consort_portable how = CONSORT_PORTABLE_INIT;
};
consort_codelet_id text_codelet(Machine &m, const char *name, const Text &t, Body core = {}) {
  std::vector<consort_impl> impls = {
      {"opencl", nullptr, const_cast<consort_portable *>(&t.how), nullptr, t.format, t.text, t.entry, 0}};
  if (core) {
    m.bodies.push_back(std::make_unique<Body>(std::move(core)));
    impls.push_back({"cpu", run_body, m.bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0});
  }
  return codelet_of(m, name, impls);
}
constexpr char kScale[] = "__kernel void scale(__global float *x, ulong n, float a) { x[get_global_id(0)] *= a; }\n"
                          "__kernel void offset(__global float *x, ulong off, ulong n, float a) {\n"
                          "  if (get_global_id(0) < n) ((__global float *)((__global char *)x + off))[get_global_id(0)] *= a;\n"
                          "}\n";
Body on_core() {
  return [](const consort_call &c) {
    for (uint64_t i = 0; i < vec(c, 0).n; ++i) pointer<float>(c, 0)[i] *= value<float>(c, 0);
    return CONSORT_OK;
  };
}

TEST_F(OpenCl, KernelsComeAsTextOrFile) {
  char file[] = "/tmp/consort-kernel-XXXXXX.cl";
  const int fd = mkstemps(file, 3);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, kScale, sizeof kScale - 1), static_cast<ssize_t>(sizeof kScale - 1));
  close(fd);
  {
    Machine m;
    Text blocks{"cl", kScale, "offset"};
    blocks.how.block[0] = 64;  // does not divide the size: the kernel compares
    const consort_codelet_id all[] = {text_codelet(m, "text", {"cl", kScale, "scale"}, on_core()),
                                      text_codelet(m, "file", {"file", file, "scale"}, on_core()),
                                      text_codelet(m, "blocks", blocks, on_core())};
    std::vector<float> v(1000, 1);
    const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
    for (uint32_t i = 0; i < 48; ++i) Desc(all[i % 3]).rw(x).arg(i % 2 ? 4.f : 0.5f).on(i % m.workers()).must(m);
    EXPECT_OK(consort_wait_all(m, kLong, 0));
    ASSERT_OK(consort_unregister(m, x));
    for (float e : v) ASSERT_EQ(e, 1 << 24);
    for (uint32_t w = 0; w < m.workers(); ++w) EXPECT_EQ(m.worker(w).tasks, 12u);
  }
  unlink(file);
}

// Parts are the whole's buffer and an offset: functions get both, a kernel that asks for no offset a sub-buffer. Where
// none may begin parts have buffers of their own.
TEST_F(OpenCl, PartsShareTheBufferOfTheWhole) {
  for (const uint64_t n : {4096u, 4004u}) {
    Machine m;
    const uint32_t there = m.devices[0];
    const consort_codelet_id all[] = {m.scale(), text_codelet(m, "plain", {"cl", kScale, "scale"}, on_core()),
                                      text_codelet(m, "offset", {"cl", kScale, "offset"}, on_core())};
    std::vector<float> v(n, 1);
    const auto x = vector_of(m, v.data(), n, sizeof(float));
    Desc(all[0]).rw(x).arg(2.f).on(there).must(m);
    consort_plan_id plan{0};
    const auto part = split(m, x, "blocks", 4, &plan);
    ASSERT_EQ(part.size(), 4u);
    for (int round = 0; round < 2; ++round) {
      for (const auto c : all)
        for (int i = 0; i < 4; ++i) Desc(c).rw(part[i]).arg(i % 2 ? 2.f : 0.5f).on(there).must(m);
      Desc(all[1]).rw(x).arg(1.f).on(there).must(m);
    }
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    consort_link_use back = CONSORT_LINK_USE_INIT;
    ASSERT_OK(consort_get_link_use(m, m.worker(there).space, 0, &back));
    if (n == 4096) { EXPECT_EQ(back.bytes, 0u); }
    ASSERT_OK(consort_unregister(m, x));
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(v[i], i / (n / 4) % 2 ? 128.f : 0.03125f) << i;
  }
}

// So do those of a buffer that the application made, and of a sub-buffer, of which there are no sub-buffers.
TEST_F(OpenCl, PartsShareTheApplicationsBuffer) {
  Machine m;
  const uint32_t there = m.devices[0], space = m.worker(there).space;
  cl_context context = nullptr;
  const auto meet = m.codelet("meet", {}, [&](const consort_call &c) {
    context = static_cast<cl_context>(c.native_context);
    return CONSORT_OK;
  });
  Desc(meet).on(there).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_NE(context, nullptr);
  cl_device_id device{};
  cl_int e = clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &e);
  ASSERT_EQ(e, CL_SUCCESS);
  constexpr uint64_t kN = 4096;
  std::vector<float> v(2 * kN, 1);
  cl_mem whole = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, v.size() * sizeof(float), v.data(), &e);
  ASSERT_EQ(e, CL_SUCCESS);
  const cl_buffer_region region{kN * sizeof(float), kN * sizeof(float)};
  cl_mem half = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &e);
  ASSERT_EQ(e, CL_SUCCESS);
  const consort_codelet_id all[] = {m.scale(), text_codelet(m, "plain", {"cl", kScale, "scale"}, on_core()),
                                    text_codelet(m, "offset", {"cl", kScale, "offset"}, on_core())};
  for (cl_mem b : {whole, half}) {
    const consort_vector_args a{b, kN, sizeof(float)};
    const consort_data_desc desc{sizeof desc, 0, "vector", &a, sizeof a, "theirs"};
    consort_data_id x{0};
    ASSERT_OK(consort_register_in(m, &desc, space, &x));
    consort_plan_id plan{0};
    const auto part = split(m, x, "blocks", 4, &plan);
    ASSERT_EQ(part.size(), 4u);
    consort_link_use before = CONSORT_LINK_USE_INIT, after = CONSORT_LINK_USE_INIT;
    ASSERT_OK(consort_get_link_use(m, space, 0, &before));
    for (const auto c : all)
      for (int i = 0; i < 4; ++i) Desc(c).rw(part[i]).arg(i % 2 ? 2.f : 0.5f).on(there).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    ASSERT_OK(consort_get_link_use(m, space, 0, &after));
    EXPECT_EQ(after.bytes, before.bytes) << "used where they are";
    Desc(all[1]).rw(part[1]).arg(2.f).on(m.cores[0]).must(m);
    Desc(all[1]).rw(part[2]).arg(4.f).on(m.devices[1]).must(m);
    ASSERT_OK(consort_unregister(m, x));
  }
  ASSERT_EQ(clEnqueueReadBuffer(queue, whole, CL_TRUE, 0, v.size() * sizeof(float), v.data(), 0, nullptr, nullptr), CL_SUCCESS);
  const float want[] = {0.125f, 16.f, 0.5f, 8.f};
  for (uint64_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], want[i % kN / (kN / 4)]) << i;
  clReleaseMemObject(half);
  clReleaseMemObject(whole);
  clReleaseCommandQueue(queue);
}

// Rows have gaps at home and none on the device; one work item for each element, with selected arguments. Empty data
// run nothing.
TEST_F(OpenCl, KernelsRunOverMatricesAndEmptyData) {
  Machine m;
  const consort_pass passed[] = {{CONSORT_NONE, 0}, {1, 0}, {1, 3}, {0, 0}};
  Text t{"cl",
         "__kernel void add(float a, __global float *m, ulong ld, __global const float *line) {\n"
         "  m[get_global_id(1) * ld + get_global_id(0)] += a * line[get_global_id(0)];\n"
         "}\n",
         nullptr};
  t.how.over = 1;
  t.how.args = passed;
  t.how.nargs = 4;
  const auto add = text_codelet(m, "add", t);
  constexpr uint64_t kX = 7, kY = 5, kLd = 10;
  std::vector<float> matrix(kLd * kY, 1), line(kX);
  for (uint64_t i = 0; i < kX; ++i) line[i] = static_cast<float>(i);
  consort_data_id a{0};
  ASSERT_OK(consort_register_matrix(m, matrix.data(), kX, kY, kLd, sizeof(float), &a));
  const auto l = vector_of(m, line.data(), kX, sizeof(float));
  for (int i = 0; i < 6; ++i) Desc(add).r(l).rw(a).arg(2.f).must(m);
  EXPECT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_unregister(m, a));
  for (uint64_t i = 0; i < matrix.size(); ++i) ASSERT_EQ(matrix[i], i % kLd < kX ? 1 + 12 * static_cast<float>(i % kLd) : 1) << i;
  const auto nothing = vector_of(m, nullptr, 0, sizeof(float));
  EXPECT_OK(consort_task_wait(m, Desc(text_codelet(m, "scale", {"cl", kScale, "scale"})).rw(nothing).arg(2.f).must(m), kLong, 0));
  ASSERT_OK(consort_unregister(m, nothing));
  ASSERT_OK(consort_unregister(m, l));
}

TEST_F(OpenCl, BadKernelsAreNamed) {
  Machine m;
  std::vector<float> v(100, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float), "pressure");
  const auto fill = m.codelet("fill", [](const consort_call &) { return CONSORT_OK; }, {});
  const auto run = [&](const char *format, const char *text, const char *entry, Gate *gate = nullptr) {
    Desc(fill).w(x).must(m);
    const auto c = text_codelet(m, "shape", {format, text, entry});
    const auto wait = m.codelet("wait", {}, [=](const consort_call &) { return gate->pass(), CONSORT_OK; }, 0);
    if (gate) Desc(wait).r(x).on(m.devices[0]).must(m);
    const auto t = Desc(c).rw(x).arg(2.0).name("step 7").on(m.devices[0]).must(m);
    if (gate) gate->open();
    return consort_task_wait(m, t, kLong, 0);
  };
  EXPECT_SAYS(CONSORT_E_INVAL, run("cl", "__kernel void scale(__global float *x) { undeclared_thing = 1; }", "scale"), "step 7",
              "undeclared_thing");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, run("ptx", "nonsense", "scale"), "step 7", "opencl0", "\"ptx\" is unknown");
  EXPECT_SAYS(CONSORT_E_INVAL, run("cl", kScale, "scaled"), "step 7", "no kernel \"scaled\"");
  Gate gate;
  for (Gate *g : {static_cast<Gate *>(nullptr), &gate})  // by the worker's thread, and by the helper's
    EXPECT_SAYS(CONSORT_E_INVAL, run("cl", "__kernel void scale(__global float *x) { x[0] = 1; }", "scale", g), "step 7",
                "has 1 parameters");
  EXPECT_SAYS(CONSORT_E_INVAL, run("cl", kScale, "scale"), "step 7", "does not accept 8 bytes") << "a double for a float";
  (void)consort_wait_all(m, kLong, 0);
  ASSERT_OK(consort_invalidate(m, x));
  ASSERT_OK(consort_unregister(m, x));
}

// A text that does not build here leaves its tasks to the cores; several texts are built on both devices at once.
// No stored times: with them a policy may leave all tasks to the cores, which are quicker with so little.
TEST_F(OpenCl, UnbuildableKernelsFallBackToCores) {
  Machine m(Pairs{{"keep_models", "no"}});
  Gate gate;
  const auto wait = m.codelet("wait", [&](const consort_call &) { return gate.pass(), CONSORT_OK; }, {});
  for (const uint32_t w : m.cores) Desc(wait).on(w).must(m);
  const auto bad = text_codelet(m, "bad", {"cl", "__kernel void scale(__global float *x) { undeclared_thing = 1; }", "scale"},
                                on_core());
  const auto good = text_codelet(m, "good", {"cl", kScale, "scale"}, on_core());
  std::vector<std::vector<float>> v(8, std::vector<float>(100, 1));
  std::vector<consort_data_id> d;
  for (auto &x : v) d.push_back(vector_of(m, x.data(), x.size(), sizeof(float)));
  for (int round = 0; round < 3; ++round)
    for (const auto x : d)
      for (const auto c : {good, bad}) Desc(c).rw(x).arg(2.f).must(m);
  EXPECT_TRUE(eventually([&] { return m.worker(m.devices[0]).tasks + m.worker(m.devices[1]).tasks > 0; }))
      << "while no core is free";
  gate.open();
  EXPECT_OK(consort_wait_all(m, kLong, 0));
  for (const auto x : d) ASSERT_OK(consort_unregister(m, x));
  for (const auto &x : v)
    for (float e : x) ASSERT_EQ(e, 64);
}

TEST_F(OpenCl, DevicesBuildConcurrently) {
  Machine m;
  std::vector<std::string> texts;
  for (int k = 0; k < 3; ++k)
    texts.push_back("/* " + std::to_string(k) + " */ __kernel void scale(__global float *x, ulong n, float a) {\n"
                    "  x[get_global_id(0)] *= a + " + std::to_string(k) + ";\n}\n");
  std::vector<std::vector<float>> v(m.devices.size(), std::vector<float>(100, 1));
  std::vector<consort_data_id> d;
  for (auto &x : v) d.push_back(vector_of(m, x.data(), x.size(), sizeof(float)));
  for (const std::string &text : texts) {
    const auto c = text_codelet(m, "scale", {"cl", text.c_str(), "scale"});
    for (size_t i = 0; i < d.size(); ++i) Desc(c).rw(d[i]).arg(1.f).on(m.devices[i]).must(m);
  }
  EXPECT_OK(consort_wait_all(m, kLong, 0));
  for (const auto x : d) ASSERT_OK(consort_unregister(m, x));
  for (const auto &x : v)
    for (float e : x) ASSERT_EQ(e, 6);
}

}  // namespace
}  // namespace consort_test
#endif

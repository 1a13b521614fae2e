// Whole programs on cores and OpenCL devices: host functions that enqueue on the native queue, data that move by themselves.
// PoCL's devices are the host's cores with a memory of their own each. Without a platform the tests are skipped.
#include "api/harness.hpp"

#if !defined(CONSORT_HAS_OPENCL)
TEST(OpenCl, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no CL/cl.h"; }
#else
#include <consort/memory.h>

#include <random>

#include "api/opencl_programs.hpp"

namespace consort_test {
namespace {

// -- to and fro -------------------------------------------------------------------------------------------------------

// Each step on another worker than the one before, so that everything moves each time; or where the policy likes.
TEST_F(OpenCl, VectorsMoveBetweenCoresAndDevices) {
  for (const uint32_t flags : {uint32_t{CONSORT_CL_ASYNC}, 0u})
    for (const bool pinned : {true, false}) {
      Machine m;
      ASSERT_EQ(m.devices.size(), 2u);
      const auto scale = m.scale(flags);
      std::vector<std::vector<float>> v(6, std::vector<float>(5000, 1.f));
      std::vector<consort_data_id> x;
      for (auto &i : v) x.push_back(vector_of(m, i.data(), i.size(), sizeof(float)));
      for (uint32_t turn = 0; turn < 12; ++turn)
        for (uint32_t i = 0; i < v.size(); ++i)
          Desc(scale).rw(x[i]).arg(i % 2 ? 2.f : 0.5f).on(pinned ? (turn + i) % m.workers() : CONSORT_NONE).must(m);
      for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
      for (size_t i = 0; i < v.size(); ++i)
        for (float e : v[i]) ASSERT_EQ(e, i % 2 ? 4096.f : 1.f / 4096);
      for (uint32_t w = 0; pinned && w < m.workers(); ++w) EXPECT_EQ(m.worker(w).tasks, 72u / m.workers()) << m.worker(w).name;
    }
}

TEST_F(OpenCl, PaddedRowsAndBlocks) {
  Machine m;
  const auto scale = m.codelet("scale3",
      [](const consort_call &c) {
        const auto &b = *static_cast<const consort_block_view *>(c.views[0]);
        for (uint64_t z = 0; z < b.nz; ++z)
          for (uint64_t y = 0; y < b.ny; ++y)
            for (uint64_t x = 0; x < b.nx; ++x) pointer<float>(c, 0)[x + b.ldy * y + b.ldz * z] *= value<float>(c, 0);
        return CONSORT_OK;
      },
      [](const consort_call &c) {
        const auto &b = *static_cast<const consort_block_view *>(c.views[0]);
        return Launch(c, "scale3").mem(0).value(cl_ulong{b.ldy}).value(cl_ulong{b.ldz}).value(value<float>(c, 0)).over(b.nx, b.ny, b.nz);
      });
  const auto scale2 = m.codelet("scale2",
      [](const consort_call &c) {
        const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
        for (uint64_t y = 0; y < v.ny; ++y)
          for (uint64_t x = 0; x < v.nx; ++x) pointer<float>(c, 0)[x + v.ld * y] *= value<float>(c, 0);
        return CONSORT_OK;
      },
      [](const consort_call &c) {
        const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
        return Launch(c, "scale3").mem(0).value(cl_ulong{v.ld}).value(cl_ulong{0}).value(value<float>(c, 0)).over(v.nx, v.ny);
      });
  constexpr uint64_t kX = 7, kY = 5, kZ = 3, kLdy = 10, kLdz = 61;
  std::vector<float> block(kLdz * kZ, 1), matrix(kLdy * kY, 1);
  consort_data_id b{0}, a{0};
  ASSERT_OK(consort_register_block(m, block.data(), kX, kY, kZ, kLdy, kLdz, sizeof(float), &b));
  ASSERT_OK(consort_register_matrix(m, matrix.data(), kX, kY, kLdy, sizeof(float), &a));
  for (uint32_t i = 0; i < 2 * m.workers(); ++i) {
    Desc(scale).rw(b).arg(2.f).on(i % m.workers()).must(m);
    Desc(scale2).rw(a).arg(2.f).on((i + 1) % m.workers()).must(m);
  }
  ASSERT_OK(consort_unregister(m, b));
  ASSERT_OK(consort_unregister(m, a));
  const float all = static_cast<float>(1u << 2 * m.workers());
  for (uint64_t i = 0; i < block.size(); ++i)
    ASSERT_EQ(block[i], i % kLdz / kLdy < kY && i % kLdz % kLdy < kX ? all : 1) << "element " << i << ": gaps stay untouched";
  for (uint64_t i = 0; i < matrix.size(); ++i) ASSERT_EQ(matrix[i], i % kLdy < kX ? all : 1) << "element " << i;
}

// Parts lie in the whole's memory at home, and in buffers of their own on each device.
TEST_F(OpenCl, PartsRunOnAllDevices) {
  Machine m;
  const auto scale = m.scale();
  constexpr uint32_t kParts = 8, kSize = 1000;
  std::vector<float> v(kParts * kSize + 3, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float), "x");
  for (int round = 0; round < 3; ++round) {
    Desc(scale).rw(x).arg(2.f).on(m.devices[0]).must(m);
    consort_plan_desc d = CONSORT_PLAN_INIT;
    const consort_split split{kParts, 0};
    d.filter = "blocks";
    d.params = &split;
    d.params_bytes = sizeof split;
    consort_plan_id plan{0};
    ASSERT_OK(consort_plan_create(m, x, &d, &plan));
    consort_data_id part[kParts];
    ASSERT_EQ(consort_plan_parts(m, plan, part, kParts), int64_t{kParts});
    for (uint32_t turn = 0; turn < 2; ++turn)
      for (uint32_t i = 0; i < kParts; ++i) Desc(scale).rw(part[i]).arg(i % 2 ? 2.f : 0.5f).on((i + turn) % m.workers()).must(m);
    Desc(scale).rw(x).arg(2.f).on(m.devices[1]).must(m);
    ASSERT_OK(consort_plan_destroy(m, plan));
  }
  ASSERT_OK(consort_unregister(m, x));
  const uint64_t per = (v.size() + kParts - 1) / kParts, longer = v.size() % kParts;
  uint64_t at = 0;
  for (uint32_t i = 0; i < kParts; ++i)
    for (uint64_t k = 0; k < (longer && i >= longer ? per - 1 : per) && at < v.size(); ++k, ++at)
      ASSERT_EQ(v[at], i % 2 ? 4096.f : 1.f) << "element " << at << ", part " << i;
  EXPECT_EQ(at, v.size());
}

// Pairs of floats on cores, two lines on the devices (IFC-10, IFC-11). They are converted there by a kernel, back by a
// core, and each side works on its own. Tight memory moves both formats out and in.
TEST_F(OpenCl, ConvertsFormatsBetweenCoresAndDevices) {
  for (const bool tight : {false, true}) {
    Machine m(tight ? Pairs{{"limits", "opencl0:ram=24K,opencl1:ram=24K"}} : Pairs{});
    constexpr uint64_t kPairs = 1000;
    std::atomic<int> to_lines{0}, to_pairs{0};
    const auto ld = [](const consort_call &c, uint32_t i) { return cl_ulong{static_cast<const consort_matrix_view *>(c.views[i])->ld}; };
    const auto apart = m.codelet("apart", {}, [&, ld](const consort_call &c) {
      ++to_lines;
      return Launch(c, "apart").mem(0).mem(1).value(ld(c, 1)).over(kPairs);
    });
    const auto together = m.codelet("together", [&, ld](const consort_call &c) {
      ++to_pairs;
      for (uint64_t i = 0; i < kPairs; ++i)
        for (const uint64_t part : {0, 1}) pointer<float>(c, 1)[2 * i + part] = pointer<float>(c, 0)[part * ld(c, 0) + i];
      return CONSORT_OK;
    }, {});
    const auto turn = m.codelet("turn",
        [](const consort_call &c) {
          for (uint64_t i = 0; i < vec(c, 0).n; ++i) {
            float *const pair = pointer<float>(c, 0) + 2 * i;
            pair[0] += value<float>(c, 0), pair[1] *= 2;
          }
          return CONSORT_OK;
        },
        [ld](const consort_call &c) { return Launch(c, "turn").mem(0).value(ld(c, 0)).value(value<float>(c, 0)).over(kPairs); });
    std::vector<std::vector<float>> v(4, std::vector<float>(2 * kPairs, 1));
    std::vector<consort_data_id> x;
    for (auto &i : v) {
      x.push_back(vector_of(m, i.data(), kPairs, 2 * sizeof(float)));
      const consort_matrix_args lines{nullptr, kPairs, 2, 0, sizeof(float)};
      consort_format_desc f = CONSORT_FORMAT_INIT;
      f.klass = "opencl";
      f.interface = "matrix";
      f.args = &lines;
      f.args_bytes = sizeof lines;
      f.to = apart;
      f.from = together;
      ASSERT_OK(consort_data_add_format(m, x.back(), &f));
    }
    const auto all = [&](uint32_t worker) {
      for (const auto d : x) Desc(turn).rw(d).arg(1.f).on(worker).must(m);
    };
    all(m.devices[0]);
    all(m.devices[1]);  // lines go from device to device
    all(m.cores[0]);
    all(m.cores[1]);
    all(m.devices[1]);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    EXPECT_EQ(to_lines, 8) << "twice for each datum";
    EXPECT_EQ(to_pairs, 4);
    for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
    EXPECT_EQ(to_pairs, 8) << "and home";
    for (const auto &pairs : v)
      for (uint64_t i = 0; i < kPairs; ++i) ASSERT_TRUE(pairs[2 * i] == 6 && pairs[2 * i + 1] == 32) << "pair " << i;
  }
}

// -- homes on a device --------------------------------------------------------------------------------------------------

// Buffers that the application makes in the drivers' contexts, with queues of its own.
struct Theirs {
  Machine &m;
  std::map<uint32_t, cl_context> context;  // by space
  std::map<uint32_t, cl_command_queue> queue;
  explicit Theirs(Machine &machine) : m(machine) {
    struct Found {
      std::mutex mutex;
      std::map<uint32_t, cl_context> by_worker;
    } found;
    const auto tell = [](const consort_call *c) -> consort_status {
      auto &f = *static_cast<Found *>(c->user);
      const std::lock_guard lock(f.mutex);
      f.by_worker[c->worker] = static_cast<cl_context>(c->native_context);
      return CONSORT_OK;
    };
    need(consort_run_on_each(m, "opencl", tell, &found), "run_on_each");
    for (const auto &[worker, c] : found.by_worker) {
      cl_device_id device{};
      cl_int e = clGetContextInfo(c, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr);
      const uint32_t space = m.worker(worker).space;
      context[space] = c;
      queue[space] = clCreateCommandQueue(c, device, 0, &e);
      if (e != CL_SUCCESS) std::abort();
    }
  }
  ~Theirs() {
    for (auto &[space, q] : queue) clReleaseCommandQueue(q);
  }
  cl_mem buffer(uint32_t space, const std::vector<float> &v, cl_mem_flags flags = 0) {
    cl_int e = 0;
    cl_mem b = clCreateBuffer(context[space], CL_MEM_READ_WRITE | flags, v.size() * sizeof(float), nullptr, &e);
    if (e || clEnqueueWriteBuffer(queue[space], b, CL_TRUE, 0, v.size() * sizeof(float), v.data(), 0, nullptr, nullptr)) std::abort();
    return b;
  }
  std::vector<float> contents(uint32_t space, cl_mem b, size_t n) {
    std::vector<float> v(n);
    if (clEnqueueReadBuffer(queue[space], b, CL_TRUE, 0, n * sizeof(float), v.data(), 0, nullptr, nullptr)) std::abort();
    return v;
  }
  static cl_uint references(cl_mem b) {
    cl_uint n = 0;
    clGetMemObjectInfo(b, CL_MEM_REFERENCE_COUNT, sizeof n, &n, nullptr);
    return n;
  }
  consort_status try_home(uint32_t space, cl_mem b, uint64_t n, consort_data_id *id) {
    const consort_vector_args a{b, n, sizeof(float)};
    const consort_data_desc d{sizeof d, 0, "vector", &a, sizeof a, "theirs"};
    return consort_register_in(m, &d, space, id);
  }
};

TEST_F(OpenCl, ApplicationBufferAsHome) {
  Machine m;
  Theirs theirs(m);
  const auto scale = m.scale();
  for (const uint32_t there : {m.worker(m.devices[0]).space, m.worker(m.devices[1]).space}) {
    const uint32_t own = m.worker(m.devices[0]).space == there ? m.devices[0] : m.devices[1];
    const uint32_t other = m.devices[0] + m.devices[1] - own;
    cl_mem b = theirs.buffer(there, std::vector<float>(4096, 1));
    consort_link_use in = CONSORT_LINK_USE_INIT, out = CONSORT_LINK_USE_INIT;
    ASSERT_OK(consort_get_link_use(m, 0, there, &in));
    ASSERT_OK(consort_get_link_use(m, there, 0, &out));
    const uint64_t before_in = in.bytes, before_out = out.bytes;
    consort_data_id x{0};
    ASSERT_OK(theirs.try_home(there, b, 4096, &x));
    EXPECT_EQ(Theirs::references(b), 2u) << "kept meanwhile";
    for (int i = 0; i < 3; ++i) Desc(scale).rw(x).arg(2.f).on(own).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    ASSERT_OK(consort_get_link_use(m, 0, there, &in));
    ASSERT_OK(consort_get_link_use(m, there, 0, &out));
    EXPECT_EQ(in.bytes + out.bytes, before_in + before_out) << "used where it is";
    for (const uint32_t w : {m.cores[0], other, own, m.cores[1], other}) Desc(scale).rw(x).arg(2.f).on(w).must(m);
    ASSERT_OK(consort_unregister(m, x));
    EXPECT_EQ(Theirs::references(b), 1u);
    EXPECT_EQ(theirs.contents(there, b, 4096), std::vector<float>(4096, 256)) << "in that very buffer";

    // A piece of it, and pieces that are not its own.
    const cl_buffer_region half{8192, 8192};
    cl_int e = 0;
    cl_mem part = clCreateSubBuffer(b, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &e);
    ASSERT_EQ(e, CL_SUCCESS);
    ASSERT_OK(theirs.try_home(there, part, 2048, &x));
    for (const uint32_t w : {own, m.cores[0]}) Desc(scale).rw(x).arg(0.5f).on(w).must(m);
    ASSERT_OK(consort_unregister(m, x));
    const auto v = theirs.contents(there, b, 4096);
    for (size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], i < 2048 ? 256.f : 64.f) << i;
    EXPECT_SAYS(CONSORT_E_INVAL, theirs.try_home(there, part, 2049, &x), "'theirs'", "8196", "8192", "pass a larger one");
    clReleaseMemObject(part);
    EXPECT_SAYS(CONSORT_E_INVAL, theirs.try_home(m.worker(other).space, b, 4096, &x), "another context", "native_context");
    cl_mem hidden = theirs.buffer(there, std::vector<float>(16, 1), CL_MEM_HOST_WRITE_ONLY);
    EXPECT_SAYS(CONSORT_E_INVAL, theirs.try_home(there, hidden, 16, &x), "CL_MEM_HOST_");
    clReleaseMemObject(hidden);
    EXPECT_EQ(Theirs::references(b), 1u);
    clReleaseMemObject(b);
  }
}

// Homes beside data of the runtime's own that do not all fit.
TEST_F(OpenCl, HomesInTightMemory) {
  Machine m(Pairs{{"limits", "opencl0:ram=8K,opencl1:ram=8K"}});
  Theirs theirs(m);
  const auto mix = m.mix();
  constexpr uint32_t kData = 12, kWords = 512;
  std::vector<std::vector<uint32_t>> v(kData, std::vector<uint32_t>(kWords, 5));
  auto want = v;
  std::vector<consort_data_id> x(kData);
  std::vector<cl_mem> buffer(kData);
  std::vector<uint32_t> space(kData);
  for (uint32_t i = 0; i < kData; ++i) {
    if (i % 3 == 2) {
      x[i] = vector_of(m, v[i].data(), kWords, 4);
      continue;
    }
    space[i] = m.worker(m.devices[i % 3]).space;
    std::vector<float> bits(kWords);
    std::memcpy(bits.data(), v[i].data(), kWords * 4);
    buffer[i] = theirs.buffer(space[i], bits);
    const consort_vector_args a{buffer[i], kWords, 4};
    const consort_data_desc d{sizeof d, 0, "vector", &a, sizeof a, nullptr};
    ASSERT_OK(consort_register_in(m, &d, space[i], &x[i]));
  }
  std::mt19937 rng(5);
  for (int i = 0; i < 150; ++i) {
    const uint32_t to = rng() % kData, from = (to + 1 + rng() % (kData - 1)) % kData, a = rng() % 100;
    Desc(mix).r(x[from]).rw(x[to]).arg(a).on(rng() % 3 ? rng() % m.workers() : CONSORT_NONE).must(m);
    for (uint32_t k = 0; k < kWords; ++k) want[to][k] = want[to][k] * 3 + want[from][k] + a;
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (uint32_t i = 0; i < kData; ++i) {
    ASSERT_OK(consort_unregister(m, x[i]));
    if (buffer[i]) {
      const auto bits = theirs.contents(space[i], buffer[i], kWords);
      std::memcpy(v[i].data(), bits.data(), kWords * 4);
      clReleaseMemObject(buffer[i]);
    }
    ASSERT_EQ(v[i], want[i]) << "datum " << i;
  }
}

// -- random programs ------------------------------------------------------------------------------------------------

void random_program(uint32_t seed, const Pairs &more) {
  Machine m(more);
  const auto mix = m.mix();
  std::mt19937 rng(seed);
  constexpr uint32_t kData = 12, kWords = 512;
  std::vector<std::vector<uint32_t>> v(kData, std::vector<uint32_t>(kWords, 5));
  auto want = v;
  std::vector<consort_data_id> x;
  for (auto &i : v) x.push_back(vector_of(m, i.data(), kWords, 4));
  for (int i = 0; i < 150; ++i) {
    const uint32_t to = rng() % kData, from = (to + 1 + rng() % (kData - 1)) % kData, a = rng() % 100;
    Desc(mix).r(x[from]).rw(x[to]).arg(a).on(rng() % 3 ? rng() % m.workers() : CONSORT_NONE).must(m);
    for (uint32_t k = 0; k < kWords; ++k) want[to][k] = want[to][k] * 3 + want[from][k] + a;
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0)) << "seed " << seed;
  for (uint32_t i = 0; i < kData; ++i) {
    ASSERT_OK(consort_unregister(m, x[i]));
    ASSERT_EQ(v[i], want[i]) << "seed " << seed << ", datum " << i;
  }
}
TEST_F(OpenCl, RandomPrograms) {
  for (uint32_t seed = 1; seed <= (full() ? 100u : 3u); ++seed) ASSERT_NO_FATAL_FAILURE(random_program(seed, {}));
}

// -- memory that is short ---------------------------------------------------------------------------------------------

// Room for four data of the twelve, by the kernel's count and by the driver's.
TEST_F(OpenCl, RandomProgramsInTightMemory) {
  for (uint32_t seed = 1; seed <= (full() ? 100u : 2u); ++seed) {
    ASSERT_NO_FATAL_FAILURE(random_program(seed, {{"limits", "opencl0:ram=8K,opencl1:ram=8K"}}));
    ASSERT_NO_FATAL_FAILURE(random_program(seed, {{"opencl.limit", "8K"}}));
  }
}

TEST_F(OpenCl, RefusesDataThatNeverFit) {
  Machine m(Pairs{{"limits", "opencl0:ram=8K"}});
  const auto scale = m.scale();
  std::vector<float> large(4096, 1), small(1024, 1);
  const auto x = vector_of(m, large.data(), large.size(), sizeof(float), "large"), y = vector_of(m, small.data(), small.size(), sizeof(float));
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_task_wait(m, Desc(scale).r(x).arg(1.f).on(m.devices[0]).name("too much").must(m), kLong, 0),
              "too much", "large", "16384", "opencl0:ram", "8192");
  EXPECT_OK(consort_task_wait(m, Desc(scale).rw(y).arg(2.f).on(m.devices[0]).must(m), kLong, 0));
  EXPECT_OK(consort_task_wait(m, Desc(scale).rw(x).arg(2.f).on(m.devices[1]).must(m), kLong, 0)) << "the other has room";
  ASSERT_OK(consort_unregister(m, x));
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(large[4095], 2);
  EXPECT_EQ(small[1023], 2);
  (void)consort_wait_all(m, kLong, 0);
}

// The driver refuses a buffer that the kernel's count allows, for it is too large for one buffer. All other data fit as
// before.
TEST_F(OpenCl, RefusesBuffersAboveTheDeviceMaximum) {
  Machine m;
  consort_space_info space{};
  space.size = sizeof space;
  ASSERT_OK(consort_get_space(m, 1, &space));
  const auto take = m.codelet("take", {}, [](const consort_call &) { return CONSORT_OK; });
  consort_data_id d{0};
  ASSERT_OK(consort_register_vector(m, nullptr, space.capacity, 1, &d));
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_task_wait(m, Desc(take).w(d).on(m.devices[0]).must(m), kLong, 0), "take", "opencl0:ram", "memory");
  (void)consort_wait_all(m, kLong, 0);
  ASSERT_OK(consort_invalidate(m, d));
  ASSERT_OK(consort_unregister(m, d));
  std::vector<float> v(100, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  EXPECT_OK(consort_task_wait(m, Desc(m.scale()).rw(x).arg(2.f).on(m.devices[0]).must(m), kLong, 0));
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(v[99], 2);
}

}  // namespace
}  // namespace consort_test
#endif

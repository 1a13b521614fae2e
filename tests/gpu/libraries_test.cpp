// Libraries of a vendor in functions of codelets: a handle for each worker, bound to its stream, made once, destroyed
// in time. Over the double, which executes calls in the stream's order and reports wrong use.
#include <consort/libraries.h>

#include <map>
#include <set>

#include "api/harness.hpp"
#include "gpu/gpu.hpp"

namespace consort_test {
namespace {

// The vendor's BLAS, as much as is called here: C := alpha A B + beta C, column-major.
struct Blas {
  const char *library, *create, *gemm, *get_stream;
  int none;  // not transposed
  int too_little_memory, bad_value;  // its statuses
};
using Gemm = int (*)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *,
                     float *, int);
using GetStream = int (*)(void *, void **);

const Blas &blas_of(const Vendor &v) {
  static constexpr Blas cuda = {"cublas", "cublasCreate_v2", "cublasSgemm_v2", "cublasGetStream_v2", 0, 3, 7};
  static constexpr Blas hip = {"rocblas", "rocblas_create_handle", "rocblas_sgemm", "rocblas_get_stream", 111, 5, 11};
  return std::string(v.driver) == "cuda" ? cuda : hip;
}

constexpr int kN = 8;

const consort_matrix_view &mat(const consort_call &c, uint32_t i) { return *static_cast<const consort_matrix_view *>(c.views[i]); }

struct GpuLibraries : GpuTest {
  void SetUp() override {
    GpuTest::SetUp();
    if (on_real_gpu() || IsSkipped()) return;
    void *library = dlopen(GetParam().library, RTLD_NOW | RTLD_LOCAL);
    if (!library || !dlsym(library, blas().create)) GTEST_SKIP() << "its double has no BLAS: the vendor's header was not found";
  }
  void TearDown() override {
    rt.reset();
    GpuTest::TearDown();
  }
  const Blas &blas() const { return blas_of(GetParam()); }
  std::string key(const char *setting) const { return std::string(GetParam().driver) + "." + setting; }

  void begin(std::vector<std::pair<std::string, std::string>> more = {}) {
    std::map<std::string, std::string> all = {{"drivers", std::string("cpu,") + GetParam().driver},
                                              {"cpu.topology", kFourCores},
                                              {"workers", "1"},
                                              {"log", "error"},
                                              {key("units"), "2"}};
    if (!on_real_gpu()) {
      all[key("library")] = all[key(blas().library)] = GetParam().library;
      all[key("compiler")] = GetParam().compiler;
    }
    for (const auto &[k, v] : more) all[k] = v;
    Pairs pairs;
    for (const auto &[k, v] : all) pairs.push_back({k.c_str(), v.c_str()});
    rt = std::make_unique<Rt>(pairs);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    devices.clear(), cores.clear();
    for (uint32_t w = 0; w < info.nworkers; ++w) {
      consort_worker_info i{};
      i.size = sizeof i;
      need(consort_get_worker(*rt, w, &i), "worker");
      (std::string(i.klass) == GetParam().driver ? devices : cores).push_back(w);
    }
  }
  // One function for cores and devices.
  consort_codelet_id codelet(const char *name, Body body, uint32_t flags = 0) {
    bodies.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impls[] = {{GetParam().driver, run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
                                  {"cpu", run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(*rt, name, impls, flags);
  }
  // C := A B + C of the task's data. lda: of A, to be wrong.
  consort_status multiply(const consort_call &c, int lda) const {
    void *handle = nullptr, *gemm = nullptr;
    consort_status s = consort_library_handle(&c, blas().library, &handle);
    if (s >= 0) s = consort_library_symbol(&c, blas().library, blas().gemm, &gemm);
    if (s < 0) return s;
    const float one = 1;
    const auto at = [&](uint32_t i) { return pointer<float>(c, i); };
    const int e = reinterpret_cast<Gemm>(gemm)(handle, blas().none, blas().none, kN, kN, kN, &one, at(0), lda, at(1), static_cast<int>(mat(c, 1).ld),
                                               &one, at(2), static_cast<int>(mat(c, 2).ld));
    return consort_library_check(&c, blas().library, blas().gemm, e);
  }

  std::vector<std::unique_ptr<Body>> bodies;  // outlive the runtime
  std::unique_ptr<Rt> rt;
  std::vector<uint32_t> devices, cores;
};

TEST_P(GpuLibraries, EachWorkerKeepsAHandle) {
  begin();
  std::mutex mutex;
  std::map<uint32_t, std::set<void *>> handles;  // by worker
  std::atomic<int> bound{0};
  const auto look = [&](const consort_call &c) {
    void *handle = nullptr, *get = nullptr, *stream = nullptr;
    consort_status s = consort_library_handle(&c, blas().library, &handle);
    if (s >= 0) s = consort_library_symbol(&c, blas().library, blas().get_stream, &get);
    if (s < 0) return s;
    bound += reinterpret_cast<GetStream>(get)(handle, &stream) == 0 && stream == c.native_queue;
    const std::lock_guard lock(mutex);
    handles[c.worker].insert(handle);
    return CONSORT_OK + 0;
  };
  // Asynchronous functions run on the worker's thread, others on a second thread of its queue.
  const auto async = codelet("async", look, CONSORT_CL_ASYNC), plain = codelet("plain", look);
  for (int i = 0; i < 40; ++i) Desc(i % 2 ? async : plain).on(devices[static_cast<size_t>(i) / 2 % devices.size()]).must(*rt);
  ASSERT_OK(consort_wait_all(*rt, kLong, 0));
  EXPECT_EQ(bound, 40) << "each is bound to the queue that its function was given";
  ASSERT_EQ(handles.size(), devices.size());
  std::set<void *> all;
  for (const auto &[worker, its] : handles) {
    EXPECT_EQ(its.size(), 1u) << "worker " << worker << " made more than one";
    all.insert(its.begin(), its.end());
  }
  EXPECT_EQ(all.size(), devices.size()) << "no two share one";
}

TEST_P(GpuLibraries, StartCreatesHandlesAhead) {
  begin();
  const auto live = [&] { return on_real_gpu() ? 0 : Double(GetParam()).live(); };
  const size_t before = live();
  ASSERT_OK(consort_library_start(*rt, GetParam().driver, blas().library));
  if (!on_real_gpu()) {
    EXPECT_GE(live(), before + devices.size());
  }
  ASSERT_OK(consort_library_start(*rt, GetParam().driver, blas().library)) << "again: they are there";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_library_start(*rt, "nosuch", blas().library), "nosuch");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_library_start(*rt, nullptr, blas().library), "klass");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_library_start(*rt, "cpu", blas().library), "the driver \"cpu\" has no libraries");
}

// Chains over cores and devices: each product needs the one before, wherever it was.
TEST_P(GpuLibraries, CallsFollowStreamOrder) {
  begin();
  std::vector<float> a(kN * kN, 0), b = a, v = a, want = a;
  for (int i = 0; i < kN * kN; ++i) a[static_cast<size_t>(i)] = static_cast<float>(i % 3 - 1), b[static_cast<size_t>(i)] = static_cast<float>(i % 5 - 2);
  const auto host = [](const float *x, size_t ldx, const float *y, size_t ldy, float *z, size_t ldz) {
    for (size_t col = 0; col < kN; ++col)
      for (size_t row = 0; row < kN; ++row)
        for (size_t k = 0; k < kN; ++k) z[col * ldz + row] += x[k * ldx + row] * y[col * ldy + k];
  };
  const auto gemm = codelet("gemm", [&](const consort_call &c) {
    if (c.native_queue) return multiply(c, static_cast<int>(mat(c, 0).ld));
    host(pointer<float>(c, 0), mat(c, 0).ld, pointer<float>(c, 1), mat(c, 1).ld, pointer<float>(c, 2), mat(c, 2).ld);
    return CONSORT_OK + 0;
  }, CONSORT_CL_ASYNC);
  const auto matrix = [&](std::vector<float> &m) {
    consort_data_id x{0};
    need(consort_register_matrix(*rt, m.data(), kN, kN, kN, sizeof(float), &x), "matrix");
    return x;
  };
  const auto x = matrix(a), y = matrix(b), z = matrix(v);
  constexpr int kRounds = 40;
  for (int i = 0; i < kRounds; ++i) {
    Desc t(gemm);
    t.r(x).r(y).rw(z);
    if (i % 7) t.on(devices[static_cast<size_t>(i) / 3 % devices.size()]);
    else t.on(cores[0]);
    t.must(*rt);
    host(a.data(), kN, b.data(), kN, want.data(), kN);
  }
  ASSERT_OK(consort_wait_all(*rt, kLong, 0));
  for (const auto d : {x, y, z}) ASSERT_OK(consort_unregister(*rt, d));
  EXPECT_EQ(v, want);
}

TEST_P(GpuLibraries, RefusalsNameTheirCause) {
  begin();
  std::vector<float> m(kN * kN, 1);
  consort_data_id x{0}, z{0};
  std::vector<float> to = m;
  ASSERT_OK(consort_register_matrix(*rt, m.data(), kN, kN, kN, sizeof(float), &x));
  ASSERT_OK(consort_register_matrix(*rt, to.data(), kN, kN, kN, sizeof(float), &z));
  const auto wrong = codelet("wrong", [&](const consort_call &c) { return multiply(c, 1); }, CONSORT_CL_ASYNC);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(*rt, Desc(wrong).r(x).r(x).rw(z).on(devices[0]).must(*rt), kLong, 0), blas().library,
              blas().gemm, std::to_string(blas().bad_value), "leading dimensions");
  const auto ask = [&](const char *name, const char *library, const char *function) {
    return codelet(name, [=](const consort_call &c) {
      void *out = &out;
      const consort_status s = function ? consort_library_symbol(&c, library, function, &out) : consort_library_handle(&c, library, &out);
      EXPECT_EQ(out, nullptr);
      return s;
    });
  };
  const auto on = [&](consort_codelet_id c, uint32_t w) { return consort_task_wait(*rt, Desc(c).on(w).must(*rt), kLong, 0); };
  EXPECT_SAYS(CONSORT_E_INVAL, on(ask("a", "nosuch", nullptr), devices[0]), "\"nosuch\" is unknown", blas().library);
  EXPECT_SAYS(CONSORT_E_INVAL, on(ask("b", "", nullptr), devices[0]), "library is empty");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, on(ask("c", blas().library, "no_such_function"), devices[0]), "has no no_such_function", blas().library);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, on(ask("d", blas().library, nullptr), cores[0]), "the driver \"cpu\" has no libraries");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_library_handle(nullptr, blas().library, nullptr), "out is NULL");
  void *out = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_library_handle(nullptr, blas().library, &out), "call is not that of a codelet's function");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_library_symbol(nullptr, blas().library, nullptr, &out), "name or out is NULL");
  EXPECT_EQ(consort_library_check(nullptr, blas().library, nullptr, 0), CONSORT_OK);
  (void)consort_wait_all(*rt, kLong, 0);
  ASSERT_OK(consort_invalidate(*rt, z));
  for (const auto d : {x, z}) ASSERT_OK(consort_unregister(*rt, d));
}

TEST_P(GpuLibraries, AbsentLibraryNamesItsSetting) {
  begin({{key(blas().library), "/nowhere/libnothing.so"}});
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_library_start(*rt, GetParam().driver, blas().library), "cannot be opened", key(blas().library), "/nowhere/libnothing.so");
}

// One call fails: it is said, and nothing stays half made; the next that asks gets its handle.
TEST_P(GpuLibraries, FailedHandleIsRetried) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  const bool cuda = std::string(GetParam().driver) == "cuda";
  static constexpr const char *functions[2][2] = {{"rocblas_create_handle", "rocblas_set_stream"}, {"cublasCreate", "cublasSetStream"}};
  for (const char *function : functions[cuda]) {
    d.set(words() + ",fail=" + function + ":1:2");  // out of memory
    begin({{key("units"), "1"}, {key("devices"), "0"}});
    const auto ask = codelet("ask", [&](const consort_call &c) {
      void *out = nullptr;
      return consort_library_handle(&c, blas().library, &out);
    });
    EXPECT_SAYS(CONSORT_E_NOMEM, consort_task_wait(*rt, Desc(ask).on(devices[0]).must(*rt), kLong, 0), function,
                std::to_string(blas().too_little_memory), "is out of memory");
    EXPECT_OK(consort_task_wait(*rt, Desc(ask).on(devices[0]).must(*rt), kLong, 0));
    (void)consort_wait_all(*rt, kLong, 0);
    rt.reset();
    EXPECT_EQ(d.live(), 0u);
  }
  d.set(words());
}

TEST_P(GpuLibraries, FailedLibraryNamesItsSetting) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  d.set(words() + ",fail=" + (std::string(GetParam().driver) == "cuda" ? "cublasCreate" : "rocblas_create_handle") + ":1+:14");
  begin();
  EXPECT_SAYS(CONSORT_E_IO, consort_library_start(*rt, GetParam().driver, blas().library), blas().create, "14", "does not start",
              std::string("set ") + blas().library + " to a version");
  rt.reset();
  d.set(words());
}

TEST_P(GpuLibraries, LostDeviceInvalidatesHandles) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  begin();
  ASSERT_OK(consort_library_start(*rt, GetParam().driver, blas().library));
  d.lose(0);
  const auto ask = codelet("ask", [&](const consort_call &c) {
    void *out = nullptr;
    return consort_library_handle(&c, blas().library, &out);
  });
  for (const uint32_t w : devices) {
    consort_task_id t{0};
    if (Desc(ask).on(w).to(*rt, &t) >= 0) (void)consort_task_wait(*rt, t, kLong, 0);
  }
  (void)consort_wait_all(*rt, kLong, 0);
  rt.reset();
  d.set(words());
}

// A layer between kernel and driver forwards the extension.
TEST_P(GpuLibraries, LayersForwardHandles) {
  testing::internal::CaptureStderr();
  begin({{"layers", "checks"}});
  // The first that asks is inside submit(), where a driver may not ask for settings.
  const auto inside = codelet("inside submit()", [&](const consort_call &c) {
    void *out = nullptr;
    return consort_library_handle(&c, blas().library, &out);
  }, CONSORT_CL_ASYNC);
  for (const uint32_t w : devices) EXPECT_OK(consort_task_wait(*rt, Desc(inside).on(w).must(*rt), kLong, 0));
  EXPECT_OK(consort_library_start(*rt, GetParam().driver, blas().library));
  const auto ask = codelet("ask", [&](const consort_call &c) {
    void *out = nullptr;
    const consort_status s = consort_library_symbol(&c, blas().library, blas().gemm, &out);
    return s < 0 ? s : consort_library_check(&c, blas().library, "it", blas().bad_value);
  });
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(*rt, Desc(ask).on(devices[0]).must(*rt), kLong, 0), "it answers");
  (void)consort_wait_all(*rt, kLong, 0);
  rt.reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

CONSORT_GPU_VENDORS(GpuLibraries);

}  // namespace
}  // namespace consort_test

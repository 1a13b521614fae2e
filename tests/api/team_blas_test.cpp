// A parallel BLAS inside a function that a team runs: as many of its threads as the team has members. Its setting is one for
// the whole process, so there is one team at a time. PAR-06, PAR-10.
#include "api/team_bodies.hpp"

#if !defined(CONSORT_HAS_OPENBLAS)
TEST(ParallelBlas, SkippedWithoutOpenBlas) { GTEST_SKIP() << "OpenBLAS was not found"; }
#else
#include <cblas.h>

#include <map>
#include <random>

namespace consort_test {
namespace {

constexpr int kN = 192;

struct Product {
  std::vector<float> a, b, c, want;
  explicit Product(uint32_t seed) : a(kN * kN), b(kN * kN), c(kN * kN, 1.f), want(kN * kN, 1.f) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> some(-1, 1);
    for (float &x : a) x = some(random);
    for (float &x : b) x = some(random);
    for (int i = 0; i < kN; ++i)
      for (int k = 0; k < kN; ++k)
        for (int j = 0; j < kN; ++j) want[i * kN + j] += a[i * kN + k] * b[k * kN + j];
  }
};

TEST(ParallelBlas, UsesAsManyThreadsAsTheTeam) {  // PAR-06, PAR-10
  const int before = openblas_get_num_threads();
  TeamBodies body;
  Rt rt({{"workers", "4"}, {"cpu.topology", kFourCores}, {"keep_models", "no"}, {"teams", "single"}, {"scheduler", "peager"}});
  std::atomic<uint32_t> at_once{0}, most{0}, wrong{0};
  std::mutex mutex;
  std::map<uint32_t, int> sizes;
  const auto gemm = body(rt, "gemm", CONSORT_CL_FORKJOIN, [&](const consort_call &call) -> consort_status {
    most = std::max(most.load(), ++at_once);
    openblas_set_num_threads(static_cast<int>(call.team));
    wrong += openblas_get_num_threads() != static_cast<int>(call.team);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kN, kN, kN, 1.f, pointer<float>(call, 0), kN, pointer<float>(call, 1), kN, 1.f,
                pointer<float>(call, 2), kN);
    --at_once;
    const std::lock_guard lock(mutex);
    return ++sizes[call.team], CONSORT_OK;
  });
  std::vector<Product> all;
  for (uint32_t i = 0; i < 8; ++i) all.emplace_back(i + 1);
  std::vector<consort_data_id> data;
  const auto run = [&](Product &p, uint32_t on) {
    for (std::vector<float> *v : {&p.a, &p.b, &p.c}) data.push_back(vector_of(rt, v->data(), v->size(), sizeof(float)));
    const size_t n = data.size();
    EXPECT_OK(Desc(gemm).r(data[n - 3]).r(data[n - 2]).rw(data[n - 1]).on(on).to(rt));
  };
  for (uint32_t i = 0; i < 4; ++i) run(all[i], i == 0 ? 0 : 3 + i);  // worker 0, then the teams of two, three and four
  for (uint32_t i = 4; i < 8; ++i) run(all[i], CONSORT_NONE);        // as the policy likes
  ASSERT_OK(consort_wait_all(rt, kLong * kSlow, 0));
  for (const auto x : data) EXPECT_OK(consort_unregister(rt, x));
  EXPECT_OK(rt.stop());
  openblas_set_num_threads(before);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(most, 1u) << "one call at a time";
  for (const uint32_t size : {1u, 2u, 3u, 4u}) EXPECT_GE(sizes[size], 1) << size;
  for (const Product &p : all)
    for (int i = 0; i < kN * kN; ++i) ASSERT_NEAR(p.c[i], p.want[i], 1e-3f * kN / 10);
}

}  // namespace
}  // namespace consort_test
#endif

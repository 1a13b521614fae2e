// The layer "access" names what kernels of a device write wrongly, over OpenCL on PoCL; correct kernels get no line.
#include "layers/program.hpp"

namespace consort_test {
namespace {

// Arguments of each vector: its elements, and their number.
constexpr const char *kKernels = R"(
__kernel void doubles(__global int *out, ulong m, __global const int *in, ulong n) {
  size_t i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
}
__kernel void spoils(__global int *out, ulong m, __global int *in, ulong n) {
  size_t i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
  if (i == 5) in[i] = 77;
}
__kernel void spoils_last(__global int *out, ulong m, __global int *in, ulong n) {
  size_t i = get_global_id(0);
  if (i < n) out[i] = 2 * in[i];
  if (i + 1 == n) in[i] = 78;
}
__kernel void adds(__global int *out, ulong m) { if (get_global_id(0) < m) out[get_global_id(0)] += 1; }
__kernel void strays(__global int *out, ulong m, ulong distance) {
  size_t i = get_global_id(0);
  if (i < m) out[i] += 1;
  if (i == 3) *(__global int *)((__global char *)out + distance) = 79;
}
)";
constexpr int kLength = 3000;

struct OnDevice {
  Lines lines;
  consort_runtime *rt = nullptr;
  std::vector<int> a = std::vector<int>(kLength, 1), b = std::vector<int>(kLength, 2), c = std::vector<int>(kLength, 3);
  consort_data_id x{0}, y{0}, z{0};

  explicit OnDevice(bool check = true, bool fatal = false) {
    const Pairs pairs = {{"check_access", check ? "true" : "false"}, {"drivers", "cpu,opencl"}, {"cpu.topology", kFourCores},
                         {"cpu.workers", "1"}, {"opencl.types", "cpu"}, {"opencl.platforms", "portable"}, {"opencl.cache", "off"},
                         {check ? "access.fatal" : "window", check ? fatal ? "true" : "false" : "100"}};
    consort_settings settings = CONSORT_SETTINGS_INIT;
    settings.set = pairs.data(), settings.nset = static_cast<uint32_t>(pairs.size());
    settings.log = Lines::write, settings.log_user = &lines;
    if (consort_start(&settings, &rt) < 0) return;
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(rt, &info), "info");
    if (info.nclasses < 2) consort_stop(std::exchange(rt, nullptr));
    if (!rt) return;
    {
      const std::lock_guard lock(watch().mutex);
      watch().runtimes.push_back(rt);
    }
    x = vector_of(rt, a.data(), a.size(), sizeof(int), "x");
    y = vector_of(rt, b.data(), b.size(), sizeof(int), "y");
    z = vector_of(rt, c.data(), c.size(), sizeof(int), "z");
  }
  ~OnDevice() { stop(); }
  void stop() {
    if (!rt) return;
    consort_wait_all(rt, kLong, 0);
    for (const consort_data_id d : {x, y, z}) consort_unregister(rt, d);
    {
      const std::lock_guard lock(watch().mutex);
      std::erase(watch().runtimes, rt);
    }
    consort_stop(std::exchange(rt, nullptr));
  }
  consort_codelet_id kernel(const char *name) {
    const consort_impl impl = {"opencl", nullptr, nullptr, nullptr, "cl", kKernels, name, 0};
    return codelet_of(rt, name, {&impl, 1});
  }
  void named(std::initializer_list<std::string> words) {
    stop();
    const std::string all = lines.all();
    const size_t at = all.find("access: device: ");
    ASSERT_NE(at, all.npos) << all;
    const std::string line = all.substr(at, all.find('\n', at) - at);
    for (const std::string &w : words) EXPECT_NE(line.find(w), line.npos) << w << "\n" << line;
    EXPECT_EQ(all.find("access: ", at + 8), all.npos) << all;
  }
};
#define NEEDS_DEVICE(d) \
  if (!(d).rt) GTEST_SKIP() << "no OpenCL device here: install pocl-opencl-icd"

TEST(AccessLayerOnDevices, NamesAWriteToWhatIsDeclaredR) {
  OnDevice d;
  NEEDS_DEVICE(d);
  Desc(d.kernel("spoils")).w(d.y).r(d.x).name("first").must(d.rt);
  d.named({"task \"first\"", "codelet \"spoils\"", "writes byte 20 of datum \"x\" (12000 bytes)", "declared R", "device"});
}
TEST(AccessLayerOnDevices, NamesAWriteToTheLastElementOfWhatIsDeclaredR) {
  OnDevice d;
  NEEDS_DEVICE(d);
  for (int i = 0; i < 3; ++i) Desc(d.kernel("doubles")).w(d.y).r(d.x).must(d.rt);
  Desc(d.kernel("spoils_last")).w(d.z).r(d.y).must(d.rt);
  d.named({"codelet \"spoils_last\"", "writes byte 11996 of datum \"y\"", "declared R"});
}
// The addresses of two replicas are compared in the kernel itself, whose memory PoCL shares with the host. One run in eight
// does not name the write: it is asked for in one of several.
TEST(AccessLayerOnDevices, NamesAWriteToADatumThatIsNotDeclared) {
  if (CONSORT_SAN) GTEST_SKIP() << "the kernel writes where the sanitizer's allocator has put another replica";
  static constexpr const char *kAddresses =
      "__kernel void tells(__global ulong *out, ulong m, __global int *p, ulong n, __global int *q, ulong k) {"
      "  if (get_global_id(0) == 0) out[0] = (ulong)((__global char *)q - (__global char *)p); }";
  const consort_impl impl = {"opencl", nullptr, nullptr, nullptr, "cl", kAddresses, "tells", 0};
  for (int attempt = 0; attempt < 10; ++attempt) {
    OnDevice d;
    NEEDS_DEVICE(d);
    uint64_t distance = 0;
    const consort_data_id told = vector_of(d.rt, &distance, 1, sizeof distance, "told");
    const auto tells = codelet_of(d.rt, "tells", {&impl, 1});
    const auto adds = d.kernel("adds");
    for (int i = 0; i < 2; ++i) Desc(adds).rw(d.x).must(d.rt), Desc(adds).rw(d.y).must(d.rt);
    Desc(tells).rw(told).r(d.x).r(d.y).must(d.rt);
    consort_hold hold{};
    ASSERT_OK(consort_acquire(d.rt, told, CONSORT_M_R, kLong, &hold));
    ASSERT_OK(consort_release(d.rt, hold));
    Desc(d.kernel("strays")).rw(d.x).arg(distance + 40).name("stray").must(d.rt);
    ASSERT_OK(consort_wait_all(d.rt, kLong, 0));
    ASSERT_OK(consort_unregister(d.rt, told));
    d.stop();
    if (!d.lines.has("access: device: ")) continue;
    return d.named({"task \"stray\"", "codelet \"strays\"", "writes byte 40 of datum \"y\"", "did not declare", "device"});
  }
  FAIL() << "no run named the write";
}
TEST(AccessLayerOnDevices, FailsTheTaskIfAsked) {
  OnDevice d(true, true);
  NEEDS_DEVICE(d);
  Desc(d.kernel("spoils")).w(d.y).r(d.x).must(d.rt);
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_wait_all(d.rt, kLong, 0), "access.fatal");
}
TEST(AccessLayerOnDevices, CorrectKernelsRunUnchanged) {
  std::vector<int> results[2];
  for (const bool check : {false, true}) {
    OnDevice d(check);
    NEEDS_DEVICE(d);
    const auto doubles = d.kernel("doubles"), adds = d.kernel("adds");
    for (int i = 0; i < 12; ++i) {
      Desc(doubles).w(d.y).r(d.x).must(d.rt);
      Desc(adds).rw(d.y).must(d.rt);
      Desc(doubles).w(d.z).r(d.y).must(d.rt);
      Desc(adds).rw(d.x).must(d.rt);
    }
    d.stop();
    EXPECT_FALSE(d.lines.has("access: ")) << d.lines.all();
    for (const auto *v : {&d.a, &d.b, &d.c}) results[check].insert(results[check].end(), v->begin(), v->end());
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace consort_test

// Where a scheduler puts kernels that a core and an OpenCL device can both run, in the world's time: three kernels, each far
// faster on one side. First the models learn, then it counts: for each kernel and side the tasks, what the models told beforehand
// and what was measured. One line of JSON for each. `./run bench placement` calls this.
#include <consort/consort.h>
#include <consort/layouts.h>
#include <consort/model.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace {

void must(consort_status s, const char *what) {
  if (s >= 0) return;
  std::fprintf(stderr, "placement: %s: %s\n", what, consort_error());
  std::exit(s == CONSORT_E_UNSUPPORTED && !std::strcmp(what, "start") ? 3 : 1);
}

float *numbers(const consort_call *c, uint32_t i) {
  return reinterpret_cast<float *>(static_cast<const consort_vector_view *>(c->views[i])->addr.base +
                                   static_cast<const consort_vector_view *>(c->views[i])->addr.off);
}
uint64_t count(const consort_call *c, uint32_t i) { return static_cast<const consort_vector_view *>(c->views[i])->n; }

// Running sums: one pass on a core; a device's work items know nothing of one another, so each sums up from the start.
consort_status sums(const consort_call *c) {
  const float *x = numbers(c, 0);
  float *y = numbers(c, 1), sum = 0;
  for (uint64_t i = 0, n = count(c, 0); i < n; ++i) y[i] = sum += x[i];
  return CONSORT_OK;
}
constexpr const char *kSums = R"(
  __kernel void sums(__global const float *x, ulong nx, __global float *y, ulong ny) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (size_t k = 0; k <= i; ++k) sum += x[k];
    y[i] = sum;
  })";

// A polynomial of each number: on the core the version that others are checked against, in the widest numbers that there are.
constexpr int kDegree = 96;
consort_status series(const consort_call *c) {
  const float *y = numbers(c, 0);
  float *x = numbers(c, 1);
  const uint64_t n = count(c, 0);
  for (uint64_t i = 0; i < n; ++i) {
    const long double t = static_cast<long double>(y[i]) / static_cast<long double>(n) / 2;
    long double p = 0;
    for (int k = 0; k < kDegree; ++k) p = p * t + 0.25L;
    x[i] = static_cast<float>(p);
  }
  return CONSORT_OK;
}
constexpr const char *kSeries = R"(
  __kernel void series(__global const float *y, ulong ny, __global float *x, ulong nx) {
    size_t i = get_global_id(0);  // sixteen numbers each; the work items behind them have nothing to do
    if (i >= ny / 16) return;
    float16 t = vload16(i, y) / (float)ny / 2, p = 0;
    for (int k = 0; k < 96; ++k) p = p * t + 0.25f;
    vstore16(p, i, x);
  })";

// Puts numbers in order: a core by a method for cores, a device by counting for each how many come before it.
consort_status sort(const consort_call *c) {
  const float *x = numbers(c, 0);
  float *z = numbers(c, 1);
  std::copy(x, x + count(c, 0), z);
  std::sort(z, z + count(c, 0));
  return CONSORT_OK;
}
constexpr const char *kSort = R"(
  __kernel void sort(__global const float *x, ulong nx, __global float *z, ulong nz) {
    size_t i = get_global_id(0), place = 0;
    float me = x[i];
    for (size_t k = 0; k < nx; ++k) place += x[k] < me || (x[k] == me && k < i);
    z[place] = me;
  })";

struct Kernel {
  const char *name;
  consort_call_fn *core;
  const char *text;
  consort_codelet_id codelet{};
};

struct Seen { std::string kernel; uint32_t worker; uint64_t began, took; };

struct Watch {
  std::mutex mutex;
  bool on = false;
  std::vector<uint64_t> open;  // by worker: when its task began
  std::vector<Seen> seen;
};

void watch(void *user, const consort_trace_event *e) {
  Watch &w = *static_cast<Watch *>(user);
  const std::lock_guard lock(w.mutex);
  if (w.open.size() <= e->worker) w.open.resize(e->worker + 1);
  if (e->what == 0) w.open[e->worker] = e->t_ns;
  else if (w.on) w.seen.push_back({e->name, e->worker, w.open[e->worker], e->t_ns - w.open[e->worker]});
}

double median(std::vector<double> all) {
  if (all.empty()) return NAN;
  std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char **argv) {
  const char *policy = "dmda";
  uint64_t length = 16384;
  int rounds = 60;
  for (int i = 1; i < argc; i += 2) {
    const bool more = i + 1 < argc;
    if (more && !std::strcmp(argv[i], "--policy")) policy = argv[i + 1];
    else if (more && !std::strcmp(argv[i], "--rounds")) rounds = std::max(1, std::atoi(argv[i + 1]));
    else if (more && !std::strcmp(argv[i], "--length")) length = static_cast<uint64_t>(std::max(64, std::atoi(argv[i + 1])));
    else return std::fprintf(stderr, "usage: %s [--policy NAME] [--rounds N] [--length N]\n", argv[0]), 2;
  }
  constexpr int kVectors = 4;
  length = length / 16 * 16;
  std::vector<std::vector<float>> x(kVectors), y(kVectors), z(kVectors);
  for (int v = 0; v < kVectors; ++v) {
    for (uint64_t i = 0; i < length; ++i) x[v].push_back(static_cast<float>((i * 7 + static_cast<uint64_t>(v)) % 10) / 10);
    y[v].resize(length), z[v].resize(length);
  }
  auto expected = x;

  consort_settings settings = CONSORT_SETTINGS_INIT;
  const consort_setting set[] = {{"drivers", "cpu,opencl"}, {"opencl.types", "all"}, {"workers", "1"}, {"scheduler", policy},
                                 {"keep_models", "no"}, {"profile", "true"}};
  settings.set = set;
  settings.nset = sizeof set / sizeof *set;
  consort_runtime *rt = nullptr;
  must(consort_start(&settings, &rt), "start");
  consort_info info{};
  info.size = sizeof info;
  must(consort_get_info(rt, &info), "info");
  std::vector<std::string> classes;
  for (uint32_t w = 0; w < info.nworkers; ++w) {
    consort_worker_info one{};
    one.size = sizeof one;
    must(consort_get_worker(rt, w, &one), "worker");
    classes.push_back(one.klass);
  }
  if (std::find(classes.begin(), classes.end(), "opencl") == classes.end()) {
    std::fprintf(stderr, "placement: no OpenCL device here (Debian: pocl-opencl-icd)\n");
    return consort_stop(rt), 3;
  }
  Watch w;
  must(consort_trace(rt, watch, &w), "trace");

  Kernel kernels[] = {{"sums", sums, kSums}, {"series", series, kSeries}, {"sort", sort, kSort}};
  for (Kernel &k : kernels) {
    const consort_impl impls[] = {{"cpu", k.core, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                  {"opencl", nullptr, nullptr, nullptr, "cl", k.text, k.name, 0}};
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = k.name;
    c.impls = impls;
    c.nimpls = 2;
    must(consort_codelet_add(rt, &c, &k.codelet), "codelet");
  }
  consort_data_id dx[kVectors], dy[kVectors], dz[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    must(consort_register_vector(rt, x[v].data(), length, sizeof(float), &dx[v]), "register");
    must(consort_register_vector(rt, y[v].data(), length, sizeof(float), &dy[v]), "register");
    must(consort_register_vector(rt, z[v].data(), length, sizeof(float), &dz[v]), "register");
  }
  consort_use uses[2];
  const auto task = [&](const Kernel &k, int v) {
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = k.codelet;
    d.uses = uses;
    d.nuses = 2;
    if (&k == &kernels[0]) uses[0] = {dx[v], CONSORT_M_R, 0}, uses[1] = {dy[v], CONSORT_M_W, 0};
    else if (&k == &kernels[1]) uses[0] = {dy[v], CONSORT_M_R, 0}, uses[1] = {dx[v], CONSORT_M_W, 0};
    else uses[0] = {dx[v], CONSORT_M_R, 0}, uses[1] = {dz[v], CONSORT_M_W, 0};
    return d;
  };
  int done = 0;
  const auto run = [&](int n) {
    for (int r = 0; r < n; ++r, ++done)
      for (int v = 0; v < kVectors; ++v)
        for (const Kernel &k : kernels) {
          const consort_task_desc d = task(k, v);
          must(consort_submit(rt, &d, nullptr), "submit");
        }
    must(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  };
  // Until each kernel has a model on each side: a policy that uses models tries unknown kernels, a few at a time.
  const auto told = [&](const Kernel &k, const char *klass) {
    const consort_task_desc d = task(k, 0);
    double ns = NAN;
    for (uint32_t worker = 0; worker < classes.size() && std::isnan(ns); ++worker)
      if (classes[worker] == klass && consort_expected(rt, &d, worker, CONSORT_NONE, CONSORT_MODEL_TIME, &ns) != CONSORT_OK) ns = NAN;
    return ns;
  };
  const char *const sides[] = {"cpu", "opencl"};
  for (int learned = 0; learned < 40; ++learned) {
    run(2);
    bool known = true;
    for (const Kernel &k : kernels)
      for (const char *side : sides) known &= !std::isnan(told(k, side));
    if (known) break;
  }
  double predicted[3][2];
  for (int k = 0; k < 3; ++k)
    for (int s = 0; s < 2; ++s) predicted[k][s] = told(kernels[k], sides[s]);
  {
    const std::lock_guard lock(w.mutex);
    w.on = true;
  }
  run(rounds);
  for (int v = 0; v < kVectors; ++v)
    for (const consort_data_id d : {dx[v], dy[v], dz[v]}) must(consort_unregister(rt, d), "unregister");
  must(consort_stop(rt), "stop");

  // What came out, beside the same on one core.
  double worst = 0;
  for (int v = 0; v < kVectors; ++v) {
    std::vector<float> sum(length);
    for (int r = 0; r < done; ++r) {
      double all = 0;  // as exact as it may be: the sides add in one order, but round as they like
      for (uint64_t i = 0; i < length; ++i) {
        all += expected[v][i];
        sum[i] = static_cast<float>(all);
      }
      for (uint64_t i = 0; i < length; ++i) {
        const double t = sum[i] / static_cast<double>(length) / 2;
        double p = 0;
        for (int k = 0; k < kDegree; ++k) p = p * t + 0.25;
        expected[v][i] = static_cast<float>(p);
      }
    }
    for (uint64_t i = 0; i < length; ++i) worst = std::max(worst, std::fabs(double{x[v][i]} - expected[v][i]) / expected[v][i]);
    auto sorted = x[v];
    std::sort(sorted.begin(), sorted.end());
    if (sorted != z[v]) worst = 1;
  }
  for (int k = 0; k < 3; ++k) {
    // A kernel without a model, or with a model on one side only, has no known faster side.
    const int faster = predicted[k][0] <= predicted[k][1] ? 0 : predicted[k][1] < predicted[k][0] ? 1 : -1;
    size_t all = 0;
    for (const Seen &s : w.seen) all += s.kernel == kernels[k].name;
    for (int s = 0; s < 2; ++s) {
      std::vector<double> took;
      for (const Seen &one : w.seen)
        if (one.kernel == kernels[k].name && classes[one.worker] == sides[s]) took.push_back(static_cast<double>(one.took));
      const auto us = [](double ns) { return std::isnan(ns) ? std::string("null") : std::to_string(ns / 1e3); };
      const double measured = median(took);
      std::printf("{\"kernel\": \"%s\", \"units\": \"%s\", \"policy\": \"%s\", \"tasks\": %zu, \"share\": %.4f, \"faster\": %s, "
                  "\"predicted_us\": %s, \"measured_us\": %s, \"error\": %.2g}\n",
                  kernels[k].name, sides[s], policy, took.size(), all ? static_cast<double>(took.size()) / static_cast<double>(all) : 0,
                  s == faster ? "true" : "false", us(predicted[k][s]).c_str(), us(measured).c_str(), worst);
    }
  }
  return worst > 1e-3;
}

/* The words of CUDA C, for the host's compiler. A block's threads are executed one after another. Threads that wait for
 * each other (__syncthreads) take turns, each on a stack of its own. It stands before each program. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef CONSORT_DOUBLE_BARRIERS
#include <sys/mman.h>
#include <ucontext.h>
#endif

#define __global__ __attribute__((used, noinline))
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __constant__ static
#define __shared__ static thread_local
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define warpSize 32

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct float2 {
  float x, y;
};
struct float3 {
  float x, y, z;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct double2 {
  double x, y;
};
struct int2 {
  int x, y;
};
struct int4 {
  int x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

alignas(64) static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
static thread_local unsigned char *consort_dynamic_shared;

template <class T>
inline T consort_add(T *at, T value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <class T, class Word>
inline T consort_add_real(T *at, T value) {
  Word old = __atomic_load_n((Word *)at, __ATOMIC_RELAXED), now;
  T was;
  do {
    memcpy(&was, &old, sizeof was);
    T sum = was + value;
    memcpy(&now, &sum, sizeof now);
  } while (!__atomic_compare_exchange_n((Word *)at, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return was;
}
inline int atomicAdd(int *at, int v) { return consort_add(at, v); }
inline unsigned atomicAdd(unsigned *at, unsigned v) { return consort_add(at, v); }
inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long v) { return consort_add(at, v); }
inline float atomicAdd(float *at, float v) { return consort_add_real<float, uint32_t>(at, v); }
inline double atomicAdd(double *at, double v) { return consort_add_real<double, uint64_t>(at, v); }
template <class T>
inline T atomicExch(T *at, T v) {
  return __atomic_exchange_n(at, v, __ATOMIC_RELAXED);
}
template <class T>
inline T atomicCAS(T *at, T expected, T v) {
  __atomic_compare_exchange_n(at, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
inline T atomicMax(T *at, T v) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (old < v && !__atomic_compare_exchange_n(at, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
inline T atomicMin(T *at, T v) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (v < old && !__atomic_compare_exchange_n(at, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {}
template <class T>
inline T __ldg(const T *at) {
  return *at;
}
#define CONSORT_ENDS(T)                            \
  inline T min(T a, T b) { return a < b ? a : b; } \
  inline T max(T a, T b) { return a > b ? a : b; }
CONSORT_ENDS(int)
CONSORT_ENDS(unsigned) CONSORT_ENDS(long) CONSORT_ENDS(unsigned long) CONSORT_ENDS(long long)
    CONSORT_ENDS(unsigned long long) CONSORT_ENDS(float) CONSORT_ENDS(double) inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __int_as_float(int v) {
  float f;
  memcpy(&f, &v, 4);
  return f;
}
inline int __float_as_int(float f) {
  int v;
  memcpy(&v, &f, 4);
  return v;
}

#ifdef CONSORT_DOUBLE_BARRIERS
struct consort_turns {
  ucontext_t main, *threads;
  char *done;
  unsigned count, now;
  void (*body)(void *);
  void *argument;
};
static thread_local consort_turns *consort_in;
extern "C" __attribute__((noinline)) void consort_yield() {
  consort_turns *in = consort_in;
  swapcontext(&in->threads[in->now], &in->main);
  __asm__ volatile("" ::: "memory");
}
#define __syncthreads() consort_yield()
#define __syncwarp(...) consort_yield()
static void consort_begin() {
  consort_turns *in = consort_in;
  in->body(in->argument);
  in->done[in->now] = 1;
  swapcontext(&in->threads[in->now], &in->main);
}
static void consort_block(void (*body)(void *), void *argument) {
  enum { stack = 1 << 16 };
  consort_turns in;
  in.count = blockDim.x * blockDim.y * blockDim.z;
  in.threads = (ucontext_t *)calloc(in.count, sizeof *in.threads);
  in.done = (char *)calloc(in.count, 1);
  char *stacks = (char *)mmap(0, (size_t)stack * in.count, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  in.body = body;
  in.argument = argument;
  consort_in = &in;
  for (unsigned i = 0; i < in.count; ++i) {
    getcontext(&in.threads[i]);
    in.threads[i].uc_stack.ss_sp = stacks + (size_t)i * stack;
    in.threads[i].uc_stack.ss_size = stack;
    makecontext(&in.threads[i], consort_begin, 0);
  }
  for (unsigned left = in.count; left;) {
    left = 0;
    for (in.now = 0; in.now < in.count; ++in.now) {
      if (!in.done[in.now]) {
        threadIdx = {in.now % blockDim.x, in.now / blockDim.x % blockDim.y, in.now / (blockDim.x * blockDim.y)};
        swapcontext(&in.main, &in.threads[in.now]);
        left += !in.done[in.now];
      }
    }
  }
  munmap(stacks, (size_t)stack * in.count);
  free(in.done);
  free(in.threads);
}
#else
static void consort_block(void (*body)(void *), void *argument) {
  for (threadIdx.z = 0; threadIdx.z < blockDim.z; ++threadIdx.z) {
    for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y) {
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
        body(argument);
      }
    }
  }
}
#endif

template <class T>
struct consort_kind {
  enum { value = sizeof(T) >= 8 ? consort_double_unknown : consort_double_value };
};
template <class T>
struct consort_kind<T *> {
  enum { value = consort_double_writes };
};
template <class T>
struct consort_kind<const T *> {
  enum { value = consort_double_reads };
};
template <>
struct consort_kind<double> {
  enum { value = consort_double_value };
};
template <>
struct consort_kind<long> {
  enum { value = consort_double_value };
};
template <>
struct consort_kind<long long> {
  enum { value = consort_double_value };
};
template <>
struct consort_kind<unsigned long> {
  enum { value = consort_double_value };
};
template <>
struct consort_kind<unsigned long long> {
  enum { value = consort_double_value };
};

template <unsigned... I>
struct consort_indices {};
template <unsigned N, unsigned... I>
struct consort_count : consort_count<N - 1, N - 1, I...> {};
template <unsigned... I>
struct consort_count<0, I...> {
  using type = consort_indices<I...>;
};

template <class... A>
struct consort_params {
  consort_double_param list[sizeof...(A) + 1];
  constexpr consort_params() : list{} {
    unsigned sizes[] = {sizeof(A)..., 0}, aligns[] = {alignof(A)..., 1};
    unsigned kinds[] = {consort_kind<A>::value..., 0};
    unsigned at = 0;
    for (unsigned i = 0; i < sizeof...(A); ++i) {
      at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
      list[i] = {sizes[i], at, kinds[i]};
      at += sizes[i];
    }
  }
};

template <auto F>
struct consort_kernel;
template <class... A, void (*F)(A...)>
struct consort_kernel<F> {
  static constexpr consort_params<A...> params{};
  template <unsigned... I>
  static void call(void **p, consort_indices<I...>) {
    F(*(A *)p[I]...);
    (void)p;
  }
  static void thread(void *p) { call((void **)p, typename consort_count<sizeof...(A)>::type()); }
  static void run(void **p, const consort_double_launch *launch) {
    gridDim = dim3(launch->grid[0], launch->grid[1], launch->grid[2]);
    blockDim = dim3(launch->block[0], launch->block[1], launch->block[2]);
    consort_dynamic_shared = launch->shared ? (unsigned char *)calloc(launch->shared, 1) : nullptr;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z) {
      for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
          consort_block(thread, p);
        }
      }
    }
    free(consort_dynamic_shared);
  }
};
#define CONSORT_KERNEL(name, ...)                                                                                      \
  {                                                                                                                    \
    name, (const void *)(__VA_ARGS__), consort_kernel<(__VA_ARGS__)>::run, consort_kernel<(__VA_ARGS__)>::params.list, \
        sizeof consort_kernel<(__VA_ARGS__)>::params.list / sizeof(consort_double_param) - 1, 0                        \
  }

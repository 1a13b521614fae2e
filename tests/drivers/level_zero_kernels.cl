// Kernels of the tests of the Level Zero driver. level_zero_kernels.hpp is what becomes of them; where this file changes:
//   clang-15 -cl-std=CL2.0 -target spir64 -O1 -emit-llvm -c level_zero_kernels.cl -o k.bc
//   llvm-spirv-15 k.bc -o k.spv
//   python3 level_zero_kernels.py k.spv > level_zero_kernels.hpp
__kernel void scale(__global float *x, ulong off, ulong n, float a) {
  __global float *p = (__global float *)((__global char *)x + off);
  if (get_global_id(0) < n) p[get_global_id(0)] *= a;
}
__kernel void plain(__global float *x, ulong n, float a) {
  if (get_global_id(0) < n) x[get_global_id(0)] *= a;
}
__kernel void axpy(__global const float *x, ulong n, __global float *y, ulong m, float a) {
  size_t i = get_global_id(0);
  if (i < n && i < m) y[i] = fma(a, x[i], y[i]);
}
typedef struct { int a; float b; } pair;
__kernel void sum(__global int *out, pair p, __local int *mine, __local int *all) {
  size_t i = get_local_id(0);
  mine[i] = (int)i + p.a;
  all[i] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i == 0) {
    int s = 0;
    for (size_t k = 0; k < get_local_size(0); ++k) s += mine[k] * all[k];
    out[get_group_id(0)] = s + (int)p.b;
  }
}
__kernel void spin(__global int *x, int n) {
  int s = x[0];
  for (int i = 0; i < n; ++i) s = s * 3 + i;
  x[0] = s;
}
__kernel void slow(__global int *x, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s = s * 3 + x[1];
  x[0] = s * 0 + 5;
}
__kernel void copy(__global int *x) { x[2] = x[0]; }
__kernel void add(__global uint *x, ulong n, uint a, uint b) {
  if (get_global_id(0) < n) x[get_global_id(0)] = x[get_global_id(0)] * a + b;
}
__kernel void grid(__global ulong *out) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  out[x + get_global_size(0) * (y + get_global_size(1) * z)] = x + 100 * y + 10000 * z + 1000000 * get_group_id(0) + 100000000 * get_local_id(1);
}
__constant float table[4] = {1.5f, -2.0f, 0.25f, 8.0f};
float pick(int k, float x) {
  switch (k) {
    case 0: return sqrt(x);
    case 1: return exp(x) + sin(x);
    case 2: return fmax(x, 2.0f) - pow(x, 3.0f);
    case 7: return table[(int)x & 3];
    default: return fabs(x) / 3.0f;
  }
}
__kernel void maths(__global float *f, __global double *d, __global float4 *v, __global uchar *c, __global long *l, int k) {
  size_t i = get_global_id(0);
  f[i] = pick(k, f[i]);
  d[i] = k > 3 ? d[i] * 0.5 : (double)(long)d[i];
  v[i] = v[i].wzyx * 2.0f + (float4)(1, 2, 3, 4);
  c[i] = (uchar)(c[i] << 1) ^ (uchar)k;
  l[i] = (l[i] >> 2) + min((long)k, l[i] % 5) + (short)l[i] + (l[i] < 0 ? convert_uint(c[i]) : clamp(k, 1, 3));
}

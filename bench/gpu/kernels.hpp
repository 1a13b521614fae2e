// kernels.hpp — the benchmarks' kernels, as source for drivers that compile, and as PTX for the others: clang 19 made
// it of the same lines (--target=nvptx64 -march=sm_50 -O1 -fno-unroll-loops), and older drivers may read it, too. All is constant.
#pragma once

namespace bench::gpu {

// Of each datum its address and its length. `times` is what the work takes.
inline constexpr char kSource[] = R"(
#define INDEX (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x)
extern "C" __global__ void nothing(float *x, unsigned long long nx) {}
extern "C" __global__ void work(const float *x, unsigned long long nx, float *y, unsigned long long ny, unsigned times) {
  unsigned long long i = INDEX;
  if (i >= ny) return;
  float v = x[i];
  for (unsigned k = 0; k < times; ++k) v = v * 0.5f + 1.0f;
  y[i] = v;
}
extern "C" __global__ void mix(const float *a, unsigned long long na, const float *b, unsigned long long nb, float *c,
                               unsigned long long nc, unsigned times) {
  unsigned long long i = INDEX;
  if (i >= nc) return;
  float v = c[i], s = a[i] + b[i];
  for (unsigned k = 0; k < times; ++k) v = v * 0.5f + s;
  c[i] = v;
}
)";

inline constexpr char kPtx[] = R"(.version 8.5
.target sm_50
.address_size 64
.visible .entry nothing(
	.param .u64 nothing_param_0,
	.param .u64 nothing_param_1
)
{
	ret;
}
.visible .entry work(
	.param .u64 work_param_0,
	.param .u64 work_param_1,
	.param .u64 work_param_2,
	.param .u64 work_param_3,
	.param .u32 work_param_4
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<8>;
	.reg .f32 	%f<6>;
	.reg .b64 	%rd<13>;
	ld.param.u64 	%rd6, [work_param_3];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mul.wide.u32 	%rd7, %r4, %r5;
	mov.u32 	%r6, %tid.x;
	cvt.u64.u32 	%rd8, %r6;
	add.s64 	%rd3, %rd7, %rd8;
	setp.ge.u64 	%p1, %rd3, %rd6;
	@%p1 bra 	$L__BB1_3;
	ld.param.u32 	%r7, [work_param_4];
	ld.param.u64 	%rd4, [work_param_0];
	ld.param.u64 	%rd5, [work_param_2];
	cvta.to.global.u64 	%rd1, %rd5;
	cvta.to.global.u64 	%rd2, %rd4;
	shl.b64 	%rd9, %rd3, 2;
	add.s64 	%rd10, %rd2, %rd9;
	ld.global.f32 	%f5, [%rd10];
	setp.eq.s32 	%p2, %r7, 0;
	@%p2 bra 	$L__BB1_2;
$L__BB1_4:
	.pragma "nounroll";
	fma.rn.f32 	%f5, %f5, 0f3F000000, 0f3F800000;
	add.s32 	%r7, %r7, -1;
	setp.eq.s32 	%p3, %r7, 0;
	@%p3 bra 	$L__BB1_2;
	bra.uni 	$L__BB1_4;
$L__BB1_2:
	add.s64 	%rd12, %rd1, %rd9;
	st.global.f32 	[%rd12], %f5;
$L__BB1_3:
	ret;
}
.visible .entry mix(
	.param .u64 mix_param_0,
	.param .u64 mix_param_1,
	.param .u64 mix_param_2,
	.param .u64 mix_param_3,
	.param .u64 mix_param_4,
	.param .u64 mix_param_5,
	.param .u32 mix_param_6
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<8>;
	.reg .f32 	%f<9>;
	.reg .b64 	%rd<15>;
	mov.u32 	%r4, %ctaid.x;
	ld.param.u64 	%rd9, [mix_param_5];
	mov.u32 	%r5, %ntid.x;
	mul.wide.u32 	%rd10, %r4, %r5;
	mov.u32 	%r6, %tid.x;
	cvt.u64.u32 	%rd11, %r6;
	add.s64 	%rd4, %rd10, %rd11;
	setp.ge.u64 	%p1, %rd4, %rd9;
	@%p1 bra 	$L__BB2_3;
	ld.param.u32 	%r7, [mix_param_6];
	ld.param.u64 	%rd6, [mix_param_0];
	ld.param.u64 	%rd7, [mix_param_4];
	cvta.to.global.u64 	%rd1, %rd7;
	ld.param.u64 	%rd8, [mix_param_2];
	cvta.to.global.u64 	%rd2, %rd8;
	cvta.to.global.u64 	%rd3, %rd6;
	shl.b64 	%rd12, %rd4, 2;
	add.s64 	%rd5, %rd1, %rd12;
	ld.global.f32 	%f8, [%rd5];
	add.s64 	%rd13, %rd3, %rd12;
	ld.global.f32 	%f6, [%rd13];
	add.s64 	%rd14, %rd2, %rd12;
	ld.global.f32 	%f7, [%rd14];
	add.rn.f32 	%f2, %f6, %f7;
	setp.eq.s32 	%p2, %r7, 0;
	@%p2 bra 	$L__BB2_2;
$L__BB2_4:
	.pragma "nounroll";
	fma.rn.f32 	%f8, %f8, 0f3F000000, %f2;
	add.s32 	%r7, %r7, -1;
	setp.eq.s32 	%p3, %r7, 0;
	@%p3 bra 	$L__BB2_2;
	bra.uni 	$L__BB2_4;
$L__BB2_2:
	st.global.f32 	[%rd5], %f8;
$L__BB2_3:
	ret;
}
)";

}  // namespace bench::gpu

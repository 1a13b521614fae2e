// Four kernels in CUDA C as NVRTC 13.0 translates them for sm_90, as they came.
#pragma once

// axpy: y[i] += a * x[i]. scale: x[i] *= a, each thread several. matmul: c = a * b, an element each thread. reduce: sum
// of x by 64 threads, in shared memory, with barriers.
constexpr char ptx_programs[] = R"(
.version 9.0
.target sm_90
.address_size 64

	// .globl	axpy
// _ZZ6reduceE4part has been demoted

.visible .entry axpy(
	.param .f32 axpy_param_0,
	.param .u64 axpy_param_1,
	.param .u64 axpy_param_2,
	.param .u32 axpy_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;


	ld.param.f32 	%f1, [axpy_param_0];
	ld.param.u64 	%rd1, [axpy_param_1];
	ld.param.u64 	%rd2, [axpy_param_2];
	ld.param.u32 	%r2, [axpy_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;

	cvta.to.global.u64 	%rd3, %rd1;
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f2, [%rd5];
	cvta.to.global.u64 	%rd6, %rd2;
	add.s64 	%rd7, %rd6, %rd4;
	ld.global.f32 	%f3, [%rd7];
	fma.rn.f32 	%f4, %f2, %f1, %f3;
	st.global.f32 	[%rd7], %f4;

$L__BB0_2:
	ret;

}
	// .globl	scale
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .f64 scale_param_1,
	.param .u32 scale_param_2
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<11>;
	.reg .f64 	%fd<4>;
	.reg .b64 	%rd<5>;


	ld.param.u64 	%rd2, [scale_param_0];
	ld.param.f64 	%fd1, [scale_param_1];
	ld.param.u32 	%r6, [scale_param_2];
	mov.u32 	%r1, %ntid.x;
	mov.u32 	%r7, %ctaid.x;
	mov.u32 	%r8, %tid.x;
	mad.lo.s32 	%r10, %r7, %r1, %r8;
	setp.ge.s32 	%p1, %r10, %r6;
	@%p1 bra 	$L__BB1_3;

	mov.u32 	%r9, %nctaid.x;
	mul.lo.s32 	%r3, %r9, %r1;
	cvta.to.global.u64 	%rd1, %rd2;

$L__BB1_2:
	mul.wide.s32 	%rd3, %r10, 8;
	add.s64 	%rd4, %rd1, %rd3;
	ld.global.f64 	%fd2, [%rd4];
	mul.f64 	%fd3, %fd2, %fd1;
	st.global.f64 	[%rd4], %fd3;
	add.s32 	%r10, %r10, %r3;
	setp.lt.s32 	%p2, %r10, %r6;
	@%p2 bra 	$L__BB1_2;

$L__BB1_3:
	ret;

}
	// .globl	matmul
.visible .entry matmul(
	.param .u64 matmul_param_0,
	.param .u64 matmul_param_1,
	.param .u64 matmul_param_2,
	.param .u32 matmul_param_3
)
{
	.reg .pred 	%p<9>;
	.reg .f32 	%f<30>;
	.reg .b32 	%r<30>;
	.reg .b64 	%rd<34>;


	ld.param.u64 	%rd18, [matmul_param_0];
	ld.param.u64 	%rd19, [matmul_param_1];
	ld.param.u64 	%rd17, [matmul_param_2];
	ld.param.u32 	%r13, [matmul_param_3];
	cvta.to.global.u64 	%rd1, %rd19;
	cvta.to.global.u64 	%rd2, %rd18;
	mov.u32 	%r14, %ntid.y;
	mov.u32 	%r15, %ctaid.y;
	mov.u32 	%r16, %tid.y;
	mad.lo.s32 	%r1, %r15, %r14, %r16;
	mov.u32 	%r17, %ntid.x;
	mov.u32 	%r18, %ctaid.x;
	mov.u32 	%r19, %tid.x;
	mad.lo.s32 	%r2, %r18, %r17, %r19;
	setp.ge.s32 	%p1, %r1, %r13;
	setp.ge.s32 	%p2, %r2, %r13;
	or.pred  	%p3, %p2, %p1;
	@%p3 bra 	$L__BB2_9;

	setp.lt.s32 	%p4, %r13, 1;
	mul.lo.s32 	%r3, %r1, %r13;
	mov.f32 	%f29, 0f00000000;
	@%p4 bra 	$L__BB2_8;

	add.s32 	%r21, %r13, -1;
	and.b32  	%r29, %r13, 3;
	setp.lt.u32 	%p5, %r21, 3;
	mov.f32 	%f29, 0f00000000;
	mov.u32 	%r28, 0;
	@%p5 bra 	$L__BB2_5;

	sub.s32 	%r27, %r13, %r29;
	mul.wide.s32 	%rd3, %r3, 4;
	mul.wide.s32 	%rd20, %r2, 4;
	add.s64 	%rd30, %rd1, %rd20;
	mul.wide.s32 	%rd5, %r13, 4;
	mov.f32 	%f29, 0f00000000;
	mov.u32 	%r28, 0;
	mov.u64 	%rd31, %rd2;

$L__BB2_4:
	add.s64 	%rd21, %rd31, %rd3;
	ld.global.f32 	%f12, [%rd30];
	ld.global.f32 	%f13, [%rd21];
	fma.rn.f32 	%f14, %f13, %f12, %f29;
	add.s64 	%rd22, %rd30, %rd5;
	ld.global.f32 	%f15, [%rd22];
	ld.global.f32 	%f16, [%rd21+4];
	fma.rn.f32 	%f17, %f16, %f15, %f14;
	add.s64 	%rd23, %rd22, %rd5;
	ld.global.f32 	%f18, [%rd23];
	ld.global.f32 	%f19, [%rd21+8];
	fma.rn.f32 	%f20, %f19, %f18, %f17;
	add.s64 	%rd24, %rd23, %rd5;
	add.s64 	%rd30, %rd24, %rd5;
	ld.global.f32 	%f21, [%rd24];
	ld.global.f32 	%f22, [%rd21+12];
	fma.rn.f32 	%f29, %f22, %f21, %f20;
	add.s32 	%r28, %r28, 4;
	add.s64 	%rd31, %rd31, 16;
	add.s32 	%r27, %r27, -4;
	setp.ne.s32 	%p6, %r27, 0;
	@%p6 bra 	$L__BB2_4;

$L__BB2_5:
	setp.eq.s32 	%p7, %r29, 0;
	@%p7 bra 	$L__BB2_8;

	mad.lo.s32 	%r23, %r28, %r13, %r2;
	mul.wide.s32 	%rd25, %r23, 4;
	add.s64 	%rd33, %rd1, %rd25;
	mul.wide.s32 	%rd11, %r13, 4;
	add.s32 	%r24, %r28, %r3;
	mul.wide.s32 	%rd26, %r24, 4;
	add.s64 	%rd32, %rd2, %rd26;

$L__BB2_7:
	.pragma "nounroll";
	ld.global.f32 	%f23, [%rd33];
	ld.global.f32 	%f24, [%rd32];
	fma.rn.f32 	%f29, %f24, %f23, %f29;
	add.s64 	%rd33, %rd33, %rd11;
	add.s64 	%rd32, %rd32, 4;
	add.s32 	%r29, %r29, -1;
	setp.ne.s32 	%p8, %r29, 0;
	@%p8 bra 	$L__BB2_7;

$L__BB2_8:
	add.s32 	%r25, %r3, %r2;
	cvta.to.global.u64 	%rd27, %rd17;
	mul.wide.s32 	%rd28, %r25, 4;
	add.s64 	%rd29, %rd27, %rd28;
	st.global.f32 	[%rd29], %f29;

$L__BB2_9:
	ret;

}
	// .globl	reduce
.visible .entry reduce(
	.param .u64 reduce_param_0,
	.param .u64 reduce_param_1,
	.param .u32 reduce_param_2
)
{
	.reg .pred 	%p<10>;
	.reg .f32 	%f<28>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<10>;
	// demoted variable
	.shared .align 4 .b8 _ZZ6reduceE4part[256];

	ld.param.u64 	%rd3, [reduce_param_0];
	ld.param.u64 	%rd4, [reduce_param_1];
	ld.param.u32 	%r5, [reduce_param_2];
	mov.u32 	%r1, %tid.x;
	setp.ge.s32 	%p1, %r1, %r5;
	mov.f32 	%f27, 0f00000000;
	@%p1 bra 	$L__BB3_3;

	mov.u32 	%r2, %ntid.x;
	cvta.to.global.u64 	%rd1, %rd3;
	mov.f32 	%f27, 0f00000000;
	mov.u32 	%r6, %r1;

$L__BB3_2:
	mul.wide.s32 	%rd5, %r6, 4;
	add.s64 	%rd6, %rd1, %rd5;
	ld.global.f32 	%f6, [%rd6];
	add.f32 	%f27, %f27, %f6;
	add.s32 	%r6, %r6, %r2;
	setp.lt.s32 	%p2, %r6, %r5;
	@%p2 bra 	$L__BB3_2;

$L__BB3_3:
	mul.wide.u32 	%rd7, %r1, 4;
	mov.u64 	%rd8, _ZZ6reduceE4part;
	add.s64 	%rd2, %rd8, %rd7;
	st.shared.f32 	[%rd2], %f27;
	bar.sync 	0;
	setp.gt.u32 	%p3, %r1, 31;
	@%p3 bra 	$L__BB3_5;

	ld.shared.f32 	%f7, [%rd2];
	ld.shared.f32 	%f8, [%rd2+128];
	add.f32 	%f9, %f8, %f7;
	st.shared.f32 	[%rd2], %f9;

$L__BB3_5:
	bar.sync 	0;
	setp.gt.u32 	%p4, %r1, 15;
	@%p4 bra 	$L__BB3_7;

	ld.shared.f32 	%f10, [%rd2];
	ld.shared.f32 	%f11, [%rd2+64];
	add.f32 	%f12, %f11, %f10;
	st.shared.f32 	[%rd2], %f12;

$L__BB3_7:
	bar.sync 	0;
	setp.gt.u32 	%p5, %r1, 7;
	@%p5 bra 	$L__BB3_9;

	ld.shared.f32 	%f13, [%rd2];
	ld.shared.f32 	%f14, [%rd2+32];
	add.f32 	%f15, %f14, %f13;
	st.shared.f32 	[%rd2], %f15;

$L__BB3_9:
	bar.sync 	0;
	setp.gt.u32 	%p6, %r1, 3;
	@%p6 bra 	$L__BB3_11;

	ld.shared.f32 	%f16, [%rd2];
	ld.shared.f32 	%f17, [%rd2+16];
	add.f32 	%f18, %f17, %f16;
	st.shared.f32 	[%rd2], %f18;

$L__BB3_11:
	bar.sync 	0;
	setp.gt.u32 	%p7, %r1, 1;
	@%p7 bra 	$L__BB3_13;

	ld.shared.f32 	%f19, [%rd2];
	ld.shared.f32 	%f20, [%rd2+8];
	add.f32 	%f21, %f20, %f19;
	st.shared.f32 	[%rd2], %f21;

$L__BB3_13:
	bar.sync 	0;
	setp.ne.s32 	%p8, %r1, 0;
	@%p8 bra 	$L__BB3_15;

	ld.shared.f32 	%f22, [_ZZ6reduceE4part+4];
	ld.shared.f32 	%f23, [%rd2];
	add.f32 	%f24, %f22, %f23;
	st.shared.f32 	[%rd2], %f24;

$L__BB3_15:
	bar.sync 	0;
	@%p8 bra 	$L__BB3_17;

	ld.shared.f32 	%f25, [_ZZ6reduceE4part];
	cvta.to.global.u64 	%rd9, %rd4;
	st.global.f32 	[%rd9], %f25;

$L__BB3_17:
	ret;

}
)";

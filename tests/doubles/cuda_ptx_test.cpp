// Programs in PTX on the CUDA double: the text is what NVRTC 13.0 made of the four kernels that stand in the comments.
#include <numeric>

#include "cuda_library.hpp"

namespace {

// axpy: y[i] += a * x[i];  scale: x[i] *= a, each thread several;  matmul: c = a * b, an element each thread;
// reduce: sum of x by 64 threads, in shared memory, with barriers.
constexpr char text[] = R"(
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

class CudaPtx : public CudaTest {
 protected:
  void SetUp() override { begin("quiet=1"); }
  void TearDown() override {
    for (CUdeviceptr at : blocks) CU(cuMemFree)(at);
    if (code) CU(cuModuleUnload)(code);
    CudaTest::TearDown();
  }
  CUfunction load(const char *name) {
    EXPECT_EQ(CU(cuModuleLoadData)(&code, text), CUDA_SUCCESS);
    return function(code, name);
  }
  template <class T>
  CUdeviceptr put(const std::vector<T> &values) {
    blocks.push_back(device_memory(values.size() * sizeof(T)));
    EXPECT_EQ(CU(cuMemcpyHtoD)(blocks.back(), values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
    return blocks.back();
  }
  template <class T>
  std::vector<T> get(CUdeviceptr from, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(CU(cuMemcpyDtoH)(values.data(), from, count * sizeof(T)), CUDA_SUCCESS);
    return values;
  }
  // What the loader says of a kernel with this body.
  std::string refused(const std::string &body) {
    std::string program =
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry f(.param .u64 f_0)\n{\n"
        ".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n" +
        body + "\nret;\n}\n";
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    CUmodule made = nullptr;
    CUresult result = CU(cuModuleLoadDataEx)(&made, program.c_str(), 2, options, values);
    if (result == CUDA_SUCCESS) CU(cuModuleUnload)(made);
    return result == CUDA_ERROR_INVALID_PTX ? log : "answered " + std::to_string(result);
  }
  CUmodule code = nullptr;
  std::vector<CUdeviceptr> blocks;
};

TEST_F(CudaPtx, AxpyAndWhatItTakes) {
  CUfunction axpy = load("axpy");
  unsigned n = 1000, count = 0;
  OK(CU(cuModuleGetFunctionCount)(&count, code));
  EXPECT_EQ(count, 4u);
  size_t offset, size;
  OK(CU(cuFuncGetParamInfo)(axpy, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  std::vector<float> x(n), y(n, 1.5f);
  std::iota(x.begin(), x.end(), 0.0f);
  CUdeviceptr dx = put(x), dy = put(y);
  OK(launch(axpy, 8, 128, nullptr, 0.25f, dx, dy, n));
  auto seen = get<float>(dy, n);
  for (unsigned i = 0; i < n; ++i) ASSERT_EQ(seen[i], 1.5f + 0.25f * static_cast<float>(i));
}

TEST_F(CudaPtx, ScaleOfDoubles) {
  CUfunction scale = load("scale");
  std::vector<double> x(777, 3.0);
  CUdeviceptr dx = put(x);
  OK(launch(scale, 3, 32, nullptr, dx, 1.0 / 3.0, 700));
  auto seen = get<double>(dx, 777);
  EXPECT_EQ(seen[699], 3.0 * (1.0 / 3.0));
  EXPECT_EQ(seen[700], 3.0);
}

TEST_F(CudaPtx, MatmulInTwoDimensions) {
  CUfunction matmul = load("matmul");
  constexpr int n = 21;
  std::vector<float> a(n * n), b(n * n), want(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = static_cast<float>(i % 7 - 3), b[i] = static_cast<float>(i % 5 - 2);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) want[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  CUdeviceptr da = put(a), db = put(b), dc = put(std::vector<float>(n * n));
  int count = n;
  void *list[] = {&da, &db, &dc, &count};
  OK(CU(cuLaunchKernel)(matmul, 3, 3, 1, 8, 8, 1, 0, nullptr, list, nullptr));
  EXPECT_EQ(get<float>(dc, n * n), want);
}

TEST_F(CudaPtx, ReductionWithBarriers) {
  CUfunction reduce = load("reduce");
  std::vector<float> x(1001);
  std::iota(x.begin(), x.end(), 1.0f);
  CUdeviceptr dx = put(x), sum = put(std::vector<float>(1));
  OK(launch(reduce, 1, 64, nullptr, dx, sum, 1001));
  EXPECT_EQ(get<float>(sum, 1)[0], 1001.0f * 1002.0f / 2.0f);
  int shared = 0;
  OK(CU(cuFuncGetAttribute)(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, reduce));
  EXPECT_EQ(shared, 256);
}

TEST_F(CudaPtx, AnAccessOutsideEndsTheContext) {
  CUfunction scale = load("scale");
  CUdeviceptr dx = put(std::vector<double>(8));
  OK(launch(scale, 1, 16, nullptr, dx, 2.0, 9));
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  expect_violation("kernel scale, line ");
}

TEST_F(CudaPtx, WhatIsNotKnownIsRefusedWithItsLine) {
  EXPECT_EQ(refused("add.u32 %r1, %r2, 1;"), "answered 0");
  EXPECT_NE(refused("\nwmma.load %r1;").find("line 9; error: instruction wmma.load is not known"), std::string::npos);
  EXPECT_NE(refused("add.u32 %r1, %r2;").find("line 8; error: the operands"), std::string::npos);
  EXPECT_NE(refused("add.u32 %r1, %r9, 1;").find("%r9"), std::string::npos);
  EXPECT_NE(refused("bra $nowhere;").find("no label $nowhere"), std::string::npos);
  EXPECT_NE(refused("add.strange.u32 %r1, %r2, 1;").find("\"strange\""), std::string::npos);
  EXPECT_NE(refused("ld.param.u64 %rd1, [f_0").find("error"), std::string::npos);
  CUmodule none = nullptr;
  EXPECT_EQ(CU(cuModuleLoadData)(&none, "no program"), CUDA_ERROR_INVALID_IMAGE);
  unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  cubin[16] = 2, cubin[18] = 190;
  EXPECT_EQ(CU(cuModuleLoadData)(&none, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

// Whole numbers, conversions and predicates, each against what C says.
TEST_F(CudaPtx, ArithmeticIsTheHosts) {
  const char *program = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry all(.param .u64 out, .param .s32 a, .param .s32 b, .param .f32 f)
{
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .f64 %fd<3>; .reg .pred %p<4>; .reg .b16 %h<3>;
  ld.param.u64 %rd1, [out]; ld.param.s32 %r1, [a]; ld.param.s32 %r2, [b]; ld.param.f32 %f1, [f];
  div.s32 %r3, %r1, %r2;      st.global.u32 [%rd1], %r3;
  rem.s32 %r4, %r1, %r2;      st.global.u32 [%rd1+4], %r4;
  shr.s32 %r5, %r1, 2;        st.global.u32 [%rd1+8], %r5;
  shr.u32 %r6, %r1, 28;       st.global.u32 [%rd1+12], %r6;
  mul.hi.s32 %r7, %r1, %r2;   st.global.u32 [%rd1+16], %r7;
  mul.hi.u32 %r8, %r1, %r2;   st.global.u32 [%rd1+20], %r8;
  min.s32 %r9, %r1, %r2;      st.global.u32 [%rd1+24], %r9;
  max.u32 %r10, %r1, %r2;     st.global.u32 [%rd1+28], %r10;
  setp.lt.s32 %p1, %r1, %r2;  selp.b32 %r11, 7, 9, %p1;  st.global.u32 [%rd1+32], %r11;
  setp.lt.u32 %p2, %r1, %r2;  selp.b32 %r12, 7, 9, %p2;  st.global.u32 [%rd1+36], %r12;
  cvt.rzi.s32.f32 %r13, %f1;  st.global.u32 [%rd1+40], %r13;
  cvt.rmi.f32.f32 %f2, %f1;   st.global.f32 [%rd1+44], %f2;
  cvt.rn.f32.s32 %f3, %r1;    st.global.f32 [%rd1+48], %f3;
  mul.wide.s32 %rd2, %r1, %r2; add.s64 %rd2, %rd2, 1;  st.global.u64 [%rd1+56], %rd2;
  cvt.s64.s32 %rd3, %r1;      st.global.u64 [%rd1+64], %rd3;
  cvt.u64.u32 %rd4, %r1;      st.global.u64 [%rd1+72], %rd4;
  mov.f32 %f4, 0f3FC00000;    neg.f32 %f4, %f4;  st.global.f32 [%rd1+80], %f4;
  and.b32 %r14, %r1, 0xff;    not.b32 %r14, %r14;  st.global.u32 [%rd1+84], %r14;
  not.pred %p3, %p1;
  @%p3 st.global.u32 [%rd1], 0;
  @!%p3 atom.global.add.u32 %r15, [%rd1+88], 5;
  red.global.add.f32 [%rd1+92], %f1;
  ret;
})";
  OK(CU(cuModuleLoadData)(&code, program));
  CUdeviceptr out = put(std::vector<int>(24));
  int a = -100, b = 7;
  float f = -2.5f;
  OK(launch(function(code, "all"), 1, 1, nullptr, out, a, b, f));
  auto seen = get<int>(out, 24);
  auto real = [&](size_t i) {
    float value;
    std::memcpy(&value, &seen[i], 4);
    return value;
  };
  auto wide = [&](size_t i) {
    int64_t value;
    std::memcpy(&value, &seen[i], 8);
    return value;
  };
  std::vector<int> want = {a / b, a % b, a >> 2, 15, -1, 6, -100, a, 7, 9, -2};
  EXPECT_EQ(std::vector<int>(seen.begin(), seen.begin() + 11), want);
  EXPECT_EQ(real(11), -3.0f);
  EXPECT_EQ(real(12), -100.0f);
  EXPECT_EQ(wide(14), -699);
  EXPECT_EQ(wide(16), -100);
  EXPECT_EQ(wide(18), 4294967196);
  EXPECT_EQ(real(20), -1.5f);
  EXPECT_EQ(seen[21], ~(a & 0xff));
  EXPECT_EQ(seen[22], 5);
  EXPECT_EQ(real(23), -2.5f);
}

}  // namespace

// Programs in PTX on the CUDA double: a compiler's output for kernels computes their results.
#include <numeric>

#include "cuda_library.hpp"
#include "ptx_programs.hpp"

namespace {

class CudaPtx : public CudaTest {
 protected:
  void SetUp() override { begin("quiet=1"); }
  void TearDown() override {
    for (CUdeviceptr at : blocks) CU(cuMemFree)(at);
    if (code) CU(cuModuleUnload)(code);
    CudaTest::TearDown();
  }
  CUfunction load(const char *name) {
    EXPECT_EQ(CU(cuModuleLoadData)(&code, ptx_programs), CUDA_SUCCESS);
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
  // The loader's message for a kernel with this body, with some text before it.
  std::string refused(const std::string &body, const std::string &before = "") {
    std::string program =
        ".version 8.0\n.target sm_75\n.address_size 64\n" + before + ".visible .entry f(.param .u64 f_0)\n{\n"
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

TEST_F(CudaPtx, RunsAxpyAndDescribesItsParameters) {
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

TEST_F(CudaPtx, RunsScaleOfDoubles) {
  CUfunction scale = load("scale");
  std::vector<double> x(777, 3.0);
  CUdeviceptr dx = put(x);
  OK(launch(scale, 3, 32, nullptr, dx, 1.0 / 3.0, 700));
  auto seen = get<double>(dx, 777);
  EXPECT_EQ(seen[699], 3.0 * (1.0 / 3.0));
  EXPECT_EQ(seen[700], 3.0);
}

TEST_F(CudaPtx, RunsMatmulInTwoDimensions) {
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

TEST_F(CudaPtx, RunsReductionWithBarriers) {
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

TEST_F(CudaPtx, AccessOutsideMemoryEndsTheContext) {
  CUfunction scale = load("scale");
  CUdeviceptr dx = put(std::vector<double>(8));
  OK(launch(scale, 1, 16, nullptr, dx, 2.0, 9));
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  expect_violation("kernel scale, line ");
}

TEST_F(CudaPtx, RefusesUnknownInstructionsWithTheirLine) {
  EXPECT_EQ(refused("add.u32 %r1, %r2, 1;"), "answered 0");
  EXPECT_NE(refused("\nwmma.load %r1;").find("line 9; error: instruction wmma.load is not known"), std::string::npos);
  EXPECT_NE(refused("add.u32 %r1, %r2;").find("line 8; error: the operands"), std::string::npos);
  EXPECT_NE(refused("add.u32 %r1, %r9, 1;").find("%r9"), std::string::npos);
  EXPECT_NE(refused("bra $nowhere;").find("no label $nowhere"), std::string::npos);
  EXPECT_NE(refused("add.strange.u32 %r1, %r2, 1;").find("\"strange\""), std::string::npos);
  EXPECT_NE(refused("ld.param.u64 %rd1, [f_0").find("error"), std::string::npos);
  const std::string panic = ".extern .func (.param .b32 r) h();\n.visible .func panic(.param .b64 p_0)\n{\nL1:\n{\nbra.uni L1;\n}\n}\n";
  EXPECT_EQ(refused("add.u32 %r1, %r2, 1;", panic), "answered 0") << "functions are read over";
  EXPECT_NE(refused("call.uni panic, (%rd1);", panic).find("instruction call.uni is not known"), std::string::npos);
  EXPECT_NE(refused("", ".func endless(.param .b64 p_0) {\n").find("in the middle"), std::string::npos);
  CUmodule none = nullptr;
  EXPECT_EQ(CU(cuModuleLoadData)(&none, "no program"), CUDA_ERROR_INVALID_IMAGE);
  unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  cubin[16] = 2, cubin[18] = 190;
  EXPECT_EQ(CU(cuModuleLoadData)(&none, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

// Whole numbers, conversions and predicates, each against the rules of C.
TEST_F(CudaPtx, ArithmeticAgreesWithC) {
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

// Buffers of OpenGL's on the CUDA double. GL's bytes are on the device while they are mapped, and the device's bytes
// are in GL afterwards. Wrong use is reported. This program plays GL: the double finds its functions by their names.
#include <map>

#include "cuda_library.hpp"

extern "C" CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned buffer, unsigned flags);

namespace {

struct {
  bool context = false;
  int bound = 0;
  std::map<unsigned, std::vector<unsigned char>> buffers;
} gl;

unsigned char is_buffer(unsigned buffer) { return gl.buffers.count(buffer) != 0; }
void get_integer(unsigned, int *out) { *out = gl.bound; }
void bind(unsigned, unsigned buffer) { gl.bound = static_cast<int>(buffer); }
std::vector<unsigned char> &bytes() { return gl.buffers[static_cast<unsigned>(gl.bound)]; }
void parameter(unsigned, unsigned, int *out) { *out = static_cast<int>(bytes().size()); }
void *map_range(unsigned, ptrdiff_t, ptrdiff_t, unsigned) { return bytes().data(); }
unsigned char unmap(unsigned) { return 1; }

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void *eglGetCurrentContext() { return gl.context ? &gl : nullptr; }
__attribute__((visibility("default"))) void (*eglGetProcAddress(const char *name))() {
  using Function = void (*)();
  const std::pair<const char *, Function> all[] = {
      {"glIsBuffer", reinterpret_cast<Function>(is_buffer)}, {"glGetIntegerv", reinterpret_cast<Function>(get_integer)},
      {"glBindBuffer", reinterpret_cast<Function>(bind)},    {"glGetBufferParameteriv", reinterpret_cast<Function>(parameter)},
      {"glMapBufferRange", reinterpret_cast<Function>(map_range)}, {"glUnmapBuffer", reinterpret_cast<Function>(unmap)}};
  for (const auto &[known, function] : all)
    if (!std::strcmp(known, name)) return function;
  return nullptr;
}
}

namespace {

class CudaGraphics : public CudaTest {
 protected:
  void SetUp() override {
    begin("quiet=1");
    gl = {true, 5, {{7, std::vector<unsigned char>(64, 3)}, {8, {}}}};
  }
  CUgraphicsResource shared(unsigned flags = 0) {
    CUgraphicsResource made = nullptr;
    EXPECT_EQ(CU(cuGraphicsGLRegisterBuffer)(&made, 7, flags), CUDA_SUCCESS);
    return made;
  }
  CUdeviceptr mapped(CUgraphicsResource resource) {
    CUdeviceptr at = 0;
    size_t size = 0;
    EXPECT_EQ(CU(cuGraphicsMapResources)(1, &resource, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuGraphicsResourceGetMappedPointer)(&at, &size, resource), CUDA_SUCCESS);
    EXPECT_EQ(size, 64u);
    return at;
  }
};

TEST_F(CudaGraphics, MapsBuffersForReadAndWrite) {
  CUgraphicsResource r = shared();
  for (int round = 0; round < 3; ++round) {
    const CUdeviceptr at = mapped(r);
    unsigned char here[64];
    OK(CU(cuMemcpyDtoH)(here, at, 64));
    EXPECT_EQ(here[0], round ? 10 * round : 3);
    EXPECT_EQ(gl.buffers[7][0], 0xdd) << "GL must not draw with it now";
    CUdeviceptr base = 0;
    size_t size = 0;
    OK(CU(cuMemGetAddressRange)(&base, &size, at + 5));
    EXPECT_TRUE(base == at && size == 64);
    OK(CU(cuMemsetD8)(at, static_cast<unsigned char>(10 * (round + 1)), 64));
    OK(CU(cuGraphicsUnmapResources)(1, &r, nullptr));
    EXPECT_EQ(gl.buffers[7][63], 10 * (round + 1));
    EXPECT_EQ(gl.bound, 5) << "bound as it was";
  }
  OK(CU(cuGraphicsUnregisterResource)(r));
}

TEST_F(CudaGraphics, NeedsAContextAndABuffer) {
  CUgraphicsResource r = nullptr;
  EXPECT_EQ(CU(cuGraphicsGLRegisterBuffer)(&r, 9, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGraphicsGLRegisterBuffer)(&r, 8, 0), CUDA_ERROR_INVALID_VALUE) << "it has no memory yet";
  EXPECT_EQ(CU(cuGraphicsGLRegisterBuffer)(&r, 7, 64), CUDA_ERROR_INVALID_VALUE);
  gl.context = false;
  EXPECT_EQ(CU(cuGraphicsGLRegisterBuffer)(&r, 7, 0), CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
}

TEST_F(CudaGraphics, ReportsMisuse) {
  CUgraphicsResource r = shared();
  CUdeviceptr at = 0;
  size_t size = 0;
  EXPECT_EQ(CU(cuGraphicsResourceGetMappedPointer)(&at, &size, r), CUDA_ERROR_NOT_MAPPED);
  expect_violation("not mapped");
  EXPECT_EQ(CU(cuGraphicsUnmapResources)(1, &r, nullptr), CUDA_ERROR_NOT_MAPPED);
  expect_violation("unmapped that is not mapped");
  at = mapped(r);
  EXPECT_EQ(CU(cuGraphicsMapResources)(1, &r, nullptr), CUDA_ERROR_ALREADY_MAPPED);
  expect_violation("mapped already");
  EXPECT_EQ(CU(cuMemFree)(at), CUDA_ERROR_INVALID_VALUE);
  expect_violation("unmap that");
  OK(CU(cuGraphicsUnmapResources)(1, &r, nullptr));
  unsigned char here[64];
  EXPECT_NE(CU(cuMemcpyDtoH)(here, at, 64), CUDA_SUCCESS) << "used while it is GL's";
  expect_violation("freed");
  mapped(r);
  OK(CU(cuGraphicsUnregisterResource)(r));
  expect_violation("while it is mapped");
  EXPECT_NE(CU(cuGraphicsUnregisterResource)(r), CUDA_SUCCESS);
  expect_violation("use after free");
  r = shared(CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY);
  OK(CU(cuMemsetD8)(mapped(r), 1, 64));
  OK(CU(cuGraphicsUnmapResources)(1, &r, nullptr));
  expect_violation("read only");
  gl.buffers.erase(7);
  EXPECT_EQ(CU(cuGraphicsMapResources)(1, &r, nullptr), CUDA_ERROR_MAP_FAILED);
  expect_violation("unregister it before");
  OK(CU(cuGraphicsUnregisterResource)(r));
}

TEST_F(CudaGraphics, ReportsLeakedResources) {
  shared();
  end();
  expect_violation("1 graphics resources of it are alive");
}

}  // namespace

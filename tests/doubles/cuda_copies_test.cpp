// Copies and fills of the CUDA double against a model that copies byte by byte.
#include <random>

#include "cuda_library.hpp"

namespace {

struct Box {
  size_t x, y, z, pitch, rows;
  size_t at(size_t i, size_t j, size_t k) const { return ((z + k) * rows + y + j) * pitch + x + i; }
};

TEST_F(CudaTest, CopiesBoxes) {
  begin("seed=3");
  std::mt19937 random(11);
  constexpr size_t bytes = 8192;
  CUdeviceptr a = device_memory(bytes), b = device_memory(bytes);
  CUstream in = stream();
  auto *host = pinned<unsigned char>(bytes);
  std::vector<unsigned char> want(bytes), source(bytes), seen(bytes);
  for (int round = 0; round < 200; ++round) {
    auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    size_t width = 1 + below(20), height = 1 + below(6), depth = 1 + below(4);
    Box from{below(5), below(3), below(2), 32 + below(8), 10 + below(3)};
    Box to{below(5), below(3), below(2), 32 + below(8), 10 + below(3)};
    for (auto &byte : source) byte = static_cast<unsigned char>(random());
    for (auto &byte : want) byte = static_cast<unsigned char>(random());
    OK(CU(cuMemcpyHtoD)(a, source.data(), bytes));
    OK(CU(cuMemcpyHtoD)(b, want.data(), bytes));
    std::memcpy(host, want.data(), bytes);
    bool to_host = round % 3 == 0, from_host = round % 3 == 1;
    CUDA_MEMCPY3D copy{};
    copy.srcXInBytes = from.x, copy.srcY = from.y, copy.srcZ = from.z, copy.srcPitch = from.pitch,
    copy.srcHeight = from.rows;
    copy.dstXInBytes = to.x, copy.dstY = to.y, copy.dstZ = to.z, copy.dstPitch = to.pitch, copy.dstHeight = to.rows;
    copy.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.srcHost = source.data(), copy.srcDevice = a;
    copy.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstHost = host, copy.dstDevice = b;
    copy.WidthInBytes = width, copy.Height = height, copy.Depth = depth;
    if (round % 2) {  // as rows
      depth = 1, from.z = to.z = 0;
      CUDA_MEMCPY2D flat{};
      flat.srcXInBytes = from.x, flat.srcY = from.y, flat.srcPitch = from.pitch,
      flat.srcMemoryType = copy.srcMemoryType;
      flat.dstXInBytes = to.x, flat.dstY = to.y, flat.dstPitch = to.pitch, flat.dstMemoryType = copy.dstMemoryType;
      flat.srcHost = copy.srcHost, flat.srcDevice = a, flat.dstHost = host, flat.dstDevice = b;
      flat.WidthInBytes = width, flat.Height = height;
      OK(CU(cuMemcpy2DAsync)(&flat, in));
    } else {
      OK(CU(cuMemcpy3DAsync)(&copy, in));
    }
    OK(CU(cuStreamSynchronize)(in));
    for (size_t k = 0; k < depth; ++k) {
      for (size_t j = 0; j < height; ++j) {
        for (size_t i = 0; i < width; ++i) want[to.at(i, j, k)] = source[from.at(i, j, k)];
      }
    }
    if (to_host) {
      seen.assign(host, host + bytes);
    } else {
      OK(CU(cuMemcpyDtoH)(seen.data(), b, bytes));
    }
    ASSERT_EQ(seen, want) << "round " << round;
  }
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemFree)(a));
  OK(CU(cuMemFree)(b));
  OK(CU(cuMemFreeHost)(host));
}

TEST_F(CudaTest, FillsElementsRowsAndPitch) {
  begin("");
  CUdeviceptr at = device_memory(1024);
  std::vector<unsigned char> seen(1024), want(1024, 1);
  CUstream in = stream();
  OK(CU(cuMemsetD8Async)(at, 1, 1024, in));
  OK(CU(cuMemsetD2D16Async)(at + 64, 128, 0xbeef, 4, 3, in));
  OK(CU(cuMemsetD2D32Async)(at + 512, 64, 0x01020304, 2, 2, in));
  OK(CU(cuMemsetD16Async)(at + 1000, 0x0a0b, 3, in));
  OK(CU(cuMemcpyDtoHAsync)(seen.data(), at, 1024, in));
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < 4; ++i) want[64 + row * 128 + 2 * i] = 0xef, want[65 + row * 128 + 2 * i] = 0xbe;
  }
  for (size_t row = 0; row < 2; ++row) {
    for (size_t i = 0; i < 8; ++i) want[512 + row * 64 + i] = static_cast<unsigned char>(4 - i % 4);
  }
  for (size_t i = 0; i < 3; ++i) want[1000 + 2 * i] = 0x0b, want[1001 + 2 * i] = 0x0a;
  EXPECT_EQ(seen, want);
  EXPECT_EQ(CU(cuMemsetD32Async)(at + 2, 1, 1, in), CUDA_ERROR_INVALID_VALUE);
  expect_violation("elements do not go with");
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaTest, RingPeersReachTheirNeighbours) {
  begin("devices=4,peer=ring");
  int can[4] = {};
  for (int to = 0; to < 4; ++to) OK(CU(cuDeviceCanAccessPeer)(&can[to], 0, to));
  EXPECT_EQ(std::vector<int>(can, can + 4), (std::vector<int>{0, 1, 0, 1}));
  CUcontext far[3];
  for (int i = 0; i < 3; ++i) OK(CU(cuDevicePrimaryCtxRetain)(&far[i], i + 1));
  OK(CU(cuCtxEnablePeerAccess)(far[0], 0));
  EXPECT_EQ(CU(cuCtxEnablePeerAccess)(far[0], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(CU(cuCtxEnablePeerAccess)(far[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  CUdeviceptr here = device_memory(256);
  OK(CU(cuCtxPushCurrent)(far[1]));
  CUdeviceptr there = device_memory(256);
  OK(CU(cuMemsetD8)(there, 9, 256));
  OK(CU(cuCtxPopCurrent)(nullptr));
  CUstream in = stream();
  OK(CU(cuMemcpyPeerAsync)(here, context, there, far[1], 256, in));  // also where neither reaches the other
  OK(CU(cuStreamSynchronize)(in));
  std::vector<unsigned char> seen(256);
  OK(CU(cuMemcpyDtoH)(seen.data(), here, 256));
  EXPECT_EQ(seen, std::vector<unsigned char>(256, 9));
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemFree)(here));
  OK(CU(cuMemFree)(there));
  for (int i = 0; i < 3; ++i) OK(CU(cuDevicePrimaryCtxRelease)(i + 1));
}

TEST_F(CudaTest, PointerAttributesAreKnown) {
  begin("devices=2", 1);
  CUdeviceptr at = device_memory(1000);
  auto *host = pinned<char>(100);
  std::vector<char> own(4096);
  OK(CU(cuMemHostRegister)(own.data(), own.size(), 0));
  EXPECT_EQ(CU(cuMemHostRegister)(own.data() + 8, 8, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUmemorytype type{};
  int ordinal = -1;
  size_t size = 0;
  CUdeviceptr base = 0;
  CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void *into[] = {&type, &ordinal, &size, &base};
  OK(CU(cuPointerGetAttributes)(4, what, into, at + 10));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(ordinal, 1);
  EXPECT_EQ(size, 1000u);
  EXPECT_EQ(base, at);
  for (char *each : {host, own.data()}) {
    OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(each)));
    EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  }
  int elsewhere = 0;
  EXPECT_EQ(
      CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&elsewhere)),
      CUDA_ERROR_INVALID_VALUE);
  OK(CU(cuMemGetAddressRange)(&base, &size, at + 999));
  EXPECT_EQ(base, at);
  OK(CU(cuMemFree)(at));
  OK(CU(cuMemHostUnregister)(own.data()));
  OK(CU(cuMemFreeHost)(host));
}

}  // namespace

// Graphs of the CUDA double: captured, launched again and again, changed between launches.
#include <numeric>

#include "cuda_library.hpp"

namespace {

class CudaGraphs : public CudaTest {
 protected:
  static constexpr unsigned n = 256;
  void SetUp() override {
    begin("latency_us=20,jitter=50,seed=5,quiet=1");
    a = stream(), b = stream();
    forked = event(), joined = event();
    x = device_memory(n * 4), y = device_memory(n * 4);
    host = pinned<float>(n), result = pinned<float>(n);
    std::iota(host, host + n, 1.0f);
    code = module();
  }
  void TearDown() override {
    OK(CU(cuCtxSynchronize)());
    for (CUstream one : {a, b}) OK(CU(cuStreamDestroy)(one));
    for (CUevent one : {forked, joined}) OK(CU(cuEventDestroy)(one));
    for (CUdeviceptr one : {x, y}) OK(CU(cuMemFree)(one));
    for (float *one : {host, result}) OK(CU(cuMemFreeHost)(one));
    OK(CU(cuModuleUnload)(code));
    CudaTest::TearDown();
  }
  // result = 3 * host + 2: one branch copies and scales, the other fills.
  CUgraph capture() {
    CUgraph graph = nullptr;
    EXPECT_EQ(CU(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuEventRecord)(forked, a), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamWaitEvent)(b, forked, 0), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemcpyHtoDAsync)(x, host, n * 4, a), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemsetD32Async)(y, 0x40000000, n, b), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuEventRecord)(joined, b), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamWaitEvent)(a, joined, 0), CUDA_SUCCESS);
    EXPECT_EQ(launch(function(code, "axpy"), 4, 64, a, 3.0f, x, y, n), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemcpyDtoHAsync)(result, y, n * 4, a), CUDA_SUCCESS);
    CUstreamCaptureStatus status;
    EXPECT_EQ(CU(cuStreamIsCapturing)(b, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(CU(cuStreamEndCapture)(a, &graph), CUDA_SUCCESS);
    return graph;
  }
  std::vector<CUgraphNode> nodes(CUgraph graph, CUgraphNodeType type) {
    size_t count = 0;
    EXPECT_EQ(CU(cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS);
    std::vector<CUgraphNode> all(count), found;
    EXPECT_EQ(CU(cuGraphGetNodes)(graph, all.data(), &count), CUDA_SUCCESS);
    for (CUgraphNode node : all) {
      CUgraphNodeType is;
      EXPECT_EQ(CU(cuGraphNodeGetType)(node, &is), CUDA_SUCCESS);
      if (is == type) found.push_back(node);
    }
    return found;
  }
  CUstream a = nullptr, b = nullptr;
  CUevent forked = nullptr, joined = nullptr;
  CUdeviceptr x = 0, y = 0;
  float *host = nullptr, *result = nullptr;
  CUmodule code = nullptr;
};

TEST_F(CudaGraphs, RunsAtEachLaunchOnly) {
  std::fill(result, result + n, -1.0f);
  CUgraph graph = capture();
  CUgraphExec exec;
  OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  EXPECT_EQ(CONTROL(double_operations)(), 0u);
  for (unsigned round = 0; round < 5; ++round) {
    host[7] = static_cast<float>(round);
    OK(CU(cuGraphLaunch)(exec, round % 2 ? a : b));
    OK(CU(cuCtxSynchronize)());
    ASSERT_EQ(result[7], 3.0f * static_cast<float>(round) + 2.0f);
    ASSERT_EQ(result[n - 1], 3.0f * n + 2.0f);
  }
  EXPECT_EQ(nodes(graph, CU_GRAPH_NODE_TYPE_MEMCPY).size(), 2u);
  OK(CU(cuGraphExecDestroy)(exec));
  OK(CU(cuGraphDestroy)(graph));
}

TEST_F(CudaGraphs, NodesMayChangeBetweenLaunches) {
  CUgraph graph = capture();
  CUgraphExec exec;
  OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  CUgraphNode kernel = nodes(graph, CU_GRAPH_NODE_TYPE_KERNEL).at(0),
              fill = nodes(graph, CU_GRAPH_NODE_TYPE_MEMSET).at(0);
  CUDA_KERNEL_NODE_PARAMS params{};
  OK(CU(cuGraphKernelNodeGetParams)(kernel, &params));
  EXPECT_EQ(params.gridDimX, 4u);
  float factor = 10.0f;
  CUdeviceptr from = x, to = y;
  unsigned count = n;
  void *list[] = {&factor, &from, &to, &count};
  params.kernelParams = list;
  OK(CU(cuGraphLaunch)(exec, a));  // as it was
  OK(CU(cuGraphExecKernelNodeSetParams)(exec, kernel, &params));
  OK(CU(cuStreamSynchronize)(a));
  EXPECT_EQ(result[0], 5.0f);
  CUDA_MEMSET_NODE_PARAMS zero{y, 0, 0, 4, n, 1};
  OK(CU(cuGraphExecMemsetNodeSetParams)(exec, fill, &zero, context));
  float *other = pinned<float>(n);
  std::fill(other, other + n, 4.0f);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = other;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = x;
  copy.WidthInBytes = n * 4, copy.Height = copy.Depth = 1;
  OK(CU(cuGraphExecMemcpyNodeSetParams)(exec, nodes(graph, CU_GRAPH_NODE_TYPE_MEMCPY).at(0), &copy, context));
  OK(CU(cuGraphLaunch)(exec, a));
  OK(CU(cuStreamSynchronize)(a));
  EXPECT_EQ(result[0], 40.0f);
  EXPECT_EQ(CU(cuGraphExecMemsetNodeSetParams)(exec, kernel, &zero, context), CUDA_ERROR_INVALID_VALUE);
  expect_violation("the node is no fill");
  OK(CU(cuMemFreeHost)(other));
  OK(CU(cuGraphDestroy)(graph));
  OK(CU(cuGraphExecDestroy)(exec));
}

TEST_F(CudaGraphs, LaunchesAreOrdered) {
  CUgraph graph = capture();
  CUgraphExec exec;
  OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  OK(CU(cuGraphLaunch)(exec, a));
  OK(CU(cuGraphLaunch)(exec, b));  // waits for the other, so its accesses are in order
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(result[1], 8.0f);
  OK(CU(cuGraphExecDestroy)(exec));
  OK(CU(cuGraphDestroy)(graph));
}

TEST_F(CudaGraphs, ReportsRacesWithinAGraph) {
  CUgraph graph;
  OK(CU(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(CU(cuEventRecord)(forked, a));
  OK(CU(cuStreamWaitEvent)(b, forked, 0));
  OK(CU(cuMemcpyHtoDAsync)(x, host, n * 4, a));
  OK(launch(function(code, "scale"), 1, 1, b, x, 2.0f, n));
  expect_violation("touches what cuMemcpyHtoDAsync of the same graph touches");
  OK(CU(cuEventRecord)(joined, b));
  OK(CU(cuStreamWaitEvent)(a, joined, 0));
  OK(CU(cuStreamEndCapture)(a, &graph));
  OK(CU(cuGraphDestroy)(graph));
}

TEST_F(CudaGraphs, CapturesEndCorrectly) {
  CUgraph graph;
  EXPECT_EQ(CU(cuStreamEndCapture)(a, &graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuStreamBeginCapture)(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  OK(CU(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(CU(cuStreamSynchronize)(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CU(cuMemsetD8Async)(x, 0, 4, a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(CU(cuStreamEndCapture)(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(CU(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(CU(cuEventRecord)(forked, a));
  OK(CU(cuStreamWaitEvent)(b, forked, 0));
  OK(CU(cuMemsetD8Async)(x, 0, 4, b));
  EXPECT_EQ(CU(cuStreamEndCapture)(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  CUdeviceptr more;
  OK(CU(cuStreamBeginCapture)(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CU(cuMemAlloc)(&more, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CU(cuStreamEndCapture)(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(CU(cuMemsetD8Async)(x, 0, 4, a));  // all is as before
  OK(CU(cuStreamSynchronize)(a));
  expect_violation("the stream is captured: nothing of it is executed");
}

}  // namespace

// Capture and graphs, as far as programs capture launches, copies and fills of a stream and launch them again.
#include "graph.hpp"
#include "hip_front.hpp"

using namespace gpu;

namespace {

std::shared_ptr<Exec> exec_of(hipGraphExec_t exec) {
  return object(machine().execs, exec, "the graph that is launched", invalid_value);
}

std::shared_ptr<Graph> graph_of(hipGraph_t graph) { return object(machine().graphs, graph, "the graph", invalid_value); }

}  // namespace

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  return hip("hipStreamBeginCapture", Need::context, [&](Call &c) {
    if (mode > hipStreamCaptureModeRelaxed) {
      fail(invalid_value);
    }
    begin_capture(stream_of(handle, c.context, false), static_cast<CaptureMode>(mode));
  });
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph) {
  return hip("hipStreamEndCapture", Need::context, [&](Call &c) {
    *need(graph) = nullptr;
    *graph = handle_of<hipGraph_t>(*end_capture(stream_of(handle, c.context, false)));
  });
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus *status, unsigned long long *id,
                                      hipGraph_t *graph, const hipGraphNode_t **nodes, size_t *count) {
  return hip("hipStreamGetCaptureInfo_v2", Need::context, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    refuse_implicit(*stream);
    if (graph) {
      fail(not_supported);  // a graph under capture has no handle here
    }
    const bool active = stream->capture && !stream->capture->invalid;
    *need(status) = active            ? hipStreamCaptureStatusActive
                    : stream->capture ? hipStreamCaptureStatusInvalidated
                                      : hipStreamCaptureStatusNone;
    if (!active) {
      return;
    }
    const auto &last = frontier_of(stream);
    if (id) {
      *id = stream->capture->id;
    }
    if (nodes) {
      *nodes = reinterpret_cast<const hipGraphNode_t *>(last.data());
      *need(count) = last.size();
    }
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return hip("hipGraphDestroy", Need::cleanup, [&](Call &) { destroy(*graph_of(graph)); });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long) {
  return hip("hipGraphInstantiateWithFlags", Need::context,
             [&](Call &) { *need(exec) = handle_of<hipGraphExec_t>(*instantiate(graph_of(graph))); });
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return hip("hipGraphLaunch", Need::context, [&](Call &c) {
    auto of = exec_of(exec);
    launch(*of, stream_of(stream, c.context, true));
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return hip("hipGraphExecDestroy", Need::cleanup, [&](Call &) { machine().execs.remove(*exec_of(exec)); });
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams *params) {
  return hip("hipGraphExecKernelNodeSetParams", Need::context, [&](Call &) {
    auto of = exec_of(exec);
    const hipKernelNodeParams &p = *need(params);
    auto *kernel = std::get_if<Kernel>(&step_of(*of, node).work);
    if (!kernel) {
      machine().violate("the node is no kernel");
      fail(invalid_value);
    }
    if (p.extra) {
      fail(not_supported);
    }
    auto function = object(machine().functions, p.func, "the function");
    Kernel now = kernel_with(of->context, function,
                             {{p.gridDim.x, p.gridDim.y, p.gridDim.z}, {p.blockDim.x, p.blockDim.y, p.blockDim.z}, p.sharedMemBytes});
    set_params(now, p.kernelParams);
    *kernel = now;
  });
}

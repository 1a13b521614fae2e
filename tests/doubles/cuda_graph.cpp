// Capture and graphs.
#include "cuda_kernel.hpp"

using namespace gpu;

namespace {

std::shared_ptr<Graph> graph_of(CUgraph graph) { return object(machine().graphs, graph, "the graph", invalid_value); }

std::shared_ptr<Exec> exec_of(CUgraphExec exec) {
  return object(machine().execs, exec, "the graph that is launched", invalid_value);
}

std::shared_ptr<Node> node_of(CUgraphNode node) {
  return object(machine().nodes, node, "the node of a graph", invalid_value);
}

template <class T>
T &as(Work &work, const char *what) {
  auto *is = std::get_if<T>(&work);
  if (!is) {
    machine().violate(std::string("the node is no ") + what);
    fail(invalid_value);
  }
  return *is;
}

Kernel kernel_of(const std::shared_ptr<Context> &context, const CUDA_KERNEL_NODE_PARAMS &p) {
  return gpu::kernel_of(
      context, p.func,
      {{p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes}, p.kernelParams,
      p.extra);
}

void changed(const Work &work, const Context &context) {
  int fault = 0;
  check(work, context, fault);
}

template <class From>
void give(const std::vector<From> &all, CUgraphNode *nodes, size_t *count) {
  need(count);
  if (!nodes) {
    *count = all.size();
    return;
  }
  for (size_t i = 0; i < *count; ++i) {
    nodes[i] = i < all.size() ? handle_of<CUgraphNode>(*all[i]) : nullptr;
  }
  *count = std::min(*count, all.size());
}

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return cu("cuStreamBeginCapture", Need::context, [&](Call &c) {
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      fail(invalid_value);
    }
    begin_capture(stream_of(handle, c.context, false), static_cast<CaptureMode>(mode));
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  return cu("cuStreamEndCapture", Need::context, [&](Call &c) {
    *need(graph) = nullptr;
    *graph = handle_of<CUgraph>(*end_capture(stream_of(handle, c.context, false)));
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return cu("cuStreamIsCapturing", Need::context, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    refuse_implicit(*stream);
    *need(status) = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                    : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                               : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
  CUresult result = cuStreamIsCapturing(handle, status);
  if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return result;
  }
  if (graph || nodes || edges || count) {
    return CUDA_ERROR_NOT_SUPPORTED;  // a graph under capture has no handle here
  }
  return cu("cuStreamGetCaptureInfo", Need::context, [&](Call &c) {
    auto capture = stream_of(handle, c.context, false)->capture;
    if (id && capture) {
      *id = capture->id;
    }
  });
}

// As drivers from 11.3 on have it, whichever version the header calls by this name. The graph itself has no handle yet.
extern "C" CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                              const CUgraphNode **nodes, size_t *count);
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, size_t *count) {
  return cu("cuStreamGetCaptureInfo", Need::context, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    refuse_implicit(*stream);
    if (graph) {
      fail(not_supported);
    }
    const bool active = stream->capture && !stream->capture->invalid;
    *need(status) = active            ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                    : stream->capture ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_NONE;
    if (!active) {
      return;
    }
    const auto &last = frontier_of(stream);
    if (id) {
      *id = stream->capture->id;
    }
    if (nodes) {
      *nodes = reinterpret_cast<const CUgraphNode *>(last.data());
      *need(count) = last.size();
    }
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  return cu("cuThreadExchangeStreamCaptureMode", Need::init, [&](Call &) {
    need(mode);
    fail(not_supported);
  });
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  return cu("cuGraphCreate", Need::context, [&](Call &c) {
    if (flags) {
      fail(invalid_value);
    }
    auto made = std::make_shared<Graph>();
    made->context = c.context;
    machine().graphs.add(made);
    *need(graph) = handle_of<CUgraph>(*made);
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return cu("cuGraphDestroy", Need::cleanup, [&](Call &) { destroy(*graph_of(graph)); });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  return cu("cuGraphInstantiate", Need::context, [&](Call &) {
    if (flags & ~uint64_t{15}) {
      fail(invalid_value);
    }
    need(exec);
    *exec = handle_of<CUgraphExec>(*instantiate(graph_of(graph)));
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return cu("cuGraphUpload", Need::context, [&](Call &c) {
    exec_of(exec);
    stream_of(stream, c.context, true);
  });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return cu("cuGraphLaunch", Need::context, [&](Call &c) {
    auto of = exec_of(exec);
    launch(*of, stream_of(stream, c.context, true));
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return cu("cuGraphExecDestroy", Need::cleanup, [&](Call &) { machine().execs.remove(*exec_of(exec)); });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return cu("cuGraphGetNodes", Need::context, [&](Call &) { give(graph_of(graph)->nodes, nodes, count); });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return cu("cuGraphGetRootNodes", Need::context, [&](Call &) {
    auto roots = graph_of(graph)->nodes;
    std::erase_if(roots, [](const auto &node) { return !node->deps.empty(); });
    give(roots, nodes, count);
  });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  return cu("cuGraphNodeGetType", Need::context, [&](Call &) {
    const Work &work = node_of(node)->work;
    *need(type) = std::holds_alternative<Kernel>(work)     ? CU_GRAPH_NODE_TYPE_KERNEL
                  : std::holds_alternative<Copy>(work)     ? CU_GRAPH_NODE_TYPE_MEMCPY
                  : std::holds_alternative<Fill>(work)     ? CU_GRAPH_NODE_TYPE_MEMSET
                  : std::holds_alternative<HostCall>(work) ? CU_GRAPH_NODE_TYPE_HOST
                                                           : CU_GRAPH_NODE_TYPE_EMPTY;
  });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params) {
  return cu("cuGraphKernelNodeGetParams", Need::context, [&](Call &) {
    auto of = node_of(node);
    auto &kernel = as<Kernel>(of->work, "kernel");
    *need(params) = {};
    params->func = handle_of<CUfunction>(*kernel.function);
    params->gridDimX = kernel.launch.grid[0];
    params->gridDimY = kernel.launch.grid[1];
    params->gridDimZ = kernel.launch.grid[2];
    params->blockDimX = kernel.launch.block[0];
    params->blockDimY = kernel.launch.block[1];
    params->blockDimZ = kernel.launch.block[2];
    params->sharedMemBytes = kernel.launch.shared;
    params->kernelParams = of->pointers();
  });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  return cu("cuGraphKernelNodeSetParams", Need::context, [&](Call &) {
    auto of = node_of(node);
    auto &kernel = as<Kernel>(of->work, "kernel");
    kernel = kernel_of(kernel.function->context, *need(params));
  });
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  return cu("cuGraphExecKernelNodeSetParams", Need::context, [&](Call &) {
    auto of = exec_of(exec);
    auto &kernel = as<Kernel>(step_of(*of, node).work, "kernel");
    kernel = kernel_of(of->context, *need(params));
  });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params,
                                        CUcontext context) {
  return cu("cuGraphExecMemcpyNodeSetParams", Need::context, [&](Call &) {
    auto of = exec_of(exec);
    context_at(context);
    auto &copy = as<Copy>(step_of(*of, node).work, "copy");
    Copy now = copy_of(*need(params));
    for (const Copy *one : {&copy, &now}) {
      if (one->height > 1 || one->depth > 1 || one->bytes() == 0) {
        machine().violate("a copy's node is changed where it is, or becomes, no single row of bytes");
        fail(invalid_value);
      }
    }
    changed(now, *of->context);
    copy = now;
  });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params,
                                        CUcontext context) {
  return cu("cuGraphExecMemsetNodeSetParams", Need::context, [&](Call &) {
    auto of = exec_of(exec);
    context_at(context);
    auto &fill = as<Fill>(step_of(*of, node).work, "fill");
    need(params);
    if (fill.height > 1 || params->height > 1 || params->width == 0) {
      machine().violate("a fill's node is changed where it is, or becomes, no single row of elements");
      fail(invalid_value);
    }
    Fill now;
    now.dst = params->dst;
    now.value = params->value;
    now.element = params->elementSize;
    now.width = params->width;
    now.pitch = params->width * params->elementSize;
    changed(now, *of->context);
    fill = now;
  });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
  return cu("cuGraphExecHostNodeSetParams", Need::context, [&](Call &) {
    auto of = exec_of(exec);
    auto &host = as<HostCall>(step_of(*of, node).work, "host function");
    need(params);
    auto *function = need(params->fn);
    host.call = [function, data = params->userData](int) { function(data); };
    host.function = function;
    host.argument = params->userData;
  });
}

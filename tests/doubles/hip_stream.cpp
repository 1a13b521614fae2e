// Streams, events, modules and launches.
#include <algorithm>

#include "hip_bundle.hpp"
#include "hip_front.hpp"

using namespace gpu;

namespace {

std::shared_ptr<Event> event_of(hipEvent_t event) { return object(machine().events, event, "the event"); }

std::shared_ptr<Module> module_of(hipModule_t module) { return object(machine().modules, module, "the module"); }

}  // namespace

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority) {
  return hip("hipStreamCreateWithPriority", Need::context, [&](Call &c) {
    if (flags > hipStreamNonBlocking) {
      fail(invalid_value);
    }
    *need(stream) =
        handle_of<hipStream_t>(*make_stream(c.context, flags == 0, std::clamp(priority, -1, 0), flags));
  });
}

hipError_t hipStreamDestroy(hipStream_t handle) {
  return hip("hipStreamDestroy", Need::cleanup, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    if (stream->hidden) {
      fail(invalid_handle);
    }
    c.after = c.after ? c.after : stream->context->error;
    close_stream(stream);
  });
}

hipError_t hipStreamSynchronize(hipStream_t handle) {
  return hip("hipStreamSynchronize", Need::context,
             [&](Call &c) { synchronize(c.lock, stream_of(handle, c.context, false)); });
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned) {
  return hip("hipStreamWaitEvent", Need::context,
             [&](Call &c) { wait_event(stream_of(handle, c.context, false), *event_of(event)); });
}

hipError_t hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback, void *data, unsigned flags) {
  return hip("hipStreamAddCallback", Need::context, [&](Call &c) {
    if (flags) {
      fail(invalid_value);
    }
    need(callback);
    HostCall host;
    host.call = [=](int status) { callback(handle, static_cast<hipError_t>(status), data); };
    host.always = true;
    submit(stream_of(handle, c.context, true), std::move(host));
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  return hip("hipEventCreateWithFlags", Need::context, [&](Call &c) {
    auto made = std::make_shared<Event>();
    made->context = c.context;
    made->flags = flags;
    made->timed = !(flags & hipEventDisableTiming);
    machine().events.add(made);
    *need(event) = handle_of<hipEvent_t>(*made);
  });
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return hip("hipEventDestroy", Need::cleanup, [&](Call &) { machine().events.remove(*event_of(event)); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t handle) {
  return hip("hipEventRecord", Need::context, [&](Call &c) {
    auto of = event_of(event);
    auto stream = stream_of(handle, c.context, true);
    if (of->context != stream->context) {
      machine().violate("the event is of another device than the stream that it is recorded in");
      fail(invalid_handle);
    }
    record(*of, stream);
  });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return hip("hipEventQuery", Need::init, [&](Call &) {  // of any thread, whichever device it has
    auto of = event_of(event);
    healthy(*of->context);
    if (!reached(*of)) {
      fail(not_ready);
    }
  });
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t begin, hipEvent_t end) {
  return hip("hipEventElapsedTime", Need::context, [&](Call &) {
    auto from = event_of(begin), to = event_of(end);
    for (const auto &event : {from, to}) {
      if (!event->timed || !event->record) {
        machine().violate(event->timed ? "the event was never recorded" : "the event was made without timing");
        fail(invalid_handle);
      }
    }
    if (!reached(*from) || !reached(*to)) {
      fail(not_ready);
    }
    *need(milliseconds) = std::chrono::duration<float, std::milli>(to->record->when - from->record->when).count();
  });
}

hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned, hipJitOption *, void **) {
  return hip("hipModuleLoadDataEx", Need::context, [&](Call &c) {
    need(module);
    std::string log;
    auto made = load_module(c.context, host_image_in(need(image)), log);
    for (const auto &function : made->functions) {
      function->dynamic_shared = size_t{64} << 10;  // all of it may be asked for at a launch
    }
    *module = handle_of<hipModule_t>(*made);
  });
}

hipError_t hipModuleUnload(hipModule_t handle) {
  return hip("hipModuleUnload", Need::cleanup, [&](Call &c) { unload(c.lock, module_of(handle)); });
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t handle, const char *name) {
  return hip("hipModuleGetFunction", Need::context, [&](Call &) {
    auto module = module_of(handle);
    need(name);
    for (const auto &one : module->functions) {
      if (one->name == name) {
        *need(function) = handle_of<hipFunction_t>(*one);
        return;
      }
    }
    fail(not_found);
  });
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute what, hipFunction_t handle) {
  return hip("hipFuncGetAttribute", Need::context, [&](Call &) {
    auto function = object(machine().functions, handle, "the function");
    *need(value) = what == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? function->max_threads : 0;
  });
}

hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, hipStream_t where, void **params, void **extra) {
  return hip("hipModuleLaunchKernel", Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    if (extra) {
      fail(not_supported);
    }
    auto function = object(machine().functions, handle, "the function");
    Kernel kernel = kernel_with(stream->context, function, {{gx, gy, gz}, {bx, by, bz}, shared});
    set_params(kernel, params);
    submit(stream, std::move(kernel));
  });
}

// Streams, events and host functions.
#include "cuda_front.hpp"

using namespace gpu;

namespace {

constexpr int least = 0, greatest = -5;

CUresult create(const char *name, CUstream *stream, unsigned flags, int priority) {
  return cu(name, Need::context, [&](Call &c) {
    if (flags > CU_STREAM_NON_BLOCKING) {
      fail(invalid_value);
    }
    int within = priority > least ? least : priority < greatest ? greatest : priority;
    *need(stream) = handle_of<CUstream>(*make_stream(c.context, !(flags & CU_STREAM_NON_BLOCKING), within, flags));
  });
}

std::shared_ptr<Event> event_of(CUevent event) { return object(machine().events, event, "the event"); }

}  // namespace

CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return create("cuStreamCreate", stream, flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  return create("cuStreamCreateWithPriority", stream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  return cu("cuStreamDestroy", Need::cleanup, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    if (stream->hidden) {
      fail(invalid_handle);
    }
    if (stream->capture) {
      machine().violate("the stream is destroyed while it is captured");
      stream->capture->invalid = true;
    }
    c.after = c.after ? c.after : stream->context->error;
    close_stream(stream);
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return cu("cuStreamQuery", Need::context, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    refuse_captured(*stream);
    refuse_implicit(*stream);
    healthy(*stream->context);
    if (!idle(*stream)) {
      fail(not_ready);
    }
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return cu("cuStreamSynchronize", Need::context, [&](Call &c) {
    auto stream = stream_of(handle, c.context, false);
    refuse_captured(*stream);
    refuse_implicit(*stream);
    synchronize(c.lock, stream);
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
  return cu("cuStreamGetCtx", Need::context,
            [&](Call &c) { *need(context) = handle_of<CUcontext>(*stream_of(handle, c.context, false)->context); });
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  return cu("cuStreamGetPriority", Need::context,
            [&](Call &c) { *need(priority) = stream_of(handle, c.context, false)->priority; });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
  return cu("cuStreamGetFlags", Need::context,
            [&](Call &c) { *need(flags) = stream_of(handle, c.context, false)->flags; });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
  return cu("cuStreamGetId", Need::context, [&](Call &c) { *need(id) = stream_of(handle, c.context, false)->number; });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
  return cu("cuStreamGetDevice", Need::context,
            [&](Call &c) { *need(device) = stream_of(handle, c.context, false)->context->device.index; });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return cu("cuStreamWaitEvent", Need::context,
            [&](Call &c) { wait_event(stream_of(handle, c.context, false), *event_of(event)); });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags) {
  return cu("cuStreamAddCallback", Need::context, [&](Call &c) {
    auto stream = stream_of(handle, c.context, true);
    if (flags || stream->capture) {
      fail(flags ? invalid_value : capture_unsupported);
    }
    need(callback);
    HostCall host;
    host.call = [=](int status) { callback(handle, static_cast<CUresult>(status), data); };
    host.always = true;
    submit(stream, std::move(host));
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  return cu("cuLaunchHostFunc", Need::context, [&](Call &c) {
    need(function);
    HostCall host;
    host.call = [=](int) { function(data); };
    host.function = function;
    host.argument = data;
    submit(stream_of(handle, c.context, true), std::move(host));
  });
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return cu("cuEventCreate", Need::context, [&](Call &c) {
    if (flags > 7 || ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))) {
      fail(invalid_value);
    }
    auto made = std::make_shared<Event>();
    made->context = c.context;
    made->flags = flags;
    made->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    machine().events.add(made);
    *need(event) = handle_of<CUevent>(*made);
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return cu("cuEventDestroy", Need::cleanup, [&](Call &) { machine().events.remove(*event_of(event)); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned) { return cuEventRecord(event, handle); }

CUresult cuEventRecord(CUevent event, CUstream handle) {
  return cu("cuEventRecord", Need::context, [&](Call &c) {
    auto of = event_of(event);
    auto stream = stream_of(handle, c.context, true);
    if (of->context != stream->context) {
      machine().violate("the event is of another context than the stream that it is recorded in");
      fail(invalid_handle);
    }
    record(*of, stream);
  });
}

CUresult cuEventQuery(CUevent event) {
  return cu("cuEventQuery", Need::init, [&](Call &) {  // of any thread, whichever context is current there
    auto of = event_of(event);
    healthy(*of->context);
    if (!reached(*of)) {
      fail(not_ready);
    }
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return cu("cuEventSynchronize", Need::context, [&](Call &c) {
    auto of = event_of(event);
    synchronize(c.lock, *of);
  });
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent begin, CUevent end) {
  return cu("cuEventElapsedTime", Need::context, [&](Call &) {
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

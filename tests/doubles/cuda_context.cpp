// Contexts, and which is current in a thread.
#include "cuda_front.hpp"

using namespace gpu;

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return cu("cuDevicePrimaryCtxRetain", Need::init,
            [&](Call &) { *need(context) = handle_of<CUcontext>(*retain_primary(device_at(device))); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return cu("cuDevicePrimaryCtxRelease", Need::init, [&](Call &c) { release_primary(c.lock, device_at(device)); });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return cu("cuDevicePrimaryCtxReset", Need::init, [&](Call &) {
    machine().violate("destroys objects of others in the primary context");
    device_at(device);
    fail(not_supported);
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return cu("cuDevicePrimaryCtxSetFlags", Need::init, [&](Call &) {
    Device &at = device_at(device);
    at.flags = flags;
    if (at.primary) {
      at.primary->flags = flags;
    }
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  return cu("cuDevicePrimaryCtxGetState", Need::init, [&](Call &) {
    Device &at = device_at(device);
    *need(flags) = at.flags;
    *need(active) = at.primary != nullptr;
  });
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *, unsigned flags, CUdevice device) {
  return cu("cuCtxCreate", Need::init, [&](Call &) {
    auto made = make_context(device_at(device), false, flags);
    stack().push_back(made);
    *need(context) = handle_of<CUcontext>(*made);
  });
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  return cu("cuCtxDestroy", Need::init, [&](Call &c) {
    auto gone = context_at(context);
    if (gone->primary) {
      machine().violate("a primary context is destroyed, where it is to be released");
      fail(invalid_context);
    }
    if (current() == gone) {
      stack().pop_back();
    }
    end_context(c.lock, gone);
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return cu("cuCtxPushCurrent", Need::init, [&](Call &) { stack().push_back(context_at(need(context))); });
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  return cu("cuCtxPopCurrent", Need::init, [&](Call &c) {
    if (!c.context) {
      machine().violate("no context is current in this thread");
      fail(invalid_context);
    }
    if (context) {
      *context = handle_of<CUcontext>(*c.context);
    }
    stack().pop_back();
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return cu("cuCtxSetCurrent", Need::init, [&](Call &) {
    auto now = context ? context_at(context) : nullptr;
    if (!stack().empty()) {
      stack().pop_back();
    }
    if (now) {
      stack().push_back(now);
    }
  });
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  return cu("cuCtxGetCurrent", Need::init,
            [&](Call &c) { *need(context) = c.context ? handle_of<CUcontext>(*c.context) : nullptr; });
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return cu("cuCtxGetDevice", Need::context, [&](Call &c) { *need(device) = c.context->device.index; });
}

CUresult cuCtxGetFlags(unsigned *flags) {
  return cu("cuCtxGetFlags", Need::context, [&](Call &c) { *need(flags) = c.context->flags; });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
  return cu("cuCtxGetId", Need::init, [&](Call &c) {
    auto of = context ? context_at(context) : c.context;
    *need(id) = of ? of->handle : (fail(invalid_context), 0);
  });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned *version) {
  return cu("cuCtxGetApiVersion", Need::context, [&](Call &) { *need(version) = CUDA_VERSION; });
}

CUresult cuCtxSynchronize() {
  return cu("cuCtxSynchronize", Need::context, [&](Call &c) {
    refuse_capturing();
    synchronize(c.lock, c.context);
  });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return cu("cuCtxGetStreamPriorityRange", Need::context, [&](Call &) {
    if (least) {
      *least = 0;
    }
    if (greatest) {
      *greatest = -5;
    }
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return cu("cuCtxEnablePeerAccess", Need::context, [&](Call &c) {
    auto other = context_at(peer);
    if (flags) {
      fail(invalid_value);
    }
    if (!peers(c.context->device, other->device)) {
      fail(peer_access_unsupported);
    }
    if (!c.context->peers.insert(other->device.index).second) {
      fail(peer_access_already_enabled);
    }
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return cu("cuCtxDisablePeerAccess", Need::context, [&](Call &c) {
    if (!c.context->peers.erase(context_at(peer)->device.index)) {
      fail(peer_access_not_enabled);
    }
  });
}

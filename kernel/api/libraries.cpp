// libraries.cpp — libraries.h: libraries for functions of codelets; each question goes to the driver of the unit that
// runs.
//
// Called from inside a body, so the runtime, the worker and its device exist until the call returns.
#include <consort/handles.h>
#include <consort/libraries.h>

#include "api/entry.hpp"
#include "exec/executor.hpp"
#include "machine/topology.hpp"
#include "plugin/host.hpp"

namespace consort {
namespace {

// Returns the device of a call and its driver's functions, or sets the error text.
consort_status offered(const consort_call *call, const char *library, const Device **device) noexcept {
  if (!call || !call->host || !call->host->ctx)
    return set_error(CONSORT_E_INVAL, "call is not that of a codelet's function: hand on what the function was given");
  if (!library || !*library)
    return set_error(CONSORT_E_INVAL, "library is empty: name one of those on the driver's page");
  const auto *rt = static_cast<const Core *>(host_user(call->host));
  if (!rt || call->worker >= rt->workers.size())
    return set_error(CONSORT_E_INVAL, "call is not that of a codelet's function: hand on what the function was given");
  const Unit &unit = rt->workers[call->worker]->unit;
  if (!unit.device->handles)
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "library \"%s\" on worker %u: the driver \"%s\" has no libraries: ask in the implementation for a class that has",
                      library, call->worker, unit.device->plugin->manifest->name);
  *device = unit.device;
  return CONSORT_OK;
}

template <auto kMember, class... A>
consort_status ask(const consort_call *call, const char *library, A... a) noexcept {
  const Device *device = nullptr;
  if (const consort_status s = offered(call, library, &device); s < 0) return s;
  clear_error();
  const consort_status s = (device->handles->*kMember)(device->dev, call, library, a...);
  if (s < 0 && !*error_text())
    return set_errorf(s, "library \"%s\": the driver \"%s\" refuses without a reason", library,
                      device->plugin->manifest->name);
  return s;
}

struct Start {
  const char *library;
};
consort_status start_here(const consort_call *call) {
  void *handle = nullptr;
  return consort_library_handle(call, static_cast<const Start *>(call->user)->library, &handle);
}

}  // namespace
}  // namespace consort

using namespace consort;

extern "C" {

consort_status consort_library_handle(const consort_call *call, const char *library, void **out) {
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL: give a place for the handle");
  *out = nullptr;
  return ask<&consort_handles::handle>(call, library, out);
}

consort_status consort_library_symbol(const consort_call *call, const char *library, const char *name, void **out) {
  if (!out || !name || !*name) return set_error(CONSORT_E_INVAL, "name or out is NULL: give a function's name, and a place for it");
  *out = nullptr;
  return ask<&consort_handles::symbol>(call, library, name, out);
}

consort_status consort_library_check(const consort_call *call, const char *library, const char *function, int32_t code) {
  if (code == 0) return CONSORT_OK;
  return ask<&consort_handles::check>(call, library, function ? function : "a call", code);
}

consort_status consort_library_start(consort_runtime *rt, const char *klass, const char *library) {
  if (!klass || !*klass) return set_error(CONSORT_E_INVAL, "klass is empty: on the workers of which class?");
  Start start{library};
  return consort_run_on_each(rt, klass, start_here, &start);
}

}  // extern "C"

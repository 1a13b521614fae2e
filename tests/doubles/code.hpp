// Statuses of calls of the simulated machine. The vendors' interfaces have these numbers in common. Inside the core a
// call that fails throws Failure, and the front of each vendor returns its number.
#pragma once

namespace gpu {

enum Code : int {
  ok = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  peer_access_unsupported = 217,
  invalid_ptx = 218,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  peer_access_already_enabled = 704,
  peer_access_not_enabled = 705,
  context_is_destroyed = 709,
  host_memory_already_registered = 712,
  host_memory_not_registered = 713,
  launch_failed = 719,
  not_permitted = 800,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  unknown_error = 999,
};

struct Failure {
  int code;
};

[[noreturn]] inline void fail(int code) { throw Failure{code}; }

// After these a context answers nothing else any more.
inline bool sticky(int code) {
  return code == device_unavailable || code == 214 || code == 220 || code == illegal_address || code == 702 ||
         (code >= 714 && code <= 720) || code == unknown_error;
}

}  // namespace gpu

// library.hpp — opens AMD's libraries, in the process or in a linker namespace (../streams/isolated_library.hpp).
//
// Any thread.
#pragma once

namespace hip {

// HIP is shared with the application and rocBLAS. It is isolated only if another clang is loaded on the libLLVM that HIP's compiler
// support uses.
void *open_library(const char *name) noexcept;

// The compiler produces only text and bytes, and only the driver uses it. It is isolated unless HIP has loaded its compiler support;
// so it conflicts with no library opened later.
void *open_compiler(const char *name) noexcept;

// Opens a library that depends on HIP in the same namespace as HIP.
void *open_beside(const char *name, bool apart, bool there) noexcept;

}  // namespace hip

// library.hpp — where AMD's libraries are opened: among everybody else's, or apart (../streams/isolated_library.hpp).
//
// Any thread.
#pragma once

namespace hip {

// HIP itself is shared with the application, with rocBLAS and its like; apart only where a clang of somebody else's stands
// on the libLLVM that HIP's compiler support stands on, too.
void *open_library(const char *name) noexcept;

// The compiler makes bytes of text, and is nobody's but the driver's: if HIP has not brought its compiler support yet, it
// goes apart, and whoever comes later is in nobody's way.
void *open_compiler(const char *name) noexcept;

// What stands on HIP, where HIP is.
void *open_beside(const char *name, bool apart, bool there) noexcept;

}  // namespace hip

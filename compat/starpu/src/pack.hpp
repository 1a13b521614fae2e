// pack.hpp — packed arguments: the number of values, then for each its size and its bytes.
#pragma once
#include <starpu.h>

#include <cstdarg>

namespace starpu_layer {

// Appends the pairs of pointer and size that follow STARPU_VALUE, up to a 0.
void pack_values(starpu_codelet_pack_arg_data &state, va_list *args);

}  // namespace starpu_layer

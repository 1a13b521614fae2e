// Linear algebra on the simulated machine: handles of libraries, and operations that a handle's stream executes.
// Matrices are column-major; blas_loops.hpp computes, in plain loops over the host's memory. No vendor is known here:
// fronts translate their own terms into these.
#pragma once
#include <functional>
#include <vector>

#include "call.hpp"

namespace gpu {

enum class Triangle { lower, upper };

struct Operand {
  const void *at = nullptr;
  int64_t rows = 0, cols = 0, ld = 0;
  size_t element = 0;
  bool writes = false;
};

// Of the current context, bound to its default stream until it is told another.
std::shared_ptr<LibraryHandle> make_handle(Call &c, const char *library);
std::shared_ptr<LibraryHandle> handle_at(Call &c, const void *handle, const char *library);  // that context must be current
void bind(Call &c, LibraryHandle &handle, const void *stream);
void destroy_handle(Call &c, const void *handle, const char *library);

// Puts it at the end of the handle's stream. All operands must be memory of the device, with all of their bytes.
void enqueue(Call &c, const LibraryHandle &handle, const char *name, const std::vector<Operand> &operands,
             std::function<void()> work);

// Throws invalid_value where sizes do not fit.
void check_matrix(const Operand &operand);

}  // namespace gpu

// Shared by the functions of every front beyond one call into the core: initialisation of the library, freeing of
// memory, launches. Also copies of memory that no device reaches.
#pragma once
#include "call.hpp"
#include "work.hpp"

namespace gpu {

// Reads CONSORT_DOUBLE, the first time. Throws the failure that the settings inject.
void initialise();

// The block that begins there, of the device's memory or of pinned and registered memory of the host.
std::shared_ptr<Block> block_at(uint64_t at, bool host, const char *what);
void give(Call &c, const std::shared_ptr<Block> &block, const char *how);
uint64_t take_in_order(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Pool> &pool, size_t size);
void give_in_order(Call &c, const std::shared_ptr<Stream> &stream, uint64_t at);

// Pageable memory of the host is read before this returns, and written before it returns, whichever call it is.
void transfer(Call &c, const std::shared_ptr<Stream> &stream, Copy copy, bool wait);

// Launches beyond the device's limits are refused; parameters as one buffer, or each by its address.
Kernel kernel_with(const std::shared_ptr<Context> &context, const std::shared_ptr<Function> &function,
                   const consort_double_launch &how);
void set_params(Kernel &kernel, void **params);

}  // namespace gpu

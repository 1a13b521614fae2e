// Contexts: made and ended. An object that is alive when its context ends is reported as leaked, and ends with it.
#pragma once
#include "machine.hpp"

namespace gpu {

Device &device_at(int index);  // throws invalid_device
std::shared_ptr<Context> make_context(Device &device, bool primary, unsigned flags);
std::shared_ptr<Context> context_at(const void *handle);
std::shared_ptr<Context> retain_primary(Device &device);
void release_primary(Lock &lock, Device &device);
void end_context(Lock &lock, const std::shared_ptr<Context> &context);
void synchronize(Lock &lock, const std::shared_ptr<Context> &context);
bool peers(const Device &from, const Device &to);

}  // namespace gpu

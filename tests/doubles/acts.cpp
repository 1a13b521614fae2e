#include "acts.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "context.hpp"

namespace gpu {

namespace {

bool pageable(uint64_t at) { return !machine().memory.find(at) && !machine().device_of(at); }

void check_launch(const Function &function, const consort_double_launch &launch, const Device &device) {
  const unsigned *grid = launch.grid, *block = launch.block;
  uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  auto refuse = [&](const std::string &words, int code) {
    machine().violate("kernel " + function.name + " is launched with " + words);
    fail(code);
  };
  auto dims = [](const unsigned *d) {
    return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
  };
  if (!grid[0] || !grid[1] || !grid[2] || grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535) {
    refuse("a grid of " + dims(grid) + " blocks, over the limits of device " + std::to_string(device.index),
           invalid_value);
  }
  if (!threads || block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > 1024) {
    refuse("blocks of " + dims(block) + " threads, over the limits of device " + std::to_string(device.index),
           invalid_value);
  }
  if (threads > static_cast<uint64_t>(function.max_threads)) {
    refuse("blocks of " + dims(block) + " threads, more than it was compiled for", launch_out_of_resources);
  }
  if (launch.shared > function.dynamic_shared) {
    refuse(std::to_string(launch.shared) + " bytes of shared memory, more than it was allowed", invalid_value);
  }
}

}  // namespace

void initialise() {
  Machine &m = machine();
  std::string error;
  const char *text = std::getenv("CONSORT_DOUBLE");
  if (!m.set && !m.configure(text, error)) {
    std::fprintf(stderr, "double: CONSORT_DOUBLE=\"%s\" is refused: %s\n", text ? text : "", error.c_str());
    fail(invalid_value);
  }
  if (m.settings.init || m.devices.empty()) {
    fail(m.settings.init ? m.settings.init : no_device);
  }
  m.initialised = true;
}

std::shared_ptr<Block> block_at(uint64_t at, bool host, const char *what) {
  Machine &m = machine();
  auto found = m.memory.blocks.find(at);
  if (found == m.memory.blocks.end() || (found->second->where != Where::device) != host || found->second->going) {
    Device *owner = m.device_of(at);
    bool freed = (owner && owner->arena->was_freed(at)) || (found != m.memory.blocks.end() && found->second->going);
    m.violate(std::string(what) + (freed ? ": it was freed before" : ": no block of that kind begins there"));
    fail(invalid_value);
  }
  return found->second;
}

void give(Call &c, const std::shared_ptr<Block> &block, const char *how) {
  block->going = true;
  await_users(c.lock, block, how);
  if (block->pool) {
    block->pool->used -= block->size;
    trim(*block->pool, block->pool->threshold);
  }
  machine().memory.give(block);
}

uint64_t take_in_order(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Pool> &pool, size_t size) {
  if (size == 0) {
    fail(invalid_value);
  }
  if (stream->capture) {
    submit(stream, Fresh{});
  }
  auto block = machine().memory.take(device_at(pool->device), size, pool);
  block->context = stream->context;
  submit(stream, Fresh{block});
  return block->address;
}

// The bytes may be given again at once, for the device reuses them in the stream's order; the addresses only when it
// came to that.
void give_in_order(Call &c, const std::shared_ptr<Stream> &stream, uint64_t at) {
  Machine &m = machine();
  auto found = m.memory.blocks.find(at);
  if (found == m.memory.blocks.end() || found->second->where != Where::device || found->second->going) {
    Device *owner = m.device_of(at);
    bool freed = found != m.memory.blocks.end() || (owner && owner->arena->was_freed(at));
    m.violate(freed ? "device memory is freed: it was freed before"
                    : "device memory is freed: no block begins there");
    fail(invalid_value);
  }
  auto block = found->second;
  if (stream->context->error) {  // nothing is executed there any more
    c.after = stream->context->error;
    block->going = true;
    await_users(c.lock, block, "freed");
    if (block->pool) {
      block->pool->used -= block->size;
      trim(*block->pool, block->pool->threshold);
    }
    m.memory.give(block);
    return;
  }
  submit(stream, Release{block});
  block->going = true;
  if (block->pool) {
    block->pool->used -= block->size;
    trim(*block->pool, block->pool->threshold);
  }
}

void transfer(Call &c, const std::shared_ptr<Stream> &stream, Copy copy, bool wait) {
  if (copy.bytes() == 0) {
    return;
  }
  if (!copy.src_device && pageable(copy.src) && !stream->capture) {
    copy.staged = std::make_shared<std::vector<char>>(copy.bytes());
    for (size_t plane = 0; plane < copy.depth; ++plane) {
      for (size_t row = 0; row < copy.height; ++row) {
        std::memcpy(copy.staged->data() + (plane * copy.height + row) * copy.width,
                    reinterpret_cast<void *>(copy.src + plane * copy.src_plane + row * copy.src_pitch), copy.width);
      }
    }
  }
  wait = (wait || (!copy.dst_device && pageable(copy.dst))) && !stream->capture;
  uint64_t serial = submit(stream, std::move(copy));
  if (wait) {
    wait_done(c.lock, stream, serial);
    healthy(*stream->context);
  }
}

Kernel kernel_with(const std::shared_ptr<Context> &context, const std::shared_ptr<Function> &function,
                   const consort_double_launch &how) {
  Kernel kernel;
  kernel.function = function;
  kernel.launch = how;
  if (function->context != context) {
    machine().violate("kernel " + function->name + " is of another context than the stream that it is launched in");
    fail(invalid_handle);
  }
  check_launch(*function, how, context->device);
  size_t size = 0;
  for (const Param &param : function->params) {
    size = std::max(size, param.offset + param.size);
  }
  kernel.params.resize(size + 8);
  return kernel;
}

void set_params(Kernel &kernel, void **params) {
  const auto &all = kernel.function->params;
  if (!params && !all.empty()) {
    fail(invalid_value);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    std::memcpy(kernel.params.data() + all[i].offset, need(params[i]), all[i].size);
  }
}

}  // namespace gpu

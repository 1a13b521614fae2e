#include "context.hpp"

#include <algorithm>
#include <cstdlib>

#include "call.hpp"
#include "graph.hpp"
#include "module.hpp"

namespace gpu {

namespace {

template <class T>
std::vector<std::shared_ptr<T>> of(const Table<T> &table, const std::shared_ptr<Context> &context) {
  std::vector<std::shared_ptr<T>> found;
  for (const auto &[handle, object] : table.all) {
    if (object->context == context) {
      found.push_back(object);
    }
  }
  return found;
}

void leaked(const Context &context, size_t count, const char *what) {
  if (count && !context.error) {  // after a fault there is nothing that a program could still give back
    machine().violate("the last reference to a context goes, and " + std::to_string(count) + " " + what +
                      " of it are alive: a leak");
  }
}

void end_memory(Lock &lock, const std::shared_ptr<Context> &context) {
  Memory &memory = machine().memory;
  std::vector<std::shared_ptr<Block>> device, host;
  for (const auto &[address, block] : memory.blocks) {
    if (block->context == context) {
      (block->where == Where::device ? device : host).push_back(block);
    }
  }
  leaked(*context, device.size(), "blocks of device memory");
  leaked(*context, host.size(), "blocks of pinned or registered host memory");
  for (auto *list : {&device, &host}) {
    for (const auto &block : *list) {
      await_users(lock, block, "freed with its context");
      if (block->pool) {
        block->pool->used -= block->size;
        trim(*block->pool, 0);
      }
      memory.give(block);
    }
  }
}

}  // namespace

Device &device_at(int index) {
  auto &devices = machine().devices;
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    fail(invalid_device);
  }
  return *devices[static_cast<size_t>(index)];
}

std::shared_ptr<Context> make_context(Device &device, bool primary, unsigned flags) {
  if (device.lost) {
    fail(device.lost);
  }
  auto context = std::make_shared<Context>(device);
  context->primary = primary;
  context->flags = flags;
  machine().contexts.add(context);
  return context;
}

std::shared_ptr<Context> context_at(const void *handle) {
  auto context = object(machine().contexts, handle, "the context", invalid_context);
  return context;
}

std::shared_ptr<Context> retain_primary(Device &device) {
  if (device.lost) {
    fail(device.lost);
  }
  if (!device.primary) {
    device.primary = make_context(device, true, device.flags);
  }
  ++device.references;
  return device.primary;
}

void release_primary(Lock &lock, Device &device) {
  if (device.references == 0) {
    machine().violate("the primary context is released more often than it was retained");
    fail(invalid_context);
  }
  if (--device.references == 0) {
    auto context = device.primary;
    device.primary.reset();
    end_context(lock, context);
  }
}

void end_context(Lock &lock, const std::shared_ptr<Context> &context) {
  Machine &m = machine();
  auto streams = of(m.streams, context);
  leaked(*context,
         static_cast<size_t>(std::count_if(streams.begin(), streams.end(), [](auto &s) { return !s->hidden; })),
         "streams");
  for (const auto &stream : streams) {
    stream->capture.reset();
    wait_done(lock, stream, stream->submitted);
  }
  auto resources = of(m.resources, context);
  leaked(*context, resources.size(), "graphics resources");
  for (const auto &resource : resources) {
    m.resources.remove(*resource);
  }
  auto handles = of(m.library_handles, context);
  leaked(*context, handles.size(), "handles of libraries");
  for (const auto &handle : handles) {
    m.library_handles.remove(*handle);
  }
  auto modules = of(m.modules, context);
  leaked(*context, modules.size(), "modules");
  for (const auto &module : modules) {
    unload(lock, module);
  }
  auto events = of(m.events, context);
  leaked(*context, events.size(), "events");
  for (const auto &event : events) {
    m.events.remove(*event);
  }
  auto graphs = of(m.graphs, context);
  auto execs = of(m.execs, context);
  leaked(*context, graphs.size() + execs.size(), "graphs");
  for (const auto &graph : graphs) {
    destroy(*graph);
  }
  for (const auto &exec : execs) {
    m.execs.remove(*exec);
  }
  end_memory(lock, context);
  for (const auto &stream : streams) {
    end_stream(lock, stream);
  }
  context->null_stream.reset();
  context->per_thread.clear();
  context->alive = false;
  m.contexts.remove(*context);
  if (m.contexts.all.empty() && !context->error) {
    auto own = [](const auto &entry) { return entry.second->own; };
    if (auto count = std::count_if(m.pools.all.begin(), m.pools.all.end(), own)) {
      m.violate("the last context goes, and " + std::to_string(count) + " memory pools are alive: a leak");
    }
  }
}

void synchronize(Lock &lock, const std::shared_ptr<Context> &context) {
  for (const auto &stream : of(machine().streams, context)) {
    wait_done(lock, stream, stream->submitted);
  }
  healthy(*context);
}

bool peers(const Device &from, const Device &to) {
  const Settings &settings = machine().settings;
  if (from.index == to.index || settings.peers == Peers::none) {
    return false;
  }
  int apart = std::abs(from.index - to.index);
  return settings.peers == Peers::all || apart == 1 || apart == settings.devices - 1;
}

}  // namespace gpu

// commands.cpp — the functions of Level Zero about modules, kernels and command lists.
#include "call.hpp"

using namespace ze_double;

namespace {

constexpr char kNative[8] = {'Z', 'E', 'D', 'O', 'U', 'B', 'L', 'E'};

template <class T>
uint64_t address(T *p) { return reinterpret_cast<uint64_t>(p); }

// Common to all commands: waits and a signal.
Command command(Machine &m, const char *what, ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits) {
  Command c;
  c.what = what;
  if (n && !waits) refuse(ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < n; ++i) c.waits.push_back(m.find<Event>(waits[i], Kind::event));
  if (signal) c.signal = m.find<Event>(signal, Kind::event);
  return c;
}

// The box around all bytes that a region touches.
Range extent(uint64_t at, const ze_copy_region_t &r, uint64_t pitch, uint64_t slice, bool write) {
  const uint64_t first = r.originX + r.originY * pitch + r.originZ * slice, deep = r.depth ? r.depth - 1 : 0;
  return {at + first, deep * slice + (r.height ? (r.height - 1) * pitch : 0) + r.width, write};
}

void check(Machine &m, const List &l, const Command &c) {
  for (const Range &r : c.ranges)
    if (!m.may_touch(r, *l.device, l.context, true, c.what)) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

}  // namespace

// -- modules and kernels ----------------------------------------------------------------------------------------------

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc, ze_module_handle_t *out, ze_module_build_log_handle_t *log) {
  return call("zeModuleCreate", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    const auto d = m.find<Device>(device, Kind::device);
    typed(m, desc, ZE_STRUCTURE_TYPE_MODULE_DESC, "zeModuleCreate");
    if (d->lost) return ZE_RESULT_ERROR_DEVICE_LOST;
    const uint8_t *text = need(desc->pInputModule);
    size_t n = desc->inputSize;
    const auto made = std::make_shared<Module>();
    made->device = d;
    if (desc->format == ZE_MODULE_FORMAT_NATIVE) {
      if (n < sizeof kNative || std::memcmp(text, kNative, sizeof kNative) != 0) return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
      text += sizeof kNative, n -= sizeof kNative;
    }
    std::vector<uint32_t> words(n / 4);
    std::memcpy(words.data(), text, words.size() * 4);
    made->words = words;
    std::string why;
    made->program = spirv::parse(std::move(words), &why);
    if (log) {
      const auto l = std::make_shared<Log>();
      l->text = why;
      m.add(l, c->handle);
      *log = handle_of<ze_module_build_log_handle_t>(*l);
    }
    if (!made->program) return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    m.add(made, c->handle);
    *need(out) = handle_of<ze_module_handle_t>(*made);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeModuleDestroy(ze_module_handle_t module) {
  return call("zeModuleDestroy", [&](Machine &m, Lock &) {
    const auto found = m.find<Module>(module, Kind::module);
    if (found->kernels) m.violate("a module is destroyed that still has " + std::to_string(found->kernels) + " kernels");
    m.remove(*found);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *out) {
  return call("zeModuleBuildLogGetString", [&](Machine &m, Lock &) {
    const auto l = m.find<Log>(log, Kind::log);
    if (out) std::memcpy(out, l->text.c_str(), std::min(*size, l->text.size() + 1));
    *need(size) = l->text.size() + 1;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t log) {
  return call("zeModuleBuildLogDestroy", [&](Machine &m, Lock &) {
    m.remove(*m.find<Log>(log, Kind::log));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeModuleGetKernelNames(ze_module_handle_t module, uint32_t *count, const char **out) {
  return call("zeModuleGetKernelNames", [&](Machine &m, Lock &) {
    const auto found = m.find<Module>(module, Kind::module);
    return list(count, out, found->program->entries.size(), [&](uint32_t i, const char *&one) { one = found->program->entries[i].name.c_str(); });
  });
}

ze_result_t zeModuleGetNativeBinary(ze_module_handle_t module, size_t *size, uint8_t *out) {
  return call("zeModuleGetNativeBinary", [&](Machine &m, Lock &) {
    const auto found = m.find<Module>(module, Kind::module);
    const size_t n = sizeof kNative + found->words.size() * 4;
    if (out && *size >= n) {
      std::memcpy(out, kNative, sizeof kNative);
      std::memcpy(out + sizeof kNative, found->words.data(), found->words.size() * 4);
    }
    *need(size) = n;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc, ze_kernel_handle_t *out) {
  return call("zeKernelCreate", [&](Machine &m, Lock &) {
    const auto found = m.find<Module>(module, Kind::module);
    typed(m, desc, ZE_STRUCTURE_TYPE_KERNEL_DESC, "zeKernelCreate");
    for (const spirv::Entry &e : found->program->entries) {
      if (e.name != need(desc->pKernelName)) continue;
      const auto k = std::make_shared<Kernel>();
      k->module = found;
      k->entry = &e;
      k->args.resize(e.params.size());
      ++found->kernels;
      m.add(k, found->context);
      *need(out) = handle_of<ze_kernel_handle_t>(*k);
      return ZE_RESULT_SUCCESS;
    }
    return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  });
}

ze_result_t zeKernelDestroy(ze_kernel_handle_t kernel) {
  return call("zeKernelDestroy", [&](Machine &m, Lock &) {
    const auto k = m.find<Kernel>(kernel, Kind::kernel);
    --k->module->kernels;
    m.remove(*k);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeKernelGetProperties(ze_kernel_handle_t kernel, ze_kernel_properties_t *out) {
  return call("zeKernelGetProperties", [&](Machine &m, Lock &) {
    const auto k = m.find<Kernel>(kernel, Kind::kernel);
    typed(m, out, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, "zeKernelGetProperties");
    out->numKernelArgs = static_cast<uint32_t>(k->entry->params.size());
    out->requiredGroupSizeX = k->entry->required[0];
    out->requiredGroupSizeY = k->entry->required[1];
    out->requiredGroupSizeZ = k->entry->required[2];
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
  return call("zeKernelSetGroupSize", [&](Machine &m, Lock &) {
    const auto k = m.find<Kernel>(kernel, Kind::kernel);
    const uint32_t size[3] = {x, y, z};
    if (!x || !y || !z || uint64_t{x} * y * z > 1024 || z > 64) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    if (k->entry->required[0] && std::memcmp(size, k->entry->required, sizeof size) != 0) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    std::memcpy(k->size, size, sizeof size);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeKernelSuggestGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z, uint32_t *out_x, uint32_t *out_y, uint32_t *out_z) {
  return call("zeKernelSuggestGroupSize", [&](Machine &m, Lock &) {
    m.find<Kernel>(kernel, Kind::kernel);
    uint32_t size = 1;
    while (size < 32 && x && x % (2 * size) == 0) size *= 2;
    *need(out_x) = size;
    *need(out_y) = *need(out_z) = 1;
    if (!y || !z) return ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void *value) {
  return call("zeKernelSetArgumentValue", [&](Machine &m, Lock &) {
    const auto k = m.find<Kernel>(kernel, Kind::kernel);
    if (index >= k->args.size()) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    const spirv::Param &p = k->entry->params[index];
    const bool local = p.kind == spirv::Param::local;
    if (local != (value == nullptr) || !size || (!local && size != p.size)) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    spirv::Argument &a = k->args[index];
    a.set = true;
    a.size = local ? size : 0;
    const auto *bytes = static_cast<const uint8_t *>(value);
    if (!local) a.bytes.assign(bytes, bytes + size);
    return ZE_RESULT_SUCCESS;
  });
}

// -- lists ------------------------------------------------------------------------------------------------------------

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t *desc, ze_command_list_handle_t *out) {
  return call("zeCommandListCreateImmediate", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    const auto d = m.find<Device>(device, Kind::device);
    typed(m, desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, "zeCommandListCreateImmediate");
    const uint64_t queues = desc->ordinal == 0 ? 4 : desc->ordinal == 1 ? m.settings.copy_queues : 0;
    if (desc->index >= queues) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT);
    const auto l = make_list(m, d, c->handle);
    l->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    l->copies_only = desc->ordinal == 1;
    l->pattern = l->copies_only ? m.settings.pattern : 128;
    *need(out) = handle_of<ze_command_list_handle_t>(*l);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t handle) {
  return call("zeCommandListDestroy", [&](Machine &m, Lock &lock) {
    close_list(lock, m, m.find<List>(handle, Kind::list));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits) {
  return call("zeCommandListAppendBarrier", [&](Machine &m, Lock &lock) {
    append(lock, m, m.find<List>(handle, Kind::list), command(m, "a barrier", signal, n, waits));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t handle, void *to, const void *from, size_t size, ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits) {
  return call("zeCommandListAppendMemoryCopy", [&](Machine &m, Lock &lock) {
    const auto l = m.find<List>(handle, Kind::list);
    Command c = command(m, "a copy", signal, n, waits);
    c.ranges = {{address(need(from)), size, false}, {address(need(to)), size, true}};
    c.touched = {address(from), address(to)};
    c.bytes = size;
    check(m, *l, c);
    c.run = [=](Lock &) { return std::memmove(to, from, size), true; };
    append(lock, m, l, std::move(c));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t handle, void *to, const ze_copy_region_t *to_region, uint32_t to_pitch, uint32_t to_slice,
                                                const void *from, const ze_copy_region_t *from_region, uint32_t from_pitch, uint32_t from_slice,
                                                ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits) {
  return call("zeCommandListAppendMemoryCopyRegion", [&](Machine &m, Lock &lock) {
    const auto l = m.find<List>(handle, Kind::list);
    Command c = command(m, "a copy of a region", signal, n, waits);
    const ze_copy_region_t t = *need(to_region), f = *need(from_region);
    if (t.width != f.width || t.height != f.height || t.depth != f.depth) refuse(ZE_RESULT_ERROR_INVALID_SIZE);
    if (t.width > to_pitch || f.width > from_pitch || (t.depth && (uint64_t{t.height} * to_pitch > to_slice || uint64_t{f.height} * from_pitch > from_slice)))
      m.violate("a region hangs over its pitch");
    c.ranges = {extent(address(need(from)), f, from_pitch, from_slice, false), extent(address(need(to)), t, to_pitch, to_slice, true)};
    c.touched = {c.ranges[0].at, c.ranges[1].at};
    c.bytes = uint64_t{t.width} * t.height * std::max(t.depth, 1u);
    check(m, *l, c);
    c.ranges.clear();  // boxes that lie between one another's rows may be copied at once
    c.run = [=](Lock &) {
      for (uint64_t z = 0; z < std::max(t.depth, 1u); ++z)
        for (uint64_t y = 0; y < t.height; ++y)
          std::memmove(static_cast<char *>(to) + t.originX + (t.originY + y) * to_pitch + (t.originZ + z) * to_slice,
                       static_cast<const char *>(from) + f.originX + (f.originY + y) * from_pitch + (f.originZ + z) * from_slice, t.width);
      return true;
    };
    append(lock, m, l, std::move(c));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void *to, const void *pattern, size_t width, size_t size, ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits) {
  return call("zeCommandListAppendMemoryFill", [&](Machine &m, Lock &lock) {
    const auto l = m.find<List>(handle, Kind::list);
    Command c = command(m, "a fill", signal, n, waits);
    if (!width || (width & (width - 1)) || width > l->pattern) refuse(ZE_RESULT_ERROR_INVALID_SIZE);
    c.ranges = {{address(need(to)), size, true}};
    c.touched = {address(to)};
    c.bytes = size;
    check(m, *l, c);
    std::vector<char> p(width);
    std::memcpy(p.data(), need(pattern), width);
    c.run = [=](Lock &) {
      for (size_t i = 0; i < size; ++i) static_cast<char *>(to)[i] = p[i % width];
      return true;
    };
    append(lock, m, l, std::move(c));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t handle, ze_kernel_handle_t kernel, const ze_group_count_t *groups, ze_event_handle_t signal,
                                            uint32_t n, ze_event_handle_t *waits) {
  return call("zeCommandListAppendLaunchKernel", [&](Machine &m, Lock &lock) {
    const auto l = m.find<List>(handle, Kind::list);
    const auto k = m.find<Kernel>(kernel, Kind::kernel);
    if (l->copies_only) {
      m.violate("a kernel on an engine that only copies");
      refuse(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    }
    if (k->module->device != l->device) m.violate("a kernel that was built for another device");
    Command c = command(m, "a kernel", signal, n, waits);
    c.what = "kernel \"" + k->entry->name + "\"";
    spirv::Launch launch;
    launch.entry = k->entry;
    launch.args = k->args;
    const uint32_t count[3] = {need(groups)->groupCountX, groups->groupCountY, groups->groupCountZ};
    for (int d = 0; d < 3; ++d) launch.groups[d] = count[d], launch.size[d] = k->size[d];
    for (size_t i = 0; i < k->args.size(); ++i) {
      if (!k->args[i].set) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT);
      if (k->entry->params[i].kind != spirv::Param::pointer) continue;
      uint64_t at = 0;
      std::memcpy(&at, k->args[i].bytes.data(), sizeof at);
      c.touched.push_back(at);
    }
    const auto program = k->module->program;
    List *const list = l.get();  // it outlives its commands
    c.run = [&m, program, launch, list, what = c.what](Lock &own) {
      std::string why;
      const spirv::Ask ask = [&](uint64_t at, uint64_t size, bool write, uint64_t *first, uint64_t *bytes) {
        const Lock inner(m.mutex);
        if (!m.may_touch({at, size, write}, *list->device, list->context, false, what)) return false;
        const Block *b = m.block_of(at);
        *first = b->at, *bytes = b->size;
        return true;
      };
      const bool good = spirv::run(*program, launch, ask, &why);
      if (!good) {
        own.lock();
        if (why.find("not its own") == std::string::npos) m.violate(what + ": " + why);
      }
      return good;
    };
    append(lock, m, l, std::move(c));
    return ZE_RESULT_SUCCESS;
  });
}

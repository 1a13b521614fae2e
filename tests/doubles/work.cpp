#include "work.hpp"

#include <cstdio>
#include <cstring>

#include "code.hpp"
#include "machine.hpp"

namespace gpu {

namespace {

template <class... F>
struct Each : F... {
  using F::operator()...;
};

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Each word of a kernel's parameters that may be a pointer.
template <class F>
void each_pointer(const Kernel &kernel, F &&look) {
  for (const Param &param : kernel.function->params) {
    if (param.kind == consort_double_value) {
      continue;
    }
    for (size_t at = 0; at + 8 <= param.size; at += 8) {
      uint64_t value;
      std::memcpy(&value, kernel.params.data() + param.offset + at, 8);
      look(value, param.kind);
    }
  }
}

void check_side(const Region &region, bool device, const char *side) {
  if (region.end() == region.address) {
    return;
  }
  Machine &m = machine();
  auto block = m.memory.find(region.address);
  std::string text = std::string(side) + " " + hex(region.address);
  if (block) {
    if (block->going) {
      m.violate(text + " is in a freed " + block->words());
      fail(invalid_value);
    }
    if (region.end() > block->address + block->size) {
      m.violate(text + " reaches " + std::to_string(region.end() - block->address - block->size) +
                " bytes past the end of a " + block->words());
      fail(invalid_value);
    }
    return;
  }
  if (Device *owner = m.device_of(region.address)) {
    m.violate(text + (owner->arena->was_freed(region.address) ? " was freed: use after free"
                                                              : " is outside each allocation of its device"));
    fail(invalid_value);
  }
  if (device) {
    m.violate(text + " is no address of device, pinned or registered memory");
    fail(invalid_value);
  }
}

void check_kernel(const Kernel &kernel, const Context &context, int &fault) {
  Machine &m = machine();
  each_pointer(kernel, [&](uint64_t value, unsigned kind) {
    Device *owner = m.device_of(value);
    bool pointer = kind != consort_double_unknown;
    auto block = m.memory.find(value);
    if (!value || (!block && !owner && !pointer)) {
      return;
    }
    std::string text = "kernel " + kernel.function->name + " has the pointer " + hex(value) + ", which ";
    if (!block) {
      if (owner && value > 0 && m.memory.find(value - 1)) {
        return;  // the end of a block, of which nothing is read
      }
      m.violate(text + (owner && owner->arena->was_freed(value) ? "was freed: use after free"
                        : owner                                 ? "is outside each allocation"
                                : "is no address of device, pinned or registered memory"));
    } else if (block->going) {
      m.violate(text + "is in a freed " + block->words());
    } else if (block->where == Where::device && !reaches(context, *block)) {
      m.violate(text + "is on device " + std::to_string(block->device) + ", to which device " +
                std::to_string(context.device.index) + " was given no access");
    } else {
      return;
    }
    fault = illegal_address;
  });
}

int run(Kernel &kernel) {
  auto pointers = kernel.pointers();
  return kernel.function->run(pointers.data(), kernel.launch);
}

int run(Copy &copy) {
  const char *from = copy.staged ? copy.staged->data() : reinterpret_cast<const char *>(copy.src);
  auto *to = reinterpret_cast<char *>(copy.dst);
  size_t pitch = copy.staged ? copy.width : copy.src_pitch;
  size_t plane_pitch = copy.staged ? copy.width * copy.height : copy.src_plane;
  for (size_t plane = 0; plane < copy.depth; ++plane) {
    for (size_t row = 0; row < copy.height; ++row) {
      std::memmove(to + plane * copy.dst_plane + row * copy.dst_pitch, from + plane * plane_pitch + row * pitch,
                   copy.width);
    }
  }
  return 0;
}

int run(const Fill &fill) {
  for (size_t row = 0; row < fill.height; ++row) {
    auto *to = reinterpret_cast<unsigned char *>(fill.dst + row * fill.pitch);
    for (size_t i = 0; i < fill.width; ++i) {
      std::memcpy(to + i * fill.element, &fill.value, fill.element);  // little-endian, as the devices are
    }
  }
  return 0;
}

}  // namespace

bool reaches(const Context &context, const Block &block) {
  int device = context.device.index;
  return block.device == device || context.peers.contains(block.device) ||
         (block.pool && block.pool->access.contains(device));
}

std::vector<void *> Kernel::pointers() {
  std::vector<void *> all;
  for (const Param &param : function->params) {
    all.push_back(params.data() + param.offset);
  }
  return all;
}

Copy line(uint64_t dst, uint64_t src, size_t bytes, bool dst_device, bool src_device) {
  Copy copy;
  copy.dst = dst;
  copy.src = src;
  copy.width = copy.dst_pitch = copy.src_pitch = copy.dst_plane = copy.src_plane = bytes;
  copy.dst_device = dst_device;
  copy.src_device = src_device;
  return copy;
}

std::vector<Touch> touches(const Work &work) {
  std::vector<Touch> all;
  std::visit(Each{[](const auto &) {},
                  [&](const Copy &copy) {
                    all.push_back({copy.to(), Mode::write});
                    if (!copy.staged) {
                      all.push_back({copy.from(), Mode::read});
                    }
                  },
                  [&](const Fill &fill) {
                    all.push_back({fill.to(), Mode::write});
                  },
                  [&](const Fresh &fresh) {
                    all.push_back({fresh.block->all(), Mode::write});
                  },
                  [&](const Release &release) {
                    all.push_back({release.block->all(), Mode::write});
                  },
                  [&](const Kernel &kernel) {
                    each_pointer(kernel, [&](uint64_t value, unsigned kind) {
                      all.push_back({Region{value, 1, 1, 1, 1, 1}, kind == consort_double_reads    ? Mode::read
                                                                   : kind == consort_double_writes ? Mode::write
                                                                                                   : Mode::unknown});
                    });
                  }},
             work);
  return all;
}

void check(const Work &work, const Context &context, int &fault) {
  std::visit(Each{[](const auto &) {},
                  [&](const Copy &copy) {
                    check_side(copy.to(), copy.dst_device, "the target of a copy");
                    if (!copy.staged) {
                      check_side(copy.from(), copy.src_device, "the source of a copy");
                    }
                  },
                  [&](const Fill &fill) { check_side(fill.to(), true, "the target of a fill"); },
                  [&](const Kernel &kernel) { check_kernel(kernel, context, fault); }},
             work);
}

int perform(Work &work, int status) {
  return std::visit(Each{[](Nothing &) { return 0; },
                         [](Fresh &fresh) {
                           poison(fresh.block->address, fresh.block->size, 0xa5);
                           return 0;
                         },
                         [](Release &) { return 0; },
                         [status](HostCall &host) {
                           host.call(status);
                           return 0;
                         },
                         [](auto &other) { return run(other); }},
                    work);
}

}  // namespace gpu

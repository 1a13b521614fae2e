#include "module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "call.hpp"
#include "ptx.hpp"

namespace gpu {

namespace {

size_t elf_size(const Elf64_Ehdr &head, const unsigned char *image) {
  size_t size = std::max<size_t>(head.e_shoff + size_t{head.e_shnum} * head.e_shentsize,
                                 head.e_phoff + size_t{head.e_phnum} * head.e_phentsize);
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, image + head.e_phoff + size_t{i} * head.e_phentsize, sizeof part);
    size = std::max<size_t>(size, part.p_offset + part.p_filesz);
  }
  return size;
}

// A library of its own each time: the loader tells libraries apart by path and file, also one that stays loaded after
// it was closed.
std::shared_ptr<void> open_image(const unsigned char *image, size_t size, std::string &log) {
  std::error_code none;
  std::string path = (std::filesystem::temp_directory_path(none) / "consort-double-image-XXXXXX").string();
  int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    fail(out_of_memory);
  }
  bool written = true;
  for (size_t at = 0; written && at < size;) {
    ssize_t n = write(fd, image + at, size - at);
    written = n > 0;
    at += written ? static_cast<size_t>(n) : 0;
  }
  close(fd);
  void *opened = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (written && !opened) {
    log = dlerror();
  }
  unlink(path.c_str());
  if (!opened) {
    fail(written ? invalid_image : out_of_memory);
  }
  return {opened, dlclose};
}

std::shared_ptr<Function> function_of(const consort_double_kernel &kernel, const std::shared_ptr<void> &library) {
  auto function = std::make_shared<Function>();
  Dl_info info{};
  bool named = kernel.function && dladdr(kernel.function, &info) && info.dli_sname && info.dli_saddr == kernel.function;
  function->name = named ? info.dli_sname : kernel.name;
  for (unsigned i = 0; i < kernel.param_count; ++i) {
    function->params.push_back({kernel.params[i].size, kernel.params[i].offset, kernel.params[i].kind});
  }
  function->static_shared = kernel.static_shared;
  function->code = library;
  function->run = [run = kernel.run](void **params, const consort_double_launch &launch) {
    run(params, &launch);
    return 0;
  };
  return function;
}

void load_host(Module &module, const unsigned char *image, std::string &log) {
  Elf64_Ehdr head;
  std::memcpy(&head, image, sizeof head);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_DYN || head.e_machine == 190 || head.e_machine == 224) {
    log =
        "an ELF image, but none for the host: the double executes images of its own compiler, no machine code of a GPU";
    fail(no_binary_for_gpu);
  }
  auto library = open_image(image, elf_size(head, image), log);
  auto *table = static_cast<const consort_double_image *>(dlsym(library.get(), "consort_double_image"));
  if (!table || table->version != consort_double_image_version) {
    log = "an ELF image of the host without a table of kernels";
    fail(invalid_image);
  }
  for (unsigned i = 0; i < table->kernel_count; ++i) {
    module.functions.push_back(function_of(table->kernels[i], library));
  }
}

// The bytes that a kernel may touch, as they are when it begins.
struct Ranges {
  std::vector<std::pair<uint64_t, uint64_t>> all;  // by address
  size_t last = 0;

  static bool has(void *self, uint64_t address, size_t size) {
    auto &ranges = *static_cast<Ranges *>(self);
    auto inside = [&](size_t i) { return address >= ranges.all[i].first && address + size <= ranges.all[i].second; };
    if (ranges.last < ranges.all.size() && inside(ranges.last)) return true;
    auto after = std::upper_bound(ranges.all.begin(), ranges.all.end(), std::pair{address, UINT64_MAX});
    if (after == ranges.all.begin()) return false;
    ranges.last = static_cast<size_t>(after - ranges.all.begin()) - 1;
    return inside(ranges.last);
  }
};

int interpret(const ptx::Entry &entry, const std::weak_ptr<Context> &of, void **params,
              const consort_double_launch &launch) {
  Machine &m = machine();
  Ranges ranges;
  {
    Lock lock(m.mutex);
    auto context = of.lock();
    for (const auto &[address, block] : m.memory.blocks) {
      if (context && (block->where != Where::device || reaches(*context, *block))) {
        ranges.all.emplace_back(address, address + block->size);
      }
    }
  }
  ptx::Fault fault = ptx::run(entry, params, launch, &Ranges::has, &ranges);
  if (!fault.line) return 0;
  Lock lock(m.mutex);
  char address[24];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(fault.address));
  m.violate("kernel " + entry.name + ", line " + std::to_string(fault.line) + " of its text, touches " + address +
            ", where it may not or not at such an address");
  return illegal_address;
}

void load_text(Module &module, const std::shared_ptr<Context> &context, const char *text, std::string &log) {
  std::vector<ptx::Entry> entries;
  if (!ptx::parse(text, entries, log)) fail(invalid_ptx);
  for (ptx::Entry &read : entries) {
    auto entry = std::make_shared<const ptx::Entry>(std::move(read));
    auto function = std::make_shared<Function>();
    function->name = entry->name;
    for (const ptx::Param &param : entry->params) {
      unsigned kind = param.pointer ? consort_double_unknown : consort_double_value;
      function->params.push_back({param.size, param.offset, kind});
    }
    function->static_shared = entry->shared;
    function->max_threads = entry->max_threads;
    function->run = [entry, of = std::weak_ptr(context)](void **params, const consort_double_launch &launch) {
      return interpret(*entry, of, params, launch);
    };
    module.functions.push_back(std::move(function));
  }
}

// Whether this may be a program's text: it has no bytes that are none before it says its version.
bool is_text(const char *text) {
  const char *version = std::strstr(text, ".version");
  return version &&
         std::all_of(text, version, [](unsigned char c) { return c >= ' ' || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

std::shared_ptr<Module> load_module(const std::shared_ptr<Context> &context, const void *image, std::string &log) {
  const auto *bytes = static_cast<const unsigned char *>(need(image));
  auto module = std::make_shared<Module>();
  if (bytes[0] == ELFMAG0 && std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    load_host(*module, bytes, log);
  } else if (is_text(static_cast<const char *>(image))) {
    load_text(*module, context, static_cast<const char *>(image), log);
  } else {
    log = "neither an ELF image nor a program's text";
    fail(invalid_image);
  }
  module->context = context;
  Machine &m = machine();
  m.modules.add(module);
  for (const auto &function : module->functions) {
    function->context = context;
    function->module = module;
    m.functions.add(function);
  }
  return module;
}

void unload(Lock &lock, const std::shared_ptr<Module> &module) {
  (void)lock;
  Machine &m = machine();
  for (const auto &[handle, stream] : m.streams.all) {
    for (const Op &op : stream->queue) {
      const auto *kernel = std::get_if<Kernel>(&op.work);
      if (kernel && kernel->function->module.lock() == module && !stream->context->error) {
        m.violate("kernel " + kernel->function->name + " waits in a stream while its module is unloaded");
      }
    }
  }
  for (const auto &function : module->functions) {
    m.functions.remove(*function);
  }
  m.modules.remove(*module);
}

}  // namespace gpu

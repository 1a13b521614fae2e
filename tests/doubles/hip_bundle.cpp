#include "hip_bundle.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "image.h"

namespace gpu {

namespace {

constexpr char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr size_t magic_size = sizeof magic - 1;
constexpr char host_name[] = "host-x86_64-unknown-linux";
constexpr char device_name[] = "hipv4-amdgcn-amd-amdhsa--gfx906";

// MessagePack, as much of it as the notes are made of.
void pack(std::string &to, const std::string &text) {
  to += text.size() < 32 ? std::string(1, static_cast<char>(0xa0 | text.size()))
                         : std::string{'\xd9', static_cast<char>(text.size())};
  to += text;
}
void pack(std::string &to, unsigned number) {
  to += '\xce';
  for (int shift = 24; shift >= 0; shift -= 8) {
    to += static_cast<char>(number >> shift);
  }
}
void pack_group(std::string &to, char code, size_t n) {  // map 16, array 16
  to += {code, static_cast<char>(n >> 8), static_cast<char>(n)};
}

std::string metadata_of(const consort_double_image &table) {
  std::string text;
  pack_group(text, '\xde', 1);
  pack(text, "amdhsa.kernels");
  pack_group(text, '\xdc', table.kernel_count);
  for (unsigned i = 0; i < table.kernel_count; ++i) {
    const consort_double_kernel &kernel = table.kernels[i];
    Dl_info info{};
    bool named = kernel.function && dladdr(kernel.function, &info) && info.dli_sname;
    pack_group(text, '\xde', 3);
    pack(text, ".args");
    pack_group(text, '\xdc', kernel.param_count + 1);
    for (unsigned k = 0; k <= kernel.param_count; ++k) {  // the last is one of the compiler's own
      bool own = k == kernel.param_count;
      pack_group(text, '\xde', 2);
      pack(text, ".size");
      pack(text, own ? 8 : kernel.params[k].size);
      pack(text, ".value_kind");
      pack(text, own ? "hidden_global_offset_x" : "by_value");
    }
    pack(text, ".name");
    pack(text, named ? info.dli_sname : kernel.name);
    pack(text, ".uses_dynamic_stack");
    text += '\xc2';
  }
  return text;
}

// An image with one header, which leads to one note.
std::string notes_with(const std::string &metadata) {
  auto whole = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  Elf64_Nhdr note{7, static_cast<Elf64_Word>(metadata.size()), 32};
  std::string body(reinterpret_cast<char *>(&note), sizeof note);
  body += std::string("AMDGPU\0\0", 8) + metadata;
  body.resize(whole(body.size()));
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_machine = 224;
  head.e_phoff = sizeof head;
  head.e_phnum = 1;
  head.e_phentsize = sizeof(Elf64_Phdr);
  Elf64_Phdr part{};
  part.p_type = PT_NOTE;
  part.p_offset = sizeof head + sizeof part;
  part.p_filesz = body.size();
  return std::string(reinterpret_cast<char *>(&head), sizeof head) +
         std::string(reinterpret_cast<char *>(&part), sizeof part) + body;
}

std::string metadata_in(const std::string &image) {
  std::string metadata;
  int fd = memfd_create("consort-double-bundle", MFD_CLOEXEC);
  if (fd >= 0 && write(fd, image.data(), image.size()) == static_cast<ssize_t>(image.size())) {
    if (void *opened = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      auto *table = static_cast<const consort_double_image *>(dlsym(opened, "consort_double_image"));
      if (table && table->version == consort_double_image_version) {
        metadata = metadata_of(*table);
      }
      dlclose(opened);
    }
  }
  if (fd >= 0) {
    close(fd);
  }
  return metadata;
}

}  // namespace

std::string bundle_of(const std::string &image) {
  const std::string metadata = metadata_in(image);
  if (metadata.empty()) {
    return "";
  }
  const std::string parts[] = {image, notes_with(metadata)};
  const std::string ids[] = {host_name, device_name};
  uint64_t at = magic_size + sizeof(uint64_t);
  for (const std::string &id : ids) {
    at += 3 * sizeof(uint64_t) + id.size();
  }
  uint64_t count = std::size(parts);
  std::string out = magic;
  out.append(reinterpret_cast<char *>(&count), sizeof count);
  for (size_t i = 0; i < count; ++i) {
    at = (at + 15) / 16 * 16;
    uint64_t entry[] = {at, parts[i].size(), ids[i].size()};
    out.append(reinterpret_cast<char *>(entry), sizeof entry);
    out += ids[i];
    at += parts[i].size();
  }
  for (const std::string &part : parts) {
    out.resize((out.size() + 15) / 16 * 16);
    out += part;
  }
  return out;
}

const void *host_image_in(const void *image) {
  auto *bytes = static_cast<const char *>(image);
  if (std::strncmp(bytes, magic, magic_size) != 0) {
    return image;
  }
  uint64_t count = 0, entry[3];
  std::memcpy(&count, bytes + magic_size, sizeof count);
  const char *at = bytes + magic_size + sizeof count;
  for (; count; --count) {
    std::memcpy(entry, at, sizeof entry);
    if (entry[1] && std::strncmp(at + sizeof entry, "host-", 5) == 0) {
      return bytes + entry[0];
    }
    at += sizeof entry + entry[2];
  }
  return image;
}

}  // namespace gpu

// Buffers of OpenGL's, mapped: while one is mapped, a block of the device has its bytes, and the buffer itself has
// poison. GL is the library that the program has loaded, found by name at each call; its context is the calling
// thread's.
#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "cuda_front.hpp"

using namespace gpu;

// As cudaGL.h has it, which asks for GL's headers.
extern "C" CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned buffer, unsigned flags);

namespace {

constexpr unsigned kTarget = 0x8f36;  // GL_COPY_READ_BUFFER, as a target and as a question
constexpr unsigned kSize = 0x8764;    // GL_BUFFER_SIZE
constexpr unsigned kRead = 1, kWrite = 2;

class Gl {
 public:
  Gl() {  // no EGL, or no context of this thread's: there is nothing to share
    void *(*current)() = reinterpret_cast<void *(*)()>(dlsym(RTLD_DEFAULT, "eglGetCurrentContext"));
    find_ = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "eglGetProcAddress"));
    if (!current || !find_ || !current()) fail(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
    get(is_buffer_, "glIsBuffer"), get(integer_, "glGetIntegerv"), get(bind_, "glBindBuffer");
    get(parameter_, "glGetBufferParameteriv"), get(map_, "glMapBufferRange"), get(unmap_, "glUnmapBuffer");
  }
  bool has(unsigned buffer) const { return is_buffer_(buffer); }
  size_t size_of(unsigned buffer) const {
    int size = 0;
    bound(buffer, [&] { parameter_(kTarget, kSize, &size); });
    return static_cast<size_t>(size);
  }
  // f(bytes): the buffer's, where the host has them for as long as that takes.
  template <class F>
  void bytes(unsigned buffer, size_t size, unsigned how, F &&f) const {
    bound(buffer, [&] {
      void *at = map_(kTarget, 0, static_cast<ptrdiff_t>(size), how);
      if (!at) fail(CUDA_ERROR_MAP_FAILED);
      f(at);
      unmap_(kTarget);
    });
  }

 private:
  using Find = void (*(*)(const char *))();
  template <class T>
  void get(T &to, const char *name) {
    to = reinterpret_cast<T>(find_(name));
    if (!to) fail(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
  }
  template <class F>
  void bound(unsigned buffer, F &&f) const {  // the program's own binding is restored
    int before = 0;
    integer_(kTarget, &before);
    bind_(kTarget, buffer);
    try {
      f();
    } catch (...) {
      bind_(kTarget, static_cast<unsigned>(before));
      throw;
    }
    bind_(kTarget, static_cast<unsigned>(before));
  }

  Find find_ = nullptr;
  unsigned char (*is_buffer_)(unsigned) = nullptr;
  void (*integer_)(unsigned, int *) = nullptr;
  void (*bind_)(unsigned, unsigned) = nullptr;
  void (*parameter_)(unsigned, unsigned, int *) = nullptr;
  void *(*map_)(unsigned, ptrdiff_t, ptrdiff_t, unsigned) = nullptr;
  unsigned char (*unmap_)(unsigned) = nullptr;
};

std::shared_ptr<Resource> resource_at(CUgraphicsResource handle) {
  return object(machine().resources, handle, "the graphics resource");
}

// All of them, each once, of this context, and all mapped or none.
std::vector<std::shared_ptr<Resource>> resources_at(const Call &c, unsigned count, CUgraphicsResource *handles, bool mapped) {
  std::vector<std::shared_ptr<Resource>> all;
  if (count == 0) fail(invalid_value);
  for (unsigned i = 0; i < count; ++i) {
    auto one = resource_at(need(handles)[i]);
    for (const auto &other : all)
      if (other == one) fail(invalid_value);
    if (one->context != c.context) fail(invalid_handle);
    if (bool(one->block) != mapped) {
      machine().violate(mapped ? "a graphics resource is unmapped that is not mapped" : "a graphics resource is mapped that is mapped already");
      fail(mapped ? CUDA_ERROR_NOT_MAPPED : CUDA_ERROR_ALREADY_MAPPED);
    }
    all.push_back(std::move(one));
  }
  return all;
}

void still_there(const Gl &gl, const Resource &resource) {
  if (gl.has(resource.buffer) && gl.size_of(resource.buffer) == resource.size) return;
  machine().violate("the buffer of a graphics resource was deleted or made anew: unregister it before");
  fail(CUDA_ERROR_MAP_FAILED);
}

}  // namespace

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned buffer, unsigned flags) {
  return cu("cuGraphicsGLRegisterBuffer", Need::context, [&](Call &c) {
    need(resource);
    if (flags > CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD) fail(invalid_value);
    const Gl gl;
    for (const auto &[handle, other] : machine().resources.all)
      if (other->buffer == buffer) fail(CUDA_ERROR_ALREADY_MAPPED);
    auto made = std::make_shared<Resource>();
    if (!gl.has(buffer) || !(made->size = gl.size_of(buffer))) fail(invalid_value);  // a name alone has no memory
    made->buffer = buffer;
    made->flags = flags;
    made->context = c.context;
    machine().resources.add(made);
    *resource = handle_of<CUgraphicsResource>(*made);
  });
}

CUresult cuGraphicsUnregisterResource(CUgraphicsResource handle) {
  return cu("cuGraphicsUnregisterResource", Need::cleanup, [&](Call &c) {
    auto resource = resource_at(handle);
    if (resource->block) {
      machine().violate("a graphics resource is unregistered while it is mapped");
      give(c, resource->block, "unregistered");
    }
    machine().resources.remove(*resource);
  });
}

// Earlier commands of GL are done before: its buffer is read here and now.
CUresult cuGraphicsMapResources(unsigned count, CUgraphicsResource *handles, CUstream where) {
  return cu("cuGraphicsMapResources", Need::context, [&](Call &c) {
    const auto all = resources_at(c, count, handles, false);
    stream_of(where, c.context, false);
    const Gl gl;
    for (const auto &one : all) still_there(gl, *one);
    for (const auto &one : all) {
      auto block = machine().memory.take(c.context->device, one->size, nullptr);
      block->context = c.context;
      block->lent = true;
      gl.bytes(one->buffer, one->size, kRead | kWrite, [&](void *bytes) {
        if (one->flags != CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD) std::memcpy(address(block->address), bytes, one->size);
        std::memset(bytes, 0xdd, one->size);  // no command of GL may use it now
      });
      if (one->flags == CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY) {
        const auto *first = static_cast<const unsigned char *>(address(block->address));
        one->kept.assign(first, first + one->size);
      }
      one->block = std::move(block);
    }
  });
}

// Earlier work of the stream is done before GL has the buffer again; work of other streams on it must be over.
CUresult cuGraphicsUnmapResources(unsigned count, CUgraphicsResource *handles, CUstream where) {
  return cu("cuGraphicsUnmapResources", Need::context, [&](Call &c) {
    const auto all = resources_at(c, count, handles, true);
    synchronize(c.lock, stream_of(where, c.context, false));
    const Gl gl;
    for (const auto &one : all) still_there(gl, *one);
    for (const auto &one : all) {
      auto block = std::move(one->block);
      one->block = nullptr;
      if (!one->kept.empty() && std::memcmp(one->kept.data(), address(block->address), one->size) != 0)
        machine().violate("a graphics resource was written that was registered to be read only");
      one->kept.clear();
      std::vector<unsigned char> bytes(one->size);
      std::memcpy(bytes.data(), address(block->address), one->size);
      give(c, block, "unmapped");
      gl.bytes(one->buffer, one->size, kWrite, [&](void *to) { std::memcpy(to, bytes.data(), bytes.size()); });
    }
  });
}

CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *pointer, size_t *size, CUgraphicsResource handle) {
  return cu("cuGraphicsResourceGetMappedPointer", Need::context, [&](Call &) {
    auto resource = resource_at(handle);
    if (!resource->block) {
      machine().violate("the address of a graphics resource is asked for that is not mapped");
      fail(CUDA_ERROR_NOT_MAPPED);
    }
    *need(pointer) = resource->block->address;
    *need(size) = resource->size;
  });
}

CUresult cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource handle, unsigned flags) {
  return cu("cuGraphicsResourceSetMapFlags", Need::context, [&](Call &) {
    auto resource = resource_at(handle);
    if (flags > CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD) fail(invalid_value);
    if (resource->block) fail(CUDA_ERROR_ALREADY_MAPPED);
    resource->flags = flags;
  });
}

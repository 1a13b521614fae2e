#include "blas.hpp"

#include <cstring>

#include "code.hpp"
#include "machine.hpp"
#include "work.hpp"

namespace gpu {

std::shared_ptr<LibraryHandle> make_handle(Call &c, const char *library) {
  auto made = std::make_shared<LibraryHandle>();
  made->context = c.context;
  made->library = library;
  machine().library_handles.add(made);
  return made;
}

std::shared_ptr<LibraryHandle> handle_at(Call &c, const void *handle, const char *library) {
  auto found = object(machine().library_handles, handle, "the library's handle");
  if (std::strcmp(found->library, library) != 0) {
    machine().violate(std::string("the handle is of ") + found->library + ", not of " + library);
    fail(invalid_handle);
  }
  if (found->context != c.context) {
    machine().violate("the library's handle was made in another context than the one that is current");
    fail(invalid_context);
  }
  return found;
}

void bind(Call &c, LibraryHandle &handle, const void *stream) {
  if (stream_of(stream, c.context, true)->context != handle.context) {
    fail(invalid_value);
  }
  handle.stream = stream;
}

void destroy_handle(Call &c, const void *handle, const char *library) {
  auto gone = handle_at(c, handle, library);
  if (reinterpret_cast<uint64_t>(gone->stream) > 2 && !machine().streams.find(gone->stream)) {
    machine().violate("the stream that the library's handle is bound to went before it");
  }
  machine().library_handles.remove(*gone);
}

void check_matrix(const Operand &m) {
  if (m.rows < 0 || m.cols < 0 || m.ld < (m.rows > 1 ? m.rows : 1)) {
    fail(invalid_value);
  }
}

void enqueue(Call &c, const LibraryHandle &handle, const char *name, const std::vector<Operand> &operands,
             std::function<void()> work) {
  auto function = std::make_shared<Function>();
  function->context = handle.context;
  function->name = name;
  function->run = [work = std::move(work)](void **, const consort_double_launch &) {
    work();
    return 0;
  };
  Kernel kernel;
  kernel.function = function;
  for (const Operand &m : operands) {  // its first and its last byte
    check_matrix(m);
    if (m.rows == 0 || m.cols == 0) {
      continue;
    }
    auto first = reinterpret_cast<uint64_t>(m.at);
    uint64_t last = first + static_cast<uint64_t>((m.cols - 1) * m.ld + m.rows) * m.element - 1;
    for (uint64_t at : {first, last}) {
      size_t offset = kernel.params.size();
      function->params.push_back({8, offset, m.writes ? unsigned{consort_double_writes} : unsigned{consort_double_reads}});
      kernel.params.resize(offset + 8);
      std::memcpy(kernel.params.data() + offset, &at, 8);
    }
  }
  submit(stream_of(handle.stream, c.context, true), std::move(kernel));
}

}  // namespace gpu

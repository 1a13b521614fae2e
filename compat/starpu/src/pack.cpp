// Arguments of codelets, packed into one buffer and taken out of it again.
#include "pack.hpp"

#include <cstdlib>
#include <cstring>

namespace starpu_layer {
namespace {

// Takes values out of a packed buffer, one after the other.
class Unpacker {
 public:
  explicit Unpacker(const void *packed) : begin_(static_cast<const char *>(packed)), at_(begin_ + sizeof(int)) {
    std::memcpy(&left_, begin_, sizeof left_);
  }
  bool more() const { return left_ > 0; }
  void take(void *to) {
    size_t size;
    std::memcpy(&size, at_, sizeof size);
    std::memcpy(to, at_ + sizeof size, size);
    skip(size);
  }
  // Writes what is left as a packed buffer; false: there is not enough room.
  bool leave(void *to, size_t room) const {
    const char *end = at_;
    for (int i = 0; i < left_; ++i) {
      size_t size;
      std::memcpy(&size, end, sizeof size);
      end += sizeof size + size;
    }
    const auto bytes = static_cast<size_t>(end - at_);
    if (sizeof left_ + bytes > room) return false;
    std::memcpy(to, &left_, sizeof left_);
    std::memcpy(static_cast<char *>(to) + sizeof left_, at_, bytes);
    return true;
  }

 private:
  void skip(size_t size) {
    at_ += sizeof size + size;
    --left_;
  }
  const char *begin_, *at_;
  int left_ = 0;
};

}  // namespace

void pack_values(starpu_codelet_pack_arg_data &state, va_list *args) {
  while (const int tag = va_arg(*args, int)) {
    STARPU_ASSERT_MSG(tag == STARPU_VALUE, "only STARPU_VALUE may be packed, not %d", tag);
    const void *ptr = va_arg(*args, void *);
    const size_t size = va_arg(*args, size_t);
    starpu_codelet_pack_arg(&state, ptr, size);
  }
}

}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_codelet_pack_arg_init(struct starpu_codelet_pack_arg_data *state) {
  *state = {nullptr, 0, sizeof(int), 0};
}

void starpu_codelet_pack_arg(struct starpu_codelet_pack_arg_data *state, const void *ptr, size_t ptr_size) {
  const size_t end = state->current_offset + sizeof ptr_size + ptr_size;
  if (end > state->arg_buffer_size) {
    state->arg_buffer_size = end > 128 ? 2 * end : 128;
    state->arg_buffer = static_cast<char *>(std::realloc(state->arg_buffer, state->arg_buffer_size));
    STARPU_ASSERT_MSG(state->arg_buffer, "no memory for packed arguments");
  }
  std::memcpy(state->arg_buffer + state->current_offset, &ptr_size, sizeof ptr_size);
  if (ptr_size) std::memcpy(state->arg_buffer + state->current_offset + sizeof ptr_size, ptr, ptr_size);
  state->current_offset = end;
  ++state->nargs;
}

void starpu_codelet_pack_arg_fini(struct starpu_codelet_pack_arg_data *state, void **cl_arg, size_t *cl_arg_size) {
  if (!state->arg_buffer) {
    state->arg_buffer_size = sizeof state->nargs;
    state->arg_buffer = static_cast<char *>(std::malloc(state->arg_buffer_size));
  }
  std::memcpy(state->arg_buffer, &state->nargs, sizeof state->nargs);
  *cl_arg = state->arg_buffer;
  *cl_arg_size = state->current_offset;
}

void starpu_codelet_pack_args(void **arg_buffer, size_t *arg_buffer_size, ...) {
  starpu_codelet_pack_arg_data state;
  starpu_codelet_pack_arg_init(&state);
  va_list args;
  va_start(args, arg_buffer_size);
  pack_values(state, &args);
  va_end(args);
  starpu_codelet_pack_arg_fini(&state, arg_buffer, arg_buffer_size);
}

void starpu_codelet_unpack_args(void *cl_arg, ...) {
  Unpacker from(cl_arg);
  va_list args;
  va_start(args, cl_arg);
  while (from.more()) {
    void *to = va_arg(args, void *);
    if (!to) break;
    from.take(to);
  }
  va_end(args);
}

void starpu_codelet_unpack_args_and_copyleft(void *cl_arg, void *buffer, size_t buffer_size, ...) {
  Unpacker from(cl_arg);
  va_list args;
  va_start(args, buffer_size);
  while (from.more()) {
    void *to = va_arg(args, void *);
    if (!to) break;
    from.take(to);
  }
  va_end(args);
  if (buffer && !from.leave(buffer, buffer_size)) STARPU_ABORT_MSG("a buffer of %zu bytes is too small", buffer_size);
}

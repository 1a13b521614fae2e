// A call of the application into a double. It takes the lock and checks whether the call is allowed here and now. It
// turns exceptions of the core into the number that the vendor's function returns.
#pragma once
#include <new>
#include <utility>

#include "code.hpp"
#include "machine.hpp"

namespace gpu {

enum class Need {
  nothing,  // may be called before all
  init,     // the library's beginning
  context,  // a current context that is well
  cleanup   // a current context; it is done also where that is not well, and answers so
};

struct Call {
  Lock lock;
  std::shared_ptr<Context> context;
  int after = 0;
};

Call enter(const char *name, Need need);  // throws Failure

// This thread's contexts, the current one last.
std::vector<std::shared_ptr<Context>> &stack();
std::shared_ptr<Context> current();
const char *this_call();
int this_fault();
bool &in_callback();

inline void healthy(const Context &context) {
  if (context.error) {
    fail(context.error);
  }
}

template <class F>
int call(const char *name, Need need, F &&body) noexcept {
  try {
    Call entered = enter(name, need);
    body(entered);
    return entered.after;
  } catch (Failure failure) {
    return failure.code;
  } catch (const std::bad_alloc &) {
    return out_of_memory;
  }
}

// The object behind a handle; violations name the actual kind of the handle.
template <class T>
std::shared_ptr<T> object(const Table<T> &table, const void *handle, const char *what, int code = invalid_handle) {
  auto found = table.find(handle);
  if (!found) {
    machine().violate(std::string(what) +
                      (table.was(handle) ? " was destroyed before: use after free" : " is no handle of one"));
    fail(code);
  }
  return found;
}

template <class T>
T *need(T *pointer) {
  if (!pointer) {
    fail(invalid_value);
  }
  return pointer;
}

}  // namespace gpu

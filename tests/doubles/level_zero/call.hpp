// call.hpp — a call of an application into the double. It takes the lock, checks whether the call is allowed, and turns
// exceptions into the results of Level Zero.
#pragma once
#include <cstring>
#include <new>

#include "list.hpp"

namespace ze_double {

template <class F>
ze_result_t call(const char *function, F body) noexcept {
  Machine &m = Machine::get();
  Lock lock(m.mutex);
  try {
    if (!m.initialised && std::strcmp(function, "zeInit") != 0) {
      m.violate(std::string(function) + "() before zeInit() has succeeded");
      return ZE_RESULT_ERROR_UNINITIALIZED;
    }
    if (const ze_result_t e = m.injected(function); e != ZE_RESULT_SUCCESS) return e;
    return body(m, lock);
  } catch (const Refused &r) {
    return r.code;
  } catch (const std::bad_alloc &) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  } catch (...) {
    return ZE_RESULT_ERROR_UNKNOWN;
  }
}

template <class T>
T *need(T *p) {
  if (!p) refuse(ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  return p;
}
// A struct of the application states its type.
template <class T>
T *typed(Machine &m, T *p, ze_structure_type_t what, const char *function, ze_structure_type_t or_this) {
  need(p);
  if (p->stype != what && p->stype != or_this) {
    m.violate(std::string(function) + ": a struct whose stype is " + std::to_string(p->stype) + ", not " + std::to_string(what));
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT);
  }
  return p;
}
template <class T>
T *typed(Machine &m, T *p, ze_structure_type_t what, const char *function) {
  return typed(m, p, what, function, what);
}
// The answer of a list to a query with a count.
template <class T, class F>
ze_result_t list(uint32_t *count, T *out, size_t have, F one) {
  need(count);
  if (*count == 0 || !out) {
    *count = static_cast<uint32_t>(have);
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, static_cast<uint32_t>(have));
  for (uint32_t i = 0; i < *count; ++i) one(i, out[i]);
  return ZE_RESULT_SUCCESS;
}

}  // namespace ze_double

// The room base: tools that are independent of tasks. Clock, locks and fences, arenas, sleep and wake-up, error texts,
// cache files, and the list of live runtimes of the process. Every room may use it. Start with result.hpp and
// process.hpp.
//
// result.hpp — a value or an error: a status and a sentence.
//
// For cold paths. On the hot path functions return consort_status alone, and the sentence is composed where the failure
// is recorded. A Result is a value and holds no pointers into other objects.
#pragma once
#include <consort/plugin.h>

#include <optional>
#include <string>
#include <utility>

namespace consort {

struct Error {
  consort_status status = CONSORT_E_INTERNAL;
  std::string text;
};

inline Error error(consort_status status, std::string text) { return {status, std::move(text)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error e) : error_(std::move(e)) {}
  explicit operator bool() const { return value_.has_value(); }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const Error &error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_{CONSORT_OK, {}};
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error e) : error_(std::move(e)), failed_(true) {}
  explicit operator bool() const { return !failed_; }
  const Error &error() const { return error_; }

 private:
  Error error_{CONSORT_OK, {}};
  bool failed_ = false;
};

}  // namespace consort

// frame.hpp — the arguments of a body, apart from the task. One for each nesting of pumps, on the stack.
#pragma once
#include <consort/consort.h>

#include <cstdint>

namespace consort {

struct Worker;

struct Frame {
  explicit Frame(const Worker &);
  ~Frame();
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  static constexpr uint32_t kInline = 16;
  consort_call call;
  consort_call_fn *fn = nullptr;
  const void **views;
  consort_arg *args;
  uint32_t view_room = kInline, arg_room = kInline;
  bool picked = false;                           // the policy chose the implementation
  const void *inline_views[kInline];
  uint32_t blank_args = 0;                       // number of args with address and extent 0
  consort_arg inline_args[kInline];
  bool make_room(uint32_t nviews, uint32_t nargs) noexcept;  // false: out of memory
  // Returns the first `n` args with address and extent 0. Precondition: there is room for `n`.
  consort_arg *blank(uint32_t n) noexcept {
    if (blank_args < n) [[unlikely]] blank_more(n);
    return args;
  }

 private:
  void blank_more(uint32_t n) noexcept;
};

}  // namespace consort

// frame.hpp — what a body is called with, apart from the task. One per nesting of pumps, on the stack.
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
  bool picked = false;                           // the implementation is the policy's choice
  const void *inline_views[kInline];
  uint32_t blank_args = 0;                       // so many of args have address and extent 0
  consort_arg inline_args[kInline];
  bool make_room(uint32_t nviews, uint32_t nargs) noexcept;  // false: no memory
  // The first `n` of args, of which there is room for as many, with address and extent 0.
  consort_arg *blank(uint32_t n) noexcept {
    for (; blank_args < n; ++blank_args) args[blank_args] = {};
    return args;
  }
};

}  // namespace consort

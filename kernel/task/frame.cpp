#include "task/frame.hpp"

#include <cstdlib>

#include "task/core.hpp"
#include "task/worker.hpp"

namespace consort {

// All fields one by one: zeroing the call first is a string instruction, at each wait that runs a task.
Frame::Frame(const Worker &w)
    : call{.size = sizeof call,
           .flags = 0,
           .unit = w.unit.desc.id,
           .worker = w.id,
           .native_queue = nullptr,
           .native_context = nullptr,
           .views = inline_views,
           .args = inline_args,
           .nviews = 0,
           .nargs = 0,
           .rank = 0,
           .team = 1,
           .cpuset = w.unit.cpuset.empty() ? nullptr : w.unit.cpuset.data(),
           .cpuset_words = static_cast<uint32_t>(w.unit.cpuset.size()),
           .impl = 0,
           .barrier = [](const consort_call *) -> consort_status { return CONSORT_OK; },  // a team of one
           .user = nullptr,
           .host = w.core.codelet_host->table(),
           .team_id = CONSORT_NONE,
           .reserved = 0},
      views(inline_views),
      args(inline_args) {}

Frame::~Frame() {
  if (views != inline_views) std::free(views);
  if (args != inline_args) std::free(args);
}

void Frame::blank_more(uint32_t n) noexcept {
  for (; blank_args < n; ++blank_args) {  // the rest is stored for each task
    args[blank_args].addr = {};
    args[blank_args].extent = 0;
  }
}

bool Frame::make_room(uint32_t nviews, uint32_t nargs) noexcept {
  if (nviews > view_room) {
    auto *more = static_cast<const void **>(std::malloc(nviews * sizeof(void *)));
    if (!more) return false;
    if (views != inline_views) std::free(views);
    call.views = views = more;
    view_room = nviews;
  }
  if (nargs > arg_room) {
    auto *more = static_cast<consort_arg *>(std::malloc(nargs * sizeof(consort_arg)));
    if (!more) return false;
    if (args != inline_args) std::free(args);
    call.args = args = more;
    arg_room = nargs;
    blank_args = 0;
  }
  return true;
}

}  // namespace consort

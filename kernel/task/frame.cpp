#include "task/frame.hpp"

#include <cstdlib>

#include "task/core.hpp"
#include "task/worker.hpp"

namespace consort {

Frame::Frame(const Worker &w) : call{}, views(inline_views), args(inline_args) {
  call.size = sizeof call;
  call.unit = w.unit.desc.id;
  call.worker = w.id;
  call.rank = 0;
  call.team = 1;
  call.cpuset = w.unit.cpuset.empty() ? nullptr : w.unit.cpuset.data();
  call.cpuset_words = static_cast<uint32_t>(w.unit.cpuset.size());
  call.views = views;
  call.args = args;
  call.host = w.core.codelet_host->table();
  call.barrier = [](const consort_call *) -> consort_status { return CONSORT_OK; };  // a team of one
  call.team_id = CONSORT_NONE;
}

Frame::~Frame() {
  if (views != inline_views) std::free(views);
  if (args != inline_args) std::free(args);
}

void Frame::blank_more(uint32_t n) noexcept {
  for (; blank_args < n; ++blank_args) args[blank_args] = {};
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

#include "graph/watched_data.hpp"

#include <string>

namespace consort {
namespace {

consort_body_datum told(const Datum &d, const std::string &name, const void *view, uint32_t mode) noexcept {
  return {d.pub.id, name.c_str(), d.layout->name.c_str(), d.layout->ops, d.shape(), view, mode, 0};
}

}  // namespace

void tell_watch_added(const Core &rt, const consort_body_watch &watch, const Datum &d) noexcept {
  const bool at_home = data_state::space(d.state.load(std::memory_order_relaxed)) == rt.topology->home();
  if (!watch.added || !d.pub.bytes || !at_home) return;
  const std::string name = rt.data.name(d);
  const consort_body_datum what = told(d, name, d.view, 0);
  watch.added(watch.user, &what);
}

void tell_watch_acquired(const Core &rt, const consort_body_watch &watch, const Datum &d, const void *view, uint32_t mode,
                         bool on) noexcept {
  if (!watch.acquired || !d.pub.bytes) return;
  const std::string name = rt.data.name(d);
  const consort_body_datum what = told(d, name, view, mode);
  watch.acquired(watch.user, &what, on);
}

}  // namespace consort

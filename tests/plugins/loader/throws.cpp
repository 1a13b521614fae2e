// A driver in C++ that breaks the rule that no exception crosses the boundary.
#include <consort/driver.h>

#include <stdexcept>

namespace {
consort_driver_ops make_ops() {
  consort_driver_ops o{};
  o.size = sizeof o;
  return o;
}
const consort_driver_ops ops = make_ops();
consort_plugin make_plugin() {
  consort_plugin p{};
  p.size = sizeof p;
  p.kind = CONSORT_KIND_DRIVER;
  p.abi_major = CONSORT_DRIVER_MAJOR;
  p.abi_minor = CONSORT_DRIVER_MINOR;
  p.name = "throws";
  p.version = "0.1.0";
  p.ops = &ops;
  p.init = [](const consort_host *, void **) -> consort_status { throw std::runtime_error("out it goes"); };
  return p;
}
const consort_plugin plugin = make_plugin();
}  // namespace
CONSORT_MODULE(throws, DRIVER, 0, "throws", "0.1.0", plugin);

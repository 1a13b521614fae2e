// Hosts that are older, newer, shorter and longer than the one for which the plugin was built.
#include "conform/case.hpp"
#include "conform/plugin.hpp"

namespace conform {
namespace {

constexpr uint32_t kFrozen = CONSORT_END(consort_host, fail);

void must_refuse(Trial &t, const Library &library, Host &host, uint16_t major, uint16_t minor, uint32_t bytes) {
  host.set_size(bytes);
  host.set_version(major, minor);
  host.forget_failure();
  t.doing("the entry, for host ABI %u.%u with a table of %u bytes", major, minor, bytes);
  const consort_module *module = library.entry()(host.table());
  t.check(!module, "the entry takes a host of ABI %u.%u", major, minor);
  if (!module) {
    t.check(!host.failure().empty(), "the entry refuses a host of ABI %u.%u without a word", major, minor);
    t.check(host.failure_code() == CONSORT_E_ABI, "the entry refuses a host of ABI %u.%u with status %d, not E_ABI", major, minor,
            host.failure_code());
  }
}

}  // namespace

CONFORM_CASE(P, 30, skew, refuses_another_major) {
  const Library library(t.subject().path);
  t.need(library.error().empty(), "%s", library.error().c_str());
  Host host;
  must_refuse(t, library, host, CONSORT_HOST_MAJOR + 1, CONSORT_HOST_MINOR, sizeof(consort_host));
  must_refuse(t, library, host, UINT16_MAX, 0, sizeof(consort_host));
  if (CONSORT_HOST_MAJOR == 0) must_refuse(t, library, host, 0, CONSORT_HOST_MINOR + 1, sizeof(consort_host));
}

CONFORM_CASE(P, 31, skew, reads_no_further_than_is_frozen) {
  const Library library(t.subject().path);
  t.need(library.error().empty(), "%s", library.error().c_str());
  Host host;
  // the memory behind it cannot be read: an access crashes
  must_refuse(t, library, host, CONSORT_HOST_MAJOR + 1, 0, kFrozen);
  host.set_size(kFrozen);
  t.doing("the entry, for a host of its version with a table of %u bytes", kFrozen);
  library.entry()(host.table());
}

CONFORM_CASE(P, 32, skew, takes_a_longer_host) {
  Host host;
  host.set_size(sizeof(consort_host) + 128);
  Plugin p(t, host, false);
  p.must_start();
}

CONFORM_CASE(P, 33, skew, knows_no_unknown_id) {
  const Plugin p(t);
  for (const char *id : {"", "x", "consort.sched/999", "com.example.nothing/1", "consort.", "CONSORT.SCHED/1",
                         "an id that is longer than any that was ever given to an ability of a plugin, to see that its length is looked at"}) {
    t.doing("get(\"%s\")", id);
    t.check(!p.manifest().get(p.self(), id), "get(\"%s\") answers something", id);
  }
}

}  // namespace conform

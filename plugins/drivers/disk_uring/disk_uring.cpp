// disk_uring.cpp — the file driver on io_uring: settings and table.
//
// Everything but the queue is shared with disk_posix (../disk). No state except Driver, which the kernel holds.
#include "../disk/table.hpp"
#include "ring.hpp"

namespace disk_uring {

consort_status Driver::start() {
  const auto number = [&](const char *key, uint32_t least) {
    const auto n = static_cast<uint32_t>(std::strtoul(param(key).c_str(), nullptr, 10));
    return n < least ? least : n;
  };
  entries = number("entries", 2);
  buffers = number("buffers", 1);
  sqpoll = param("sqpoll") == "true";
  const int e = Queue::probe(sqpoll);
  if (e == 0) return CONSORT_OK;
  const char *what = e == EPERM || e == EACCES ? "; a container's seccomp profile or kernel.io_uring_disabled forbids it"
                     : e == ENOSYS             ? "; this kernel does not have it"
                     : e == ENOMEM             ? "; raise the limit of locked memory (ulimit -l)"
                                               : "";
  return fail(e == EPERM || e == EACCES || e == ENOSYS ? CONSORT_E_UNSUPPORTED : CONSORT_E_IO,
              "the system refuses io_uring: " + disk::text_of(e) + what + "; use the driver disk_posix");
}

namespace {

using Table = disk::Table<Driver, Queue>;

constexpr auto params = disk::with_own(std::array<consort_param, 4>{{
    {"direct", "string", "auto", "off|auto|on",
     "bypass the page cache: never, if the file system can, or refuse to start if it cannot"},
    {"entries", "u32", "64", "2..4096", "transfers in flight in the system, per queue"},
    {"buffers", "u32", "6", "1..1024", "registered buffers of `chunk` bytes per queue, for short rows and unaligned transfers"},
    {"sqpoll", "bool", "false", nullptr, "a thread of the system polls for work: no call per batch, but a spinning core"},
}});

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME, .name = "disk_uring", .version = "0.1.0",
    .summary = "a space in a file: io_uring with registered buffers, around the page cache", .license = "Apache-2.0",
    .params = params.data(), .nparams = params.size(), .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace disk_uring

CONSORT_MODULE(disk_uring, DRIVER, CONSORT_PF_BY_NAME, "disk_uring", "0.1.0", disk_uring::plugin);

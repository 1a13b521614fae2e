// disk_posix.cpp — the file driver with I/O threads: settings and table.
//
// Everything but the queue is shared with disk_uring (../disk). No state except Driver, which the kernel holds.
#include "../disk/table.hpp"
#include "pool.hpp"

namespace disk_posix {

consort_status Driver::start() {
  threads = static_cast<uint32_t>(std::strtoul(param("threads").c_str(), nullptr, 10));
  if (threads == 0) threads = 1;
  return CONSORT_OK;
}

namespace {

using Table = disk::Table<Driver, Queue>;

constexpr auto params = disk::with_own(std::array<consort_param, 2>{{
    {"direct", "string", "off", "off|auto|on",
     "bypass the page cache: never, if the file system can, or refuse to start if it cannot"},
    {"threads", "u32", "4", "1..256", "I/O threads per queue"},
}});

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME, .name = "disk_posix", .version = "0.1.0",
    .summary = "a space in a file: pread and pwrite on threads, through the page cache or around it", .license = "Apache-2.0",
    .params = params.data(), .nparams = params.size(), .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace disk_posix

CONSORT_MODULE(disk_posix, DRIVER, CONSORT_PF_BY_NAME, "disk_posix", "0.1.0", disk_posix::plugin);

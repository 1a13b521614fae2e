#include "storm/disk.hpp"

#include <memory>

#include "../../plugins/drivers/disk/ops.hpp"
#include "../../plugins/drivers/disk/table.hpp"

namespace storm {
namespace {

struct Driver : disk::Driver {
  static constexpr const char *kName = "storm_disk";
  std::string kind;
  uint64_t nth = 0, reads = 0, writes = 0;

  consort_status start() {
    const std::string fault = param("fault");
    const size_t at = fault.find('@');
    kind = fault.substr(0, at);
    if (at != fault.npos) nth = std::strtoull(fault.c_str() + at + 1, nullptr, 10);
    return CONSORT_OK;
  }
  // Counts a transfer. Which fault strikes it: "" none.
  std::string strikes(bool to_file) {
    const uint64_t n = to_file ? ++writes : ++reads;
    const bool mine = to_file ? kind == "write" || kind == "full" : kind == "read" || kind == "ends" || kind == "spoilt";
    if (kind == "short" ? reads + writes != nth : !mine || n != nth) return "";
    log(3, "disk fault strikes: " + kind);
    return kind;
  }
};

class Queue {
 public:
  static consort_status open(disk::Device &d, Queue **out) { return *out = new Queue(d), CONSORT_OK; }

  uint32_t submit(const consort_op *ops, uint32_t n) noexcept {
    uint32_t i = 0;
    for (; i < n && ops_.has_room(); ++i) ops_.accept(ops[i]);
    return i;
  }
  uint32_t poll(consort_done *out, uint32_t max) noexcept {
    if (disk::Op *op = ops_.front()) serve(*op);
    return ops_.report(out, max);
  }
  consort_status arm() noexcept { return ops_.has_over() || ops_.has_waiting() ? CONSORT_E_BUSY : CONSORT_OK; }
  int fd() const noexcept { return -1; }
  bool has_work() const noexcept { return ops_.has_over() || ops_.has_waiting(); }
  uint64_t now() const noexcept { return dev_.driver.host->now(dev_.driver.host); }

 private:
  explicit Queue(disk::Device &d) : dev_(d), ops_(d, d.driver.settings.depth) {}

  void serve(disk::Op &op) noexcept {
    const disk::Piece p = ops_.due(op);
    ops_.take(op, p);
    const bool to_file = op.pieces.to_file();
    const disk::Outcome o =
        disk::through_memory(op, p, buffer_, dev_.rules.chunk, [&](char *data) { return carry(p, to_file, data); });
    (void)ops_.piece_over(op, p, o);
  }
  disk::Outcome carry(const disk::Piece &p, bool to_file, char *data) noexcept {
    const std::string fault = static_cast<Driver &>(dev_.driver).strikes(to_file);
    disk::Outcome o;
    if (to_file && (o.error = dev_.sums.record(dev_.file, p.at, data, p.bytes))) return o;
    if (fault == "read" || fault == "write") return o.error = EIO, o;
    if (fault == "full") return o.error = ENOSPC, o;
    if (fault == "spoilt") spoil(p.at);
    uint64_t most = fault == "short" || fault == "ends" ? p.bytes / 2 : p.bytes;
    while (o.done < p.bytes && most) {
      const auto at = static_cast<off_t>(p.at + o.done);
      const ssize_t n = to_file ? pwrite(dev_.file.fd(), data + o.done, most, at) : pread(dev_.file.fd(), data + o.done, most, at);
      if (n < 0) o.error = errno;
      if (n <= 0) break;
      o.done += static_cast<uint64_t>(n);
      most = fault == "ends" ? 0 : p.bytes - o.done;
    }
    if (!to_file && o.done == p.bytes) {
      const disk::Checked c = dev_.sums.check(dev_.file, p.at, data, p.bytes);
      o.bad = c.bad;
      if ((o.error = c.error)) o.done = 0;
    }
    return o;
  }
  void spoil(uint64_t at) noexcept {
    char byte = 0;
    if (pread(dev_.file.fd(), &byte, 1, static_cast<off_t>(at)) != 1) return;
    byte = static_cast<char>(byte ^ 0x20);
    (void)!pwrite(dev_.file.fd(), &byte, 1, static_cast<off_t>(at));
  }

  disk::Device &dev_;
  disk::Ops ops_;
  disk::Buffer buffer_;
};

using Table = disk::Table<Driver, Queue>;

uint64_t next_event(void *q) noexcept {
  const Queue &queue = *static_cast<Queue *>(q);
  return queue.has_work() ? queue.now() : CONSORT_NEVER;
}
constexpr consort_driver_ops table() {
  consort_driver_ops t = Table::ops;
  t.flags = 0;
  t.event_fd = nullptr;
  t.next_event = next_event;
  return t;
}
constexpr consort_driver_ops ops = table();

constexpr auto params = disk::with_own(std::array<consort_param, 2>{{
    {"direct", "string", "off", "off", "always through the page cache"},
    {"fault", "string", "", nullptr, "KIND@N: the Nth transfer of that kind goes wrong"},
}});

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME | CONSORT_PF_VIRTUAL, .name = "storm_disk", .version = "0.1.0",
    .summary = "a disk whose transfers go wrong as they are told to", .license = "Apache-2.0",
    .params = params.data(), .nparams = params.size(), .reserved = 0,
    .ops = &ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = nullptr,
};

const consort_module *entry(const consort_host *) {
  static const consort_plugin *const list[] = {&plugin};
  static const consort_module module = {sizeof(consort_module), 1, list};
  return &module;
}

}  // namespace

consort_entry_fn *disk_entry() { return entry; }

}  // namespace storm

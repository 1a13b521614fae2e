#include "memory/device_home.hpp"

#include <algorithm>
#include <cstring>

#include "base/last_error.hpp"
#include "machine/topology.hpp"

namespace consort {

consort_status DeviceHome::refuse(const Datum &d, uint32_t space, consort_status status, const std::string &why) const {
  return set_errorf(status, "datum '%s' cannot have its home in space '%s': %s", data_.name(d).c_str(),
                    topology_.space_name(space), why.c_str());
}

// Attaches one piece of memory.
consort_status DeviceHome::attach(const Datum &d, uint32_t space, const consort_extent &e,
                                  std::vector<DatumExtra::Block> &lent) {
  const Space &s = topology_.spaces()[space];
  if (e.addr.base + e.addr.off == 0)
    return refuse(d, space, CONSORT_E_INVAL, "a part of it has no address: give each, as the space's driver knows it");
  clear_error();
  consort_addr local{};
  consort_status status;
  {
    std::lock_guard one_at_a_time(topology_.control());
    status = s.device->ops->attach(s.device->dev, space, e.addr, e.bytes, &local);
  }
  if (status < 0) {
    const std::string why = error_text();
    return refuse(d, space, status, why.empty() ? "its driver does not take memory of the application's" : why);
  }
  lent.push_back({space, local, e.bytes});
  if (local.base == e.addr.base && local.off == e.addr.off) return CONSORT_OK;
  return refuse(d, space, CONSORT_E_UNSUPPORTED, "its driver knows it by another address");
}

consort_status DeviceHome::attach_all(const Datum &d, uint32_t space, std::vector<DatumExtra::Block> &lent) {
  const consort_interface_ops &ops = *d.layout->ops;
  if (!ops.runs || (ops.flags & CONSORT_IF_PACK_ONLY))
    return refuse(d, space, CONSORT_E_UNSUPPORTED, "interface '" + d.layout->name + "' has no flat layout to copy");
  consort_extent extents[DataTable::kMostBlocks];
  const uint32_t n = ops.extents(d.shape(), d.view, extents, DataTable::kMostBlocks);
  if (n == 0 || n > DataTable::kMostBlocks)
    return refuse(d, space, CONSORT_E_UNSUPPORTED, "it lies in " + std::to_string(n) + " pieces, " +
                                                       std::to_string(DataTable::kMostBlocks) + " are the most");
  lent.reserve(n);
  for (uint32_t i = 0; i < n; ++i)
    if (const consort_status s = attach(d, space, extents[i], lent); s < 0) return s;
  return CONSORT_OK;
}

consort_status DeviceHome::settle(Datum &d, uint32_t space, std::mutex &mutex) noexcept try {
  struct Taken {  // detaches on failure
    DeviceHome &home;
    std::vector<DatumExtra::Block> lent;
    ~Taken() { home.release(lent); }
  } taken{*this, {}};
  if (const consort_status s = attach_all(d, space, taken.lent); s < 0) return s;
  // The view there belongs to the replica. The datum's own view is the one at home, from which its parts are computed.
  const uint32_t bytes = d.layout->ops->view_size;
  std::unique_ptr<std::byte[]> view(new std::byte[std::max(1u, bytes)]());
  std::memcpy(view.get(), d.view, bytes);
  MemoryLock lock(mutex);
  Replicas &all = records_.of(d);  // in the space that its state names
  Replica &own = *all.lasting();
  own.unsure = false;
  own.own_view = std::move(view);
  own.view = own.own_view.get();
  all.lent.swap(taken.lent);
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a datum's home");
}

void DeviceHome::release(std::vector<DatumExtra::Block> &lent) noexcept {
  if (lent.empty()) return;
  std::lock_guard one_at_a_time(topology_.control());
  for (const auto &b : lent) {
    const Space &s = topology_.spaces()[b.space];
    s.device->ops->detach(s.device->dev, b.space, b.addr);
  }
  lent.clear();
}

uint32_t DeviceHome::of(const Datum &d) noexcept {
  const uint32_t space = data_state::space(d.state.load(std::memory_order_relaxed));
  if (space != data_state::kMany) return d.home.load(std::memory_order_relaxed) ? space : CONSORT_NONE;
  const Replica *own = d.extra()->replicas->lasting();
  return own ? own->space : CONSORT_NONE;
}

}  // namespace consort

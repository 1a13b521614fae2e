// device_home.cpp — Memory, the part for data whose home is not the host's: the application's memory on a device.
//
// Such a datum has its record from the beginning, with one replica that lasts. Its driver is told what memory that is,
// and is told again when the datum ends; nothing here takes it, counts it or gives it to others.
#include <algorithm>
#include <cstring>

#include "base/last_error.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

consort_status MemoryState::settle(Datum &d, uint32_t space) noexcept try {
  const Space &s = rt_.topology->spaces()[space];
  const consort_driver_ops &driver = *s.device->ops;
  const consort_interface_ops &ops = *d.layout->ops;
  struct Taken {  // what is not handed on goes back
    MemoryState &memory;
    std::vector<DatumExtra::Block> lent;
    ~Taken() { memory.give_back_lent(lent); }
  } taken{*this, {}};
  const auto refuse = [&](consort_status status, const std::string &why) {
    return set_errorf(status, "datum '%s' cannot have its home in space '%s': %s", rt_.data.name(d).c_str(),
                      s.desc.name, why.c_str());
  };
  if (!ops.runs || (ops.flags & CONSORT_IF_PACK_ONLY))
    return refuse(CONSORT_E_UNSUPPORTED, "interface '" + d.layout->name + "' has no flat layout to copy");
  consort_extent extents[DataTable::kMostBlocks];
  const uint32_t n = ops.extents(d.shape(), d.view, extents, DataTable::kMostBlocks);
  if (n == 0 || n > DataTable::kMostBlocks)
    return refuse(CONSORT_E_UNSUPPORTED, "it lies in " + std::to_string(n) + " pieces, " +
                                             std::to_string(DataTable::kMostBlocks) + " are the most");
  // Its view goes with the replica there: the datum's own is what it has at home, where its parts have their place.
  std::unique_ptr<std::byte[]> view(new std::byte[std::max(1u, ops.view_size)]());
  std::memcpy(view.get(), d.view, ops.view_size);
  taken.lent.reserve(n);
  for (uint32_t i = 0; i < n; ++i) {
    const consort_extent &e = extents[i];
    if (e.addr.base + e.addr.off == 0)
      return refuse(CONSORT_E_INVAL, "a part of it has no address: give each, as the space's driver knows it");
    clear_error();
    consort_addr local{};
    consort_status status;
    {
      std::lock_guard one_at_a_time(rt_.topology->control());
      status = driver.attach(s.device->dev, space, e.addr, e.bytes, &local);
    }
    if (status >= 0) {
      taken.lent.push_back({space, local, e.bytes});
      if (local.base == e.addr.base && local.off == e.addr.off) continue;
      return refuse(CONSORT_E_UNSUPPORTED, "its driver knows it by another address");
    }
    const std::string why = error_text();
    return refuse(status, why.empty() ? "its driver does not take memory of the application's" : why);
  }
  Lock lock(mutex_);
  Replicas &all = *replicas_of(d);  // where its state says
  Replica &own = *all.lasting();
  own.unsure = false;
  own.own_view = std::move(view);
  own.view = own.own_view.get();
  all.lent.swap(taken.lent);
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a datum's home");
}

void MemoryState::give_back_lent(std::vector<DatumExtra::Block> &lent) noexcept {
  if (lent.empty()) return;
  std::lock_guard one_at_a_time(rt_.topology->control());
  for (const auto &b : lent) {
    const Space &s = rt_.topology->spaces()[b.space];
    s.device->ops->detach(s.device->dev, b.space, b.addr);
  }
  lent.clear();
}

uint32_t MemoryState::home_of(const Datum &d) noexcept {
  Lock lock(mutex_);
  const uint32_t space = data_state::space(d.state.load(std::memory_order_relaxed));
  if (space != data_state::kMany) return d.home.load(std::memory_order_relaxed) ? space : CONSORT_NONE;
  const Replica *own = d.extra()->replicas->lasting();
  return own ? own->space : CONSORT_NONE;
}

}  // namespace consort

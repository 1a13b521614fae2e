#include "graph/access_order.hpp"

#include "graph/partition_plan.hpp"
#include "graph/task_graph.hpp"

namespace consort {

AccessOrder *discipline_of(Datum &d) noexcept {
  AccessOrder *discipline = discipline_if_any(d);
  if (discipline) return discipline;
  discipline = new (std::nothrow) AccessOrder;
  // release: another thread that finds it sees its contents. Only the holder of the right makes one.
  if (discipline) d.discipline.store(discipline, std::memory_order_release);
  return discipline;
}

void mark_odd(Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  const bool odd =
      d.keeper || (discipline && (!discipline->ordered || discipline->formats ||
                                  discipline->phase != AccessOrder::Phase::kTogether || !is_open(*discipline)));
  const uint32_t name = d.generation.load(std::memory_order_relaxed) & ~Datum::kOdd;
  d.generation.store(odd ? name | Datum::kOdd : name, std::memory_order_relaxed);  // read under the same right
}

bool note_loose(const TaskGraph &rt, AccessOrder &discipline) noexcept try {
  auto &loose = discipline.loose;
  if (loose.size() == loose.capacity()) {
    std::erase_if(loose, [&](TaskName name) { return !rt.is_live(name); });
    loose.reserve(loose.size() * 2 + 8);
  }
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

}  // namespace consort

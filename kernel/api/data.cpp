// data.cpp — consort.h: order of accesses and reductions of a datum.
#include "api/datum_entry.hpp"
#include "graph/access_order.hpp"
#include "graph/formats.hpp"
#include "graph/reduction.hpp"

using namespace consort;

namespace {

// with_datum() for the datum's access order.
template <class A, class F>
consort_status with_discipline(consort_runtime *shell, consort_data_id data, A ask, F f) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  return with_datum(*rt, data, [&] { return ask(*rt); }, [&](Datum &d) -> consort_status {
    if ((d.keeper && !rt->recordings.let_go(d)) || !discipline_of(d))
      return set_error(CONSORT_E_NOMEM, "no memory for a datum's discipline");
    return f(*rt, d, *discipline_if_any(d));
  });
}

}  // namespace

extern "C" {

consort_status consort_data_set_reduction(consort_runtime *shell, consort_data_id data, consort_codelet_id init,
                                          consort_codelet_id combine) {
  Reduction::Able able;
  const auto ask = [&](Runtime &rt) -> consort_status {
    const struct {
      const char *what;
      consort_codelet_id id;
      uint32_t n;
    } methods[] = {{"init", init, 1}, {"combine", combine, 2}};
    const Codelet *found[2];
    for (const auto &m : methods) {
      const Codelet *c = found[&m - methods] = rt.codelets.find(m.id);
      if (!c || !c->live.load(std::memory_order_relaxed))
        return set_errorf(m.id.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                          "%s is no codelet of this runtime: consort_codelet_add() gives one", m.what);
      if (c->nmodes != CONSORT_NONE && c->nmodes != m.n)
        return set_errorf(CONSORT_E_INVAL, "codelet '%s' takes %u data, %s of a reduction is given %u", c->name.c_str(),
                          c->nmodes, m.what, m.n);
    }
    auto workers = Reduction::eligible_workers(rt, *found[0], *found[1]);
    if (!workers) return set_error(workers.error());
    able = std::move(*workers);
    return CONSORT_OK;
  };
  return with_discipline(shell, data, ask, [&](Runtime &rt, Datum &d, AccessOrder &discipline) -> consort_status {
    if (discipline.formats)
      return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' has several formats: it cannot be reduced",
                        rt.data.name(d).c_str());
    bool in_use = discipline.phase == AccessOrder::Phase::kOnCopies || (d.writer && rt.is_live(d.writer));
    for (uint32_t i = 0; i < d.nreaders; ++i) in_use |= rt.is_live(d.reader_at(i));
    if (discipline.reduction && in_use)
      return set_errorf(CONSORT_E_BUSY,
                        "datum '%s' has unfinished tasks, or contributions that were not read: acquire and release "
                        "it before its reduction changes",
                        rt.data.name(d).c_str());
    if (discipline.reduction)  // some of its reduction copies may still be in flight
      discipline.reduction->set(init, combine, std::move(able));
    else
      discipline.reduction = std::make_unique<Reduction>(rt, d, init, combine, std::move(able));
    return CONSORT_OK;
  });
}

consort_status consort_data_set_ordered(consort_runtime *shell, consort_data_id data, int32_t ordered) {
  const auto nothing = [](Runtime &) { return CONSORT_OK; };
  return with_discipline(shell, data, nothing, [&](Runtime &rt, Datum &d, AccessOrder &discipline) -> consort_status {
    if (!ordered && discipline.in_tree())
      return set_errorf(CONSORT_E_INVAL, "'%s' %s: their order is what keeps them apart, so it stays",
                        rt.data.name(d).c_str(), discipline.part_of ? "is a part of a datum" : "has plans");
    if (!ordered && discipline.formats)
      return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' has several formats, and order is what keeps them in step",
                        rt.data.name(d).c_str());
    discipline.ordered = ordered != 0;
    mark_odd(d);
    return CONSORT_OK;
  });
}

consort_status consort_data_add_format(consort_runtime *shell, consort_data_id data, const consort_format_desc *desc) {
  if (!desc || desc->size < sizeof *desc || !desc->klass || !desc->interface)
    return set_error(
        CONSORT_E_INVAL,
        "the format's description is NULL, or names no class or no interface: begin with CONSORT_FORMAT_INIT");
  if (desc->flags) return refuse_bits("desc->flags", desc->flags, "there are none yet");
  const auto load = [&](Runtime &rt) -> consort_status {  // not under the right
    auto layout = rt.data.layout(desc->interface);
    return layout ? CONSORT_OK : set_error(layout.error());
  };
  return with_discipline(shell, data, load, [&](Runtime &rt, Datum &d, AccessOrder &discipline) {
    return add_format(rt, d, discipline, *desc);
  });
}

}  // extern "C"

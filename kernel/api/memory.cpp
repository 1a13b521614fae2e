// memory.cpp — memory.h: locations of data, and requests about them.
#include <consort/memory.h>

#include "api/datum_entry.hpp"

using namespace consort;

namespace {

void turn(void *arg, const consort_outcome *) {
  auto *w = static_cast<MemoryRequest *>(arg);
  w->memory->requests.turn(w);
}

// Submits an internal task that uses the datum; its end is the request's turn. It is not recorded.
consort_status ask(Runtime &rt, consort_data_id data, uint32_t mode, const char *name, const MemoryRequest &wanted,
                   consort_prefetch_id *out) noexcept {
  ThreadState *thread = rt.this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    Datum *d = rt.data.find(data);  // checked again by the submission
    if (!d)
      return set_error(CONSORT_E_INVAL, "the handle names no datum of this runtime: consort_register() gives one");
    MemoryRequest *w = rt.memory.requests.wish(wanted, *d);
    const consort_prefetch_id id{w->id};
    const Turn when{turn, w, name};
    if (const consort_status s = submit_special(rt, *thread, data, mode, TaskKind::kEmpty, nullptr, nullptr, nullptr, &when);
        s < 0) {
      rt.memory.requests.forget(w);
      return s;
    }
    if (out) *out = id;
    return CONSORT_OK;
  });
}

}  // namespace

extern "C" {

consort_status consort_register_in(consort_runtime *shell, const consort_data_desc *desc, uint32_t space,
                                   consort_data_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_description(desc, out); s < 0) return s;
  if (const consort_status s = check_space(*rt, space); s < 0) return s;
  const bool of_host = rt->topology->spaces()[space].desc.flags & CONSORT_SP_CPU;
  if (!of_host && !rt->memory.leads_to(space))
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "no driver moves bytes to space '%s': a home is in one that consort topo shows a link to",
                      rt->topology->space_name(space));
  return guarded([&] { return add_datum(*rt, *desc, of_host ? rt->topology->home() : space, out); });
}

consort_status consort_prefetch(consort_runtime *shell, consort_data_id data, uint32_t space, int32_t priority,
                                uint32_t flags, consort_prefetch_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_space(*rt, space); s < 0) return s;
  if (flags & ~uint32_t{CONSORT_PREFETCH_ROOM})
    return set_errorf(CONSORT_E_INVAL, "flags 0x%x: only CONSORT_PREFETCH_ROOM means something here", flags);
  if (space != rt->topology->home() && !rt->memory.leads_to(space))
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "no driver moves bytes to space '%s': prefetch to one that consort topo shows a link to",
                      rt->topology->space_name(space));
  const MemoryRequest wanted{
      .what = flags ? MemoryRequest::kRoom : MemoryRequest::kBring, .space = space, .priority = priority};
  return ask(*rt, data, CONSORT_M_R, "prefetch", wanted, out);
}

consort_status consort_prefetch_cancel(consort_runtime *shell, consort_prefetch_id wish) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  return thread ? rt->memory.requests.cancel(*thread, wish.v) : CONSORT_E_NOMEM;
}

consort_status consort_wont_use(consort_runtime *shell, consort_data_id data) {
  const ApiCall rt(shell);
  return rt ? ask(*rt, data, CONSORT_M_R, "wont_use", {.what = MemoryRequest::kWontUse}, nullptr) : refuse_shell(shell);
}

consort_status consort_evict(consort_runtime *shell, consort_data_id data, uint32_t space) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  const consort_status s = with_datum(*rt, data, [&](Datum &d) -> consort_status {
    if (const consort_status bad = check_space(*rt, space); bad < 0) return bad;
    if (space == rt->memory.home_of(d))
      return set_errorf(CONSORT_E_INVAL,
                        "datum '%s' is the application's own memory in '%s': unregister it to have it back",
                        rt->data.name(d).c_str(), rt->topology->space_name(space));
    return CONSORT_OK;
  });
  return s < 0 ? s : ask(*rt, data, CONSORT_M_RW, "evict", {.what = MemoryRequest::kEvict, .space = space}, nullptr);
}

consort_status consort_data_set_write_through(consort_runtime *shell, consort_data_id data, uint64_t spaces) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  for (uint32_t s = 0; s < 64; ++s) {
    if (!(spaces >> s & 1)) continue;
    if (const consort_status bad = check_space(*rt, s); bad < 0) return bad;
    if (s != rt->topology->home() && !rt->memory.leads_to(s))
      return set_errorf(CONSORT_E_UNSUPPORTED, "no driver moves bytes to space '%s' (bit %u): leave it out",
                        rt->topology->space_name(s), s);
  }
  return ask(*rt, data, CONSORT_M_RW, "write_through", {.what = MemoryRequest::kThrough, .spaces = spaces}, nullptr);
}

consort_status consort_data_in(consort_runtime *shell, consort_data_id data, uint32_t space, uint32_t *bits) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  return with_datum(*rt, data, [&](Datum &d) -> consort_status {
    if (!bits) return set_error(CONSORT_E_INVAL, "bits is NULL: give a place for the answer");
    if (const consort_status bad = check_space(*rt, space); bad < 0) return bad;
    *bits = rt->memory.state_in(d, space);
    return CONSORT_OK;
  });
}

consort_status consort_get_space_use(consort_runtime *shell, uint32_t space, consort_space_use *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_space_use)");
  if (const consort_status s = check_space(*rt, space); s < 0) return s;
  const SpaceStatistics c = rt->memory.count(space);
  *out = {out->size, space,         c.limit,            c.used,    c.spare, c.evictions,
          c.saves,   c.saved_bytes, c.needed_evictions, c.waiting, c.wishes};
  return CONSORT_OK;
}

consort_status consort_get_link_use(consort_runtime *shell, uint32_t from, uint32_t to, consort_link_use *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_link_use)");
  for (const uint32_t s : {from, to})
    if (const consort_status bad = check_space(*rt, s); bad < 0) return bad;
  if (!rt->topology->link(from, to).device) return CONSORT_AGAIN;
  const LinkStatistics t = rt->memory.traffic(from, to);
  *out = {out->size, 0, t.copies, t.bytes, t.failed};
  return CONSORT_OK;
}

}  // extern "C"

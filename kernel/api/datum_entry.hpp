// datum_entry.hpp — access from C to one datum: finds it by its handle and keeps it alive for the call.
#pragma once
#include "api/entry.hpp"
#include "graph/access_order.hpp"
#include "graph/submit.hpp"
#include "graph/watched_data.hpp"

namespace consort {

// Checks common to every registration.
inline consort_status check_description(const consort_data_desc *desc, const void *out) noexcept {
  if (!desc || !out) return set_errorf(CONSORT_E_INVAL, "%s is NULL", desc ? "out" : "the datum's description");
  if (desc->size < sizeof *desc)
    return set_errorf(CONSORT_E_INVAL, "desc->size is %u: set it to sizeof(consort_data_desc)", desc->size);
  if (desc->flags) return refuse_bits("desc->flags", desc->flags, "there are none yet");
  if (!desc->interface || !*desc->interface)
    return set_error(CONSORT_E_INVAL, "no interface is named; consort plugins lists what there is");
  if (!desc->args && desc->args_bytes) return set_error(CONSORT_E_INVAL, "args is NULL, but args_bytes is not 0");
  return CONSORT_OK;
}

// Gives a new datum the order that consort_runtime_set_ordered() has set, then returns its id in *out. Removes the datum
// if out of memory. Precondition: no other thread uses it yet.
inline consort_status give_out(Runtime &rt, Datum &d, consort_data_id *out) noexcept {
  if (!rt.ordered_data.load(std::memory_order_relaxed)) [[unlikely]] {
    AccessOrder *const order = discipline_of(d);
    if (!order) {
      d.home.store(0, std::memory_order_release);  // pairs with find_home()
      rt.data.remove(d);
      return set_error(CONSORT_E_NOMEM, "no memory for a datum's discipline");
    }
    order->ordered = false;
    mark_odd(d);
  }
  out->v = d.pub.id;
  return CONSORT_OK;
}

// Registers the datum. May throw.
inline consort_status add_datum(Runtime &rt, const consort_data_desc &desc, uint32_t home, consort_data_id *out) {
  auto d = rt.data.add(desc, home);
  if (!d) return set_error(d.error());
  const consort_status s = give_out(rt, **d, out);
  if (s >= 0) tell_added(rt, **d);
  return s;
}

// Runs ask() without a lock, then f(datum) under the datum's right, so that it cannot be unregistered meanwhile. Both
// return a status.
template <class A, class F>
consort_status with_datum(Runtime &rt, consort_data_id data, A ask, F f) {
  ThreadState *thread = rt.this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  Datum *d = rt.data.find(data);
  if (!d || !DataTable::is(*d, data)) return refuse_datum(data);
  return guarded([&]() -> consort_status {
    if (const consort_status s = ask(); s < 0) return s;
    Claim claim{d, CONSORT_M_R};
    const SubmissionRight right(rt, *thread, &claim, 1);
    return DataTable::is(*d, data) ? f(*d) : refuse_datum(data);
  });
}

template <class F>
consort_status with_datum(Runtime &rt, consort_data_id data, F f) {
  return with_datum(rt, data, [] { return CONSORT_OK; }, f);
}

}  // namespace consort

// api_datum.hpp — the door from C to one datum: found by its handle, and there for as long as it is looked at.
#pragma once
#include "api.hpp"
#include "submit.hpp"

namespace consort {

// ask() without a lock, then f(datum) under the datum's right: nobody can unregister it meanwhile. Both answer a status.
template <class A, class F>
consort_status with_datum(Runtime &rt, consort_data_id data, A ask, F f) {
  Hand *h = rt.this_hand();
  if (!h) return CONSORT_E_NOMEM;
  Datum *d = rt.data.find(data);
  if (!d || !DataTable::is(*d, data)) return refuse_datum(data);
  return guarded([&]() -> consort_status {
    if (const consort_status s = ask(); s < 0) return s;
    Claim claim{d, CONSORT_M_R};
    const SubmissionRight right(rt, *h, &claim, 1);
    return DataTable::is(*d, data) ? f(*d) : refuse_datum(data);
  });
}

template <class F>
consort_status with_datum(Runtime &rt, consort_data_id data, F f) {
  return with_datum(rt, data, [] { return CONSORT_OK; }, f);
}

}  // namespace consort

// status_name.hpp — the name of a status, as consort_status_name() returns it: "E_NOMEM", "AGAIN", "OK".
#pragma once
#include <consort/plugin.h>

namespace consort {

const char *status_name(consort_status) noexcept;  // "E_INTERNAL" for an unknown number

}  // namespace consort

// status_name.hpp — the name of a status, as consort_status_name() answers it: "E_NOMEM", "AGAIN", "OK".
#pragma once
#include <consort/plugin.h>

namespace consort {

const char *status_name(consort_status) noexcept;  // of a number that is none: "E_INTERNAL"

}  // namespace consort

#include "base/status_name.hpp"

#include <iterator>

namespace consort {

const char *status_name(consort_status s) noexcept {
  static constexpr const char *kNames[] = {"OK",          "E_INVAL",    "E_NOMEM",     "E_UNSUPPORTED",
                                           "E_BUSY",      "E_IO",       "E_CANCELLED", "E_DEVICE_LOST",
                                           "E_PEER_LOST", "E_ABI",      "E_INTERNAL",  "E_TIMEOUT",
                                           "E_TRUNCATED", "E_POISONED", "E_STALE",     "E_STOPPED"};
  if (s == CONSORT_AGAIN) return "AGAIN";
  if (s > 0) return "OK";
  return s > -static_cast<consort_status>(std::size(kNames)) ? kNames[-s] : "E_INTERNAL";
}

}  // namespace consort

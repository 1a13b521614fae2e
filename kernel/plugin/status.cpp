#include "plugin/status.hpp"

#include "base/last_error.hpp"

namespace consort {

consort_status unknown_status(consort_status s, const char *plugin, const char *function) noexcept {
  const char *said = error_text();
  return set_errorf(CONSORT_E_INTERNAL, "plugin \"%s\": %s answered %d, which is no status of Consort: answer CONSORT_OK or a CONSORT_E_ value%s%s",
                    plugin, function, s, *said ? "; it said: " : "", said);
}

}  // namespace consort

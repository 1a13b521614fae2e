// issued.hpp — what one op has become in a vendor's commands: filled by a Lane, on the stack of whoever issues.
#pragma once
#include <consort/driver.h>

#include <string>
#include <vector>

namespace streams {

// A Mark is a point on the device's time line that can be asked whether it was reached (an event), null by default.
template <class Mark>
struct Issued {
  std::vector<Mark> wait;      // to be waited for; the Lane gives them back
  unsigned char *scratch = nullptr;  // kScratch bytes of the op's own, until it is over
  bool time = false;           // its begin and end are wanted
  bool more = false;           // another op follows at once: a mark that it gets may serve for this one, too
  Mark first{}, last{};        // first: only where time is wanted and it is another point than last
  bool later = false;          // no mark of its own: that of the next op is waited for
  bool lost = false;           // the device answers nothing sensible any more
  consort_status status = CONSORT_OK;
  uint64_t bytes = 0;
  std::string why;             // of a status < 0; told when the op is reported
};

}  // namespace streams

// issued.hpp — the commands of one op on a vendor's queue: filled by a Lane, on the issuing thread's stack.
#pragma once
#include <consort/driver.h>

#include <string>
#include <vector>

namespace streams {

// A Mark is a point of the device's time line with a completion test (an event); null by default.
template <class Mark>
struct Issued {
  std::vector<Mark> wait;      // predecessors' marks; the Lane releases them
  unsigned char *scratch = nullptr;  // kScratch bytes, valid until the op is complete
  bool time = false;           // record begin and end times
  bool more = false;           // another op follows immediately and its mark may serve for both
  Mark first{}, last{};        // first: only with `time`, if it differs from last
  bool unmarked = false;          // has no mark of its own: the next op's mark covers it
  bool lost = false;           // the device is lost
  consort_status status = CONSORT_OK;
  uint64_t bytes = 0;
  std::string why;             // text for a status < 0, reported with the op
};

}  // namespace streams

// xfail.hpp — cases expected to fail: a file of lines "CONSORT-S-12  reason" or "CONSORT-S-12/name  reason".
#pragma once
#include <map>
#include <string>

#include "case.hpp"

namespace conform {

class ExpectedFailures {
 public:
  // Returns "", or the fault of the file: a line that names no rule or case, or one without a reason.
  std::string read(const std::string &path);
  const std::string *reason_for(const Case &) const;     // nullptr: it should pass

 private:
  std::map<std::string, std::string> reasons_;           // by rule or case
};

}  // namespace conform

#include "xfail.hpp"

#include <sstream>
#include <stdexcept>

#include "../plain_file.hpp"

namespace conform {

std::string ExpectedFailures::read(const std::string &path) {
  std::istringstream in;
  try {
    in.str(tool::read_plain(path));
  } catch (const std::runtime_error &e) {
    return e.what();
  }
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    constexpr const char *blanks = " \t\r";
    const size_t begin = line.find_first_not_of(blanks);
    if (begin == line.npos || line[begin] == '#') continue;
    const size_t end = line.find_first_of(blanks, begin);
    const std::string id = line.substr(begin, end == line.npos ? end : end - begin);
    const size_t reason = end == line.npos ? end : line.find_first_not_of(blanks, end);
    const std::string place = path + ":" + std::to_string(number) + ": ";
    bool known = false;
    for (const Case *c : cases_for(0)) known = known || id == c->rule_id || id == c->full_name();
    if (!known) return place + "\"" + id + "\" is no rule or case; consort conform --list names them";
    if (reason == line.npos) return place + "say behind " + id + " why it is expected to fail";
    reasons_[id] = line.substr(reason);
  }
  return {};
}

const std::string *ExpectedFailures::reason_for(const Case &c) const {
  auto found = reasons_.find(c.full_name());
  if (found == reasons_.end()) found = reasons_.find(c.rule_id);
  return found == reasons_.end() ? nullptr : &found->second;
}

}  // namespace conform

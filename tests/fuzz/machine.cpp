// Files that describe a simulated machine, and the parameters of the driver sim. Input: lines "#: key = value" at the front
// are parameters, the rest is the file.
#include <cmath>
#include <map>

#include "fuzz.hpp"
#include "machine_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  fuzz::Bytes in(data, size);
  std::map<std::string, std::string> params;
  while (in.rest().starts_with("#: ")) {
    const std::string line(in.line().substr(3));
    const size_t equals = line.find(" = ");
    if (equals != line.npos) params[line.substr(0, equals)] = line.substr(equals + 3);
  }
  params["machine"] = file.path();
  params.erase("trace");
  params.erase("report");
  file.set(in.rest());
  std::string why;
  if (!fuzz::read_machine(params, &why)) fuzz::expect(!why.empty(), "a refusal has a text");
  return 0;
}

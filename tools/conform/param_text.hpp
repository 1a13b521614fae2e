// param_text.hpp — parameters of a plugin as text: types, ranges, valid values.
//
// A plugin gets a value as the kernel passes it: true or false, decimal numbers, a choice verbatim.
#pragma once
#include <string>
#include <vector>

namespace conform {

std::vector<std::string> split(const std::string &text, const std::string &by);

bool is_integer(const std::string &type);
bool is_real(const std::string &type);
// Parses a number of that type. Large integers keep the precision needed for a comparison with a range.
bool read_number(const std::string &type, const std::string &text, long double *out);

// Returns a value as the kernel passes it to a plugin: "yes", "on", "1", "no", "off", "0" of a bool in canonical form.
std::string as_told(const std::string &type, const std::string &value);

// Returns "", or the fault of a passed value: 'expects u32 in 1..64, not "many"'. range: "a..b" with optional ends, or
// "a|b|c", or "".
std::string fault_of_value(const std::string &type, const std::string &range, const std::string &value);

}  // namespace conform

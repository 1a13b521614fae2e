// param_text.hpp — parameters of a plugin as text: their types, their ranges, values that fit.
//
// A value is told to a plugin as the kernel tells it: true or false, decimal numbers, a choice letter by letter.
#pragma once
#include <string>
#include <vector>

namespace conform {

std::vector<std::string> split(const std::string &text, const std::string &by);

bool is_integer(const std::string &type);
bool is_real(const std::string &type);
// Within its type. Large integers lose nothing that a comparison with a range would miss.
bool read_number(const std::string &type, const std::string &text, long double *out);

// A value as the kernel would tell it to a plugin: a bool of "yes", "on", "1", "no", "off", "0" in its one way.
std::string as_told(const std::string &type, const std::string &value);

// "", or what is wrong with a value as told: 'expects u32 in 1..64, not "many"'. range: "a..b", either end may be open, or
// "a|b|c", or "".
std::string fault_of_value(const std::string &type, const std::string &range, const std::string &value);

}  // namespace conform

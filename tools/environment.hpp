// environment.hpp — settings for a program that this command starts: its runtime reads them from the environment.
#pragma once
#include <string>

namespace tool {

void set_variable(const char *variable, const std::string &value);  // throws with the variable's name
void set_from(const std::string &assignment);                       // "sim.usual=1ms" sets CONSORT_SIM__USUAL; throws

}  // namespace tool

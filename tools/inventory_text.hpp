// inventory_text.hpp — an inventory as text, from the child that starts a runtime to the process that prints it.
//
// One line of JSON for each item. A plugin in the child may have written, too: any text is read; lines that are no item, and
// links of spaces that do not exist, are left out, which the log reports.
#pragma once
#include <string>
#include <string_view>

#include "inventory.hpp"

namespace tool {

std::string line_of(const Space &);
std::string line_of(const Unit &);
std::string line_of(const Link &);
std::string line_of(const LogLine &);
std::string error_line(const std::string &);
std::string topology_line(const std::string &);    // the setting cpu.topology
Inventory inventory_of(std::string_view text);     // of several log lines that are equal, it has the first

}  // namespace tool

// catalog_text.hpp — the lists of a catalog as text, from the child that makes them to the process that prints them.
//
// Fields that each end with a byte of zero; the first names what follows. A plugin in the child may have written, too: any text
// is read, fields that are missing are "", and what is no row is reported in the log.
#pragma once
#include <string>
#include <string_view>

#include "catalog.hpp"

namespace tool {

std::string written(const PluginRow &);            // with its parameters
std::string written(const SettingRow &);
std::string written(const LogLine &);
std::string written_error(const std::string &);
std::string written(const Catalog &);
Catalog catalog_of(std::string_view text);

}  // namespace tool

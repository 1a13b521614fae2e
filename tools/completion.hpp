// completion.hpp — `consort completion`: scripts for shells, generated from the definitions in command_line.cpp.
#pragma once
#include <CLI/App.hpp>
#include <string>

#include "commands.hpp"

namespace tool {

// shell: bash, zsh or fish; or, for these scripts, a list of words, one per line: commands, plugins, settings, models.
int run_completion(Settings &, const CLI::App &, const std::string &shell);

}  // namespace tool

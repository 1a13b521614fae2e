// drawing.hpp — a drawing into a file: SVG as it is, or as a picture (PNG) where the file's name ends so.
#pragma once
#include <string>

namespace tool {

void write_drawing(const std::string &path, const std::string &svg);  // throws: what is wrong

}  // namespace tool

// drawing.hpp — a drawing into a file: SVG as it is, or as a picture (PNG) where the file's name ends so.
#pragma once
#include <string>

namespace tool {

std::string escaped(const std::string &text);      // for text and attributes of SVG
std::string decimals(double x, int digits);        // with so many digits behind the point
void write_drawing(const std::string &path, const std::string &svg);  // throws: what is wrong

}  // namespace tool

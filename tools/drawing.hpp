// drawing.hpp — writes a drawing to a file: SVG, or PNG if the file's name ends with .png.
#pragma once
#include <string>

namespace tool {

std::string escaped(const std::string &text);      // escapes text and attributes of SVG
std::string decimals(double x, int digits);        // with `digits` decimals
void write_drawing(const std::string &path, const std::string &svg);  // throws with the reason

}  // namespace tool

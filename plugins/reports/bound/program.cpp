#include "program.hpp"

#include <cmath>
#include <cstdio>

namespace bound {
namespace {

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", x);
  return text;
}

// Few terms per line: readers limit the line length.
std::string sum(const Program &p, const std::vector<Program::Term> &terms) {
  std::string text;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i && i % 6 == 0) text += "\n  ";
    text += (terms[i].factor < 0 ? " - " : " + ") + number(std::fabs(terms[i].factor)) + " " + p.columns[terms[i].column].name;
  }
  return text;
}

}  // namespace

std::string Program::lp() const {
  std::string text = "\\ " + what + "\nMinimize\n obj:";
  std::vector<Term> costs;
  for (uint32_t c = 0; c < columns.size(); ++c)
    if (columns[c].cost != 0) costs.push_back({c, columns[c].cost});
  text += sum(*this, costs) + "\nSubject To\n";
  for (const Row &r : rows)
    text += " " + r.name + ":" + sum(*this, r.terms) +
            (r.sense == Row::kLess ? " <= " : r.sense == Row::kMore ? " >= " : " = ") + number(r.right) + "\n";
  text += "Bounds\n";
  for (const Column &c : columns)
    if (c.high == 0) text += " " + c.name + " = 0\n";
    else if (c.high < kEndless) text += " 0 <= " + c.name + " <= " + number(c.high) + "\n";
  bool any = false;
  for (const Column &c : columns)
    if (c.whole) text += (any ? " " : "Generals\n ") + c.name + "\n", any = true;
  return text + "End\n";
}

std::string Program::mps() const {
  std::string text = "* " + what + "\nNAME bound\nROWS\n N obj\n";
  for (const Row &r : rows) text += std::string(" ") + static_cast<char>(r.sense) + " " + r.name + "\n";
  std::vector<std::vector<Term>> by_column(columns.size());  // column: the row's number
  for (uint32_t r = 0; r < rows.size(); ++r)
    for (const Term &t : rows[r].terms) by_column[t.column].push_back({r, t.factor});
  text += "COLUMNS\n";
  bool whole = false;
  uint32_t markers = 0;
  const auto mark = [&](bool begins) {
    text += " M" + std::to_string(markers++) + " 'MARKER' " + (begins ? "'INTORG'" : "'INTEND'") + "\n";
    whole = begins;
  };
  for (uint32_t c = 0; c < columns.size(); ++c) {
    if (columns[c].whole != whole) mark(columns[c].whole);
    if (columns[c].cost != 0 || by_column[c].empty()) text += " " + columns[c].name + " obj " + number(columns[c].cost) + "\n";
    for (const Term &t : by_column[c]) text += " " + columns[c].name + " " + rows[t.column].name + " " + number(t.factor) + "\n";
  }
  if (whole) mark(false);
  text += "RHS\n";
  for (const Row &r : rows)
    if (r.right != 0) text += " RHS " + r.name + " " + number(r.right) + "\n";
  text += "BOUNDS\n";
  for (const Column &c : columns)
    if (c.high < kEndless) text += " UP BND " + c.name + " " + number(c.high) + "\n";
    else if (c.whole) text += " PL BND " + c.name + "\n";  // some readers default to 1 for integers
  return text + "ENDATA\n";
}

}  // namespace bound

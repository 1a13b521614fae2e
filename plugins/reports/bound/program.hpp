// program.hpp — a linear program (minimise one sum), and its text for solvers: CPLEX format (.lp) and free MPS.
//
// Owned by its creator; one thread.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "problem.hpp"

namespace bound {

struct Program {
  static constexpr double kEndless = std::numeric_limits<double>::infinity();
  struct Column {
    std::string name;
    double high, cost;               // bounds 0 to high
    bool whole;                      // integer
  };
  struct Term {
    uint32_t column;
    double factor;
  };
  struct Row {
    enum Sense : char { kLess = 'L', kMore = 'G', kEqual = 'E' };
    std::string name;
    Sense sense;
    double right;
    std::vector<Term> terms;
  };
  std::string what;                  // description in one line
  std::vector<Column> columns;
  std::vector<Row> rows;

  uint32_t add(std::string name, double high, double cost, bool whole) {
    columns.push_back({std::move(name), high, cost, whole});
    return static_cast<uint32_t>(columns.size() - 1);
  }
  std::string lp() const;
  std::string mps() const;
};

enum class Level {
  kArea,       // number of tasks of a kind on each group
  kDeps,       // share and end of each task
  kTransfers   // also transfers
};

// Times in ms. Column 0 is the run's time; for kArea, kind k on group g is column 1 + k * groups + g.
Program formulate(const Problem &, Level, bool whole);

struct Solution {
  double least = 0;                  // lower bound in ms
  bool exact = false;                // the optimum; else the solver was stopped, and the optimum may be higher
  std::vector<double> values;        // of columns; empty if not exact
  std::string trouble;               // error text; "": solved
};
Solution solve(const Program &, double seconds);

}  // namespace bound

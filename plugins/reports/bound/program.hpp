// program.hpp — a linear program (least of one sum), and its text for solvers: CPLEX's form (.lp) and free MPS.
//
// Owned by whoever made it; one thread.
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
    double high, cost;               // from 0 to high
    bool whole;                      // its value is to be a whole number
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
  std::string what;                  // a line about it
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
  kArea,       // how many tasks of a kind each group runs
  kDeps,       // where each task runs and when it ends
  kTransfers   // and what has to be moved for it
};

// Times in ms. The first column is how long it takes at least; of kArea, the one of kind k on group g is 1 + k * groups + g.
Program formulate(const Problem &, Level, bool whole);

struct Solution {
  double least = 0;                  // no run is shorter; ms
  bool exact = false;                // it is the program's least; else the solver was stopped, and it may be more
  std::vector<double> values;        // of columns; empty where not exact
  std::string trouble;               // why nothing was found; "": something was
};
Solution solve(const Program &, double seconds);

}  // namespace bound

// shares.hpp — optimal shares of tasks on groups for a subset of the constraints: each group's time, and the lengths of some paths
// through the tasks. A primal-dual interior-point method; its one dense system has the size of the number of rows.
//
// Tasks on no path are merged by kind. Any prices of rows give a valid bound by one sum, so
// the bound does not depend on convergence. Used by one thread.
#pragma once
#include <chrono>
#include <vector>

#include "problem.hpp"

namespace bound {

class Shares {
 public:
  using Clock = std::chrono::steady_clock;
  // Times below are in units of `unit_ns`, about the total time.
  Shares(const Problem &, double unit_ns);
  static std::vector<double> counts(const Problem &);  // tasks by kind, including tasks known by their kind alone

  void add_way(const std::vector<uint32_t> &tasks);  // tasks in sequence
  // After improve(): drops paths that were inactive for some rounds, if there are more than this. False: none was dropped.
  bool forget_idle_ways(size_t more_than);

  // Iterates until the shares' time is within `gap` of the bound, or no step helps. False: the deadline passed.
  bool improve(double gap, Clock::time_point late);
  double bound() const { return bound_; }            // best lower bound so far
  double time() const { return time_; }              // time of these shares, by the current rows
  double busy() const;                               // time of these shares, by the groups alone
  void durations(std::vector<double> *) const;       // by task, with these shares

 private:
  struct Item {                      // one task, or the tasks of a kind that are on no path
    uint32_t kind;
    double count;                    // number of tasks; 0: none
    std::vector<uint32_t> ways;
  };
  struct Way {
    std::vector<uint32_t> items;
    uint32_t idle = 0;               // inactive rounds
  };
  struct Step {                      // a direction of all variables below
    std::vector<double> x, w, s, z;
    double time = 0;
  };
  double cost(const Item &i, uint32_t g) const { return cost_[i.kind * groups_ + g]; }
  template <class F> void each(uint32_t i, F f) const;  // f(g, j) for each group where an item may run
  template <class F> void each(F f) const;              // f(i, g, j)
  void begin();
  void rows_of(const std::vector<double> &x, std::vector<double> *rows) const;
  void prices_of(const std::vector<double> &z, std::vector<double> *prices) const;
  void note_bound();
  bool factor();
  void solve(std::vector<double> *v) const;
  void direct(const Step *before, double target, Step *out) const;
  double product(const Step *by, double p, double d, size_t *terms) const;

  const Problem &p_;
  const uint32_t groups_;
  std::vector<double> cost_;         // by kind and group; < 0: not eligible
  std::vector<Item> items_;
  std::vector<Way> ways_;
  std::vector<uint32_t> together_;   // item by kind
  std::vector<uint32_t> item_of_;    // by task; NONE: merged with its kind
  std::vector<double> x_, w_;        // by item and group: its share, and its reduced cost there
  std::vector<double> s_, z_;        // by row (groups, then paths): its slack to time_, and its price
  double time_ = 0, bound_ = 0;
  std::vector<double> matrix_;       // factored; its lower half
};

}  // namespace bound

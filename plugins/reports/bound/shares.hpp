// shares.hpp — where tasks run at best if only some rows count: each group's time, and the lengths of some ways through
// the tasks. A primal-dual interior-point method; its one dense system is as large as there are rows, however many tasks.
//
// Tasks on no way count together, by kind. Whatever prices of rows it has come to, they give a bound by one sum, so
// that it does not hang on how far or how well this went. The caller's, one thread.
#pragma once
#include <chrono>
#include <vector>

#include "problem.hpp"

namespace bound {

class Shares {
 public:
  using Clock = std::chrono::steady_clock;
  // In what follows times count in units of `unit_ns`: about what all of it takes.
  Shares(const Problem &, double unit_ns);
  static std::vector<double> counts(const Problem &);  // tasks by kind; with those that are known by their kind alone

  void add_way(const std::vector<uint32_t> &tasks);  // that come after one another
  // After improve(): those that have not mattered for some rounds, if there are so many. False: none was forgotten.
  bool forget_idle_ways(size_t more_than);

  // Goes on until the shares' time is within `gap` of the bound, or no step helps. False: it was too late.
  bool improve(double gap, Clock::time_point late);
  double bound() const { return bound_; }            // no run is shorter; the best so far
  double time() const { return time_; }              // of these shares, by these rows
  double busy() const;                               // of these shares, by the groups alone
  void durations(std::vector<double> *) const;       // by task, with these shares

 private:
  struct Item {                      // one task, or those of a kind that are on no way
    uint32_t kind;
    double count;                    // 0: none is left
    std::vector<uint32_t> ways;
  };
  struct Way {
    std::vector<uint32_t> items;
    uint32_t idle = 0;               // rounds
  };
  struct Step {                      // a direction, of all that is below
    std::vector<double> x, w, s, z;
    double time = 0;
  };
  double cost(const Item &i, uint32_t g) const { return cost_[i.kind * groups_ + g]; }
  template <class F> void each(uint32_t i, F f) const;  // f(g, j) of where an item may run
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
  std::vector<double> cost_;         // by kind and group; < 0: it cannot run there
  std::vector<Item> items_;
  std::vector<Way> ways_;
  std::vector<uint32_t> together_;   // item by kind
  std::vector<uint32_t> item_of_;    // by task; NONE: together with its kind
  std::vector<double> x_, w_;        // by item and group: its share, and what a task costs there more than it is worth
  std::vector<double> s_, z_;        // by row (groups, then ways): what it is shorter than time_, and its price
  double time_ = 0, bound_ = 0;
  std::vector<double> matrix_;       // factored; its lower half
};

}  // namespace bound

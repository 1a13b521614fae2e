// fork_join — a task that forks children and joins them inside its own body: it makes a group, submits two halves into
// it, waits for the group, and adds their results. While it waits, its worker runs other tasks. The computation: the
// integral of exp(-x) sin(x x) from 0 to 10 by adaptive Simpson, whose depth is not known in advance. Prints the
// integral, and the number of tasks.
#include "../example.hpp"

namespace {

double f(double x) { return std::exp(-x) * std::sin(x * x); }

struct Piece {
  double a, b, eps;
  int forks;  // levels of the tree that become tasks; below, one task goes on alone and looks where it may stop

  double middle() const { return (a + b) / 2; }
  double simpson(double from, double to) const { return (to - from) / 6 * (f(from) + 4 * f((from + to) / 2) + f(to)); }
  double estimate() const { return simpson(a, b); }
  double halves() const { return simpson(a, middle()) + simpson(middle(), b); }
  bool good() const { return forks <= 0 && std::abs(halves() - estimate()) <= 15 * eps; }
  Piece left() const { return {a, middle(), eps / 2, forks - 1}; }
  Piece right() const { return {middle(), b, eps / 2, forks - 1}; }
};

double alone(const Piece &p) { return p.good() ? p.halves() : alone(p.left()) + alone(p.right()); }

void integrate(consort::Runtime *rt, Piece p, double *result);
const consort::Codelet task{"integrate", consort::cpu(integrate)};

void integrate(consort::Runtime *rt, Piece p, double *result) {
  if (p.forks == 0) {
    *result = alone(p);
    return;
  }
  double left = 0, right = 0;  // on this stack: the children end before it does
  consort::Group children = rt->group("children");
  rt->submit({.group = children}, task, rt, p.left(), &left);
  rt->submit({.group = children}, task, rt, p.right(), &right);
  children.wait();  // throws what a child threw; this task fails with it, then
  *result = left + right;
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(
      argc, argv,
      {{"digits", 12, "digits of the result that are to be right"}, {"forks", 6, "levels of the tree that are tasks"}});
  const Piece all{0, 10, std::pow(10.0, -static_cast<double>(size["digits"])), static_cast<int>(size["forks"])};
  consort::Runtime rt(size.settings());
  double result = 0;
  rt.submit(task, &rt, all, &result);
  rt.wait();
  const double expected = alone(all);  // the same tree, so the same sum to the last bit
  return example::end(result == expected, "fork_join: the integral is %.12f, by %llu tasks", result,
                      static_cast<unsigned long long>(rt.info().submitted));
} catch (const std::exception &e) {
  return example::failed(e);
}

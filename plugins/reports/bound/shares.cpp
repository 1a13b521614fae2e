#include "shares.hpp"

#include <algorithm>
#include <cmath>

namespace bound {
namespace {

double dot(const double *a, const double *b, size_t n) {  // four sums, to hide the latency of additions
  double v[4] = {0, 0, 0, 0};
  size_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (size_t i = 0; i < 4; ++i) v[i] += a[k + i] * b[k + i];
  for (; k < n; ++k) v[0] += a[k] * b[k];
  return (v[0] + v[1]) + (v[2] + v[3]);
}

// Products of one row with up to four others, which are `apart` elements from each other.
void dots(const double *a, const double *b, size_t apart, size_t n, size_t rows, double *out) {
  if (rows < 4) {
    for (size_t i = 0; i < rows; ++i) out[i] = dot(a, b + i * apart, n);
    return;
  }
  const double *b1 = b + apart, *b2 = b1 + apart, *b3 = b2 + apart;
  double v[4][2] = {};
  size_t k = 0;
  for (; k + 2 <= n; k += 2)
    for (size_t i = 0; i < 2; ++i) {
      v[0][i] += a[k + i] * b[k + i];
      v[1][i] += a[k + i] * b1[k + i];
      v[2][i] += a[k + i] * b2[k + i];
      v[3][i] += a[k + i] * b3[k + i];
    }
  for (; k < n; ++k) v[0][0] += a[k] * b[k], v[1][0] += a[k] * b1[k], v[2][0] += a[k] * b2[k], v[3][0] += a[k] * b3[k];
  for (size_t i = 0; i < 4; ++i) out[i] = v[i][0] + v[i][1];
}

}  // namespace

template <class F> void Shares::each(uint32_t i, F f) const {
  if (items_[i].count == 0) return;
  for (uint32_t g = 0; g < groups_; ++g)
    if (cost(items_[i], g) >= 0) f(g, size_t{i} * groups_ + g);
}
template <class F> void Shares::each(F f) const {
  for (uint32_t i = 0; i < items_.size(); ++i) each(i, [&](uint32_t g, size_t j) { f(i, g, j); });
}

std::vector<double> Shares::counts(const Problem &p) {
  std::vector<double> told(p.kinds.size());
  for (const Task &t : p.tasks) told[t.kind] += 1;
  for (size_t k = 0; k < told.size(); ++k) told[k] = std::max(told[k], static_cast<double>(p.kinds[k].count));
  return told;
}

Shares::Shares(const Problem &p, double unit_ns)
    : p_(p), groups_(static_cast<uint32_t>(p.groups.size())), together_(p.kinds.size(), kNone),
      item_of_(p.tasks.size(), kNone) {
  const std::vector<double> count = counts(p);
  for (uint32_t k = 0; k < p.kinds.size(); ++k) {
    const Kind &kind = p.kinds[k];
    for (uint32_t g = 0; g < groups_; ++g)
      cost_.push_back(kind.empty || std::isnan(kind.ns[g]) ? -1 : kind.ns[g] / unit_ns);
    if (kind.empty || count[k] == 0) continue;
    together_[k] = static_cast<uint32_t>(items_.size());
    items_.push_back({k, count[k], {}});
    x_.resize(x_.size() + groups_);  // begin() initialises it
  }
}

void Shares::add_way(const std::vector<uint32_t> &tasks) {
  const auto number = static_cast<uint32_t>(ways_.size());
  ways_.emplace_back();
  for (const uint32_t t : tasks) {
    const uint32_t kind = p_.tasks[t].kind;
    if (p_.kinds[kind].empty) continue;
    if (item_of_[t] == kNone) {      // it leaves its kind with its share
      item_of_[t] = static_cast<uint32_t>(items_.size());
      const uint32_t all = together_[kind];
      for (uint32_t g = 0; g < groups_; ++g) {
        const double x = x_[all * groups_ + g] / items_[all].count;
        x_.push_back(x);
        x_[all * groups_ + g] = items_[all].count > 1 ? x_[all * groups_ + g] - x : 0;
      }
      items_[all].count -= 1;
      items_.push_back({kind, 1, {}});
    }
    items_[item_of_[t]].ways.push_back(number);
    ways_.back().items.push_back(item_of_[t]);
  }
}

bool Shares::forget_idle_ways(size_t more_than) {
  for (size_t r = 0; r < ways_.size(); ++r)
    ways_[r].idle = z_[groups_ + r] < 0.01 / static_cast<double>(z_.size()) ? ways_[r].idle + 1 : 0;
  if (ways_.size() <= more_than || std::erase_if(ways_, [](const Way &w) { return w.idle >= 4; }) == 0) return false;
  for (Item &i : items_) i.ways.clear();
  for (uint32_t r = 0; r < ways_.size(); ++r)
    for (const uint32_t i : ways_[r].items) items_[i].ways.push_back(r);
  return true;
}

void Shares::rows_of(const std::vector<double> &x, std::vector<double> *rows) const {
  rows->assign(groups_ + ways_.size(), 0);
  for (uint32_t i = 0; i < items_.size(); ++i) {
    double takes = 0;
    each(i, [&](uint32_t g, size_t j) {
      const double t = x[j] * cost(items_[i], g);
      (*rows)[g] += t / p_.groups[g].units;
      takes += t;
    });
    for (const uint32_t r : items_[i].ways) (*rows)[groups_ + r] += takes;
  }
}

void Shares::prices_of(const std::vector<double> &z, std::vector<double> *prices) const {
  prices->assign(x_.size(), 0);
  for (uint32_t i = 0; i < items_.size(); ++i) {
    double passing = 0;
    for (const uint32_t r : items_[i].ways) passing += z[groups_ + r];
    each(i, [&](uint32_t g, size_t j) { (*prices)[j] = (z[g] / p_.groups[g].units + passing) * cost(items_[i], g); });
  }
}

// Initial point, strictly inside all constraints: the previous shares mixed with equal ones; equal prices.
void Shares::begin() {
  for (uint32_t i = 0; i < items_.size(); ++i) {
    double places = 0;
    each(i, [&](uint32_t, size_t) { ++places; });
    const double kept = bound_ > 0 ? 0.9 : 0;
    each(i, [&](uint32_t, size_t j) { x_[j] = kept * x_[j] + (1 - kept) * items_[i].count / places; });
  }
  rows_of(x_, &s_);
  time_ = 1.1 * *std::max_element(s_.begin(), s_.end());
  for (double &s : s_) s = time_ - s;
  z_.assign(s_.size(), 1.0 / static_cast<double>(s_.size()));
  prices_of(z_, &w_);
  for (uint32_t i = 0; i < items_.size(); ++i) {
    double low = INFINITY, high = 0;
    each(i, [&](uint32_t, size_t j) { low = std::min(low, w_[j]), high = std::max(high, w_[j]); });
    each(i, [&](uint32_t, size_t j) { w_[j] += 0.1 * high - low + 1e-12; });
  }
}

// Nonnegative prices, divided by their sum, give a bound. In any run the time is at least each row, hence at
// least the rows' mean weighted by the prices; that mean is a sum over the tasks, minimal if each runs where it is cheapest.
void Shares::note_bound() {
  std::vector<double> prices;
  prices_of(z_, &prices);
  double all = 0, sum = 0;
  for (const double z : z_) sum += z;
  for (uint32_t i = 0; i < items_.size(); ++i) {
    double low = INFINITY;
    each(i, [&](uint32_t, size_t j) { low = std::min(low, prices[j]); });
    if (items_[i].count > 0) all += items_[i].count * low;
  }
  if (all / sum > bound_) bound_ = all / sum;
}

double Shares::busy() const {
  std::vector<double> rows;
  rows_of(x_, &rows);
  return *std::max_element(rows.begin(), rows.begin() + groups_);
}

void Shares::durations(std::vector<double> *out) const {
  out->assign(p_.tasks.size(), 0);
  std::vector<double> of_item(items_.size());
  each([&](uint32_t i, uint32_t g, size_t j) { of_item[i] += x_[j] * cost(items_[i], g) / items_[i].count; });
  for (uint32_t t = 0; t < p_.tasks.size(); ++t)
    if (const uint32_t kind = p_.tasks[t].kind; !p_.kinds[kind].empty)
      (*out)[t] = of_item[item_of_[t] == kNone ? together_[kind] : item_of_[t]];
}

// The sum of all complementarity products, which are 0 at the optimum; with a step: after it.
double Shares::product(const Step *by, double p, double d, size_t *terms) const {
  double all = 0;
  *terms = s_.size();
  for (size_t r = 0; r < s_.size(); ++r) all += by ? (s_[r] + p * by->s[r]) * (z_[r] + d * by->z[r]) : s_[r] * z_[r];
  each([&](uint32_t, uint32_t, size_t j) {
    all += by ? (x_[j] + p * by->x[j]) * (w_[j] + d * by->w[j]) : x_[j] * w_[j];
    ++*terms;
  });
  return all;
}

// The effect of price changes on the rows: each item moves to groups that became cheaper, the more
// the less its extra cost there was. Theta is the mobility; as an item's shares sum to one, only a cost's distance from
// their theta-weighted mean counts.
bool Shares::factor() {
  const size_t n = s_.size();
  matrix_.assign(n * n, 0);
  for (size_t r = 0; r < n; ++r) matrix_[r * n + r] = s_[r] / z_[r];
  std::vector<double> theta(groups_), moved(groups_);
  for (uint32_t i = 0; i < items_.size(); ++i) {
    const Item &item = items_[i];
    double sum = 0, mean = 0, all = 0;
    each(i, [&](uint32_t g, size_t j) {
      theta[g] = x_[j] / w_[j];
      sum += theta[g], mean += theta[g] * cost(item, g);
    });
    mean /= sum;
    each(i, [&](uint32_t g, size_t) {
      moved[g] = theta[g] * (cost(item, g) - mean) * cost(item, g) / p_.groups[g].units;
      all += theta[g] * (cost(item, g) - mean) * (cost(item, g) - mean);
      each(i, [&](uint32_t h, size_t) {
        const double units = p_.groups[g].units * p_.groups[h].units;
        if (h <= g)
          matrix_[g * n + h] += cost(item, g) * cost(item, h) / units * ((g == h ? theta[g] : 0) - theta[g] * theta[h] / sum);
      });
    });
    for (size_t a = 0; a < item.ways.size(); ++a) {
      double *row = &matrix_[(groups_ + item.ways[a]) * n];
      each(i, [&](uint32_t g, size_t) { row[g] += moved[g]; });
      for (size_t b = 0; b <= a; ++b) row[groups_ + item.ways[b]] += all;
    }
  }
  // Equal growth of all prices changes nothing, so the system is singular near the optimum. The prices keep their sum,
  // so any multiple of its square may be added.
  double weight = 0;
  for (size_t r = 0; r < n; ++r) weight = std::max(weight, matrix_[r * n + r]);
  for (size_t r = 0; r < n; ++r)
    for (size_t c = 0; c <= r; ++c) matrix_[r * n + c] += weight;
  for (size_t r = 0; r < n; ++r) {   // Cholesky factor
    double *row = &matrix_[r * n];
    const double before = row[r];
    for (size_t c = 0; c <= r; c += 4) {
      const size_t end = std::min(c + 4, r + 1);
      double v[4];
      dots(row, &matrix_[c * n], n, c, end - c, v);
      for (size_t i = c; i < end; ++i) {
        double x = row[i] - v[i - c];
        for (size_t k = c; k < i; ++k) x -= row[k] * matrix_[i * n + k];
        if (!std::isfinite(x)) return false;
        if (i < r) row[i] = x / matrix_[i * n + i];
        else row[i] = x > 1e-14 * before ? std::sqrt(x) : 1e60;  // dependent row: its price stays
      }
    }
  }
  return true;
}

void Shares::solve(std::vector<double> *v) const {
  const size_t n = v->size();
  for (size_t r = 0; r < n; ++r) {
    const double x = (*v)[r] - dot(&matrix_[r * n], v->data(), r);
    (*v)[r] = x / matrix_[r * n + r];
  }
  for (size_t r = n; r-- > 0;) {
    const double x = (*v)[r] /= matrix_[r * n + r];
    for (size_t k = 0; k < r; ++k) (*v)[k] -= matrix_[r * n + k] * x;
  }
}

// Newton step towards products of `target`; `before`: a predictor step for the second-order term.
void Shares::direct(const Step *before, double target, Step *out) const {
  const size_t n = s_.size();
  std::vector<double> q(x_.size()), free(x_.size()), all(items_.size()), sums(items_.size());
  each([&](uint32_t i, uint32_t, size_t j) {
    q[j] = (target - x_[j] * w_[j] - (before ? before->x[j] * before->w[j] : 0)) / w_[j];
    all[i] += q[j], sums[i] += x_[j] / w_[j];
  });
  each([&](uint32_t i, uint32_t, size_t j) { free[j] = q[j] - x_[j] / w_[j] * all[i] / sums[i]; });
  std::vector<double> right, even(n, 1), left(n);
  rows_of(free, &right);
  for (size_t r = 0; r < n; ++r) {
    left[r] = (target - s_[r] * z_[r] - (before ? before->s[r] * before->z[r] : 0)) / z_[r];
    right[r] += left[r];
  }
  solve(&right);
  solve(&even);
  double a = 0, b = 0;               // keeps the sum of the prices
  for (size_t r = 0; r < n; ++r) a += right[r], b += even[r];
  out->time = a / b;
  out->z.resize(n), out->s.resize(n);
  for (size_t r = 0; r < n; ++r) {
    out->z[r] = right[r] - even[r] * out->time;
    out->s[r] = left[r] - s_[r] / z_[r] * out->z[r];
  }
  prices_of(out->z, &out->w);
  std::vector<double> worth(items_.size());
  each([&](uint32_t i, uint32_t, size_t j) { worth[i] += x_[j] / w_[j] * out->w[j]; });
  out->x.assign(x_.size(), 0);
  each([&](uint32_t i, uint32_t, size_t j) {
    out->w[j] -= (worth[i] - all[i]) / sums[i];
    out->x[j] = q[j] - x_[j] / w_[j] * out->w[j];
  });
}

bool Shares::improve(double gap, Clock::time_point late) {
  begin();
  Step first, step;
  for (int round = 0; round < 100; ++round) {
    if (Clock::now() >= late) return false;
    note_bound();
    if (!(time_ - bound_ > gap) || !factor()) return true;
    // Step lengths: a fraction of the way to the boundary of the nonnegativity constraints.
    const auto reach = [&](const std::vector<double> &at, const std::vector<double> &by, double most) {
      for (size_t j = 0; j < at.size(); ++j)
        if (by[j] < 0) most = std::min(most, -at[j] / by[j]);
      return most;
    };
    direct(nullptr, 0, &first);
    size_t terms;
    const double now = product(nullptr, 0, 0, &terms);
    const double then = product(&first, std::min(reach(x_, first.x, 1), reach(s_, first.s, 1)),
                                std::min(reach(w_, first.w, 1), reach(z_, first.z, 1)), &terms);
    direct(&first, std::pow(then / now, 3) * now / static_cast<double>(terms), &step);
    const double p = std::min(1.0, 0.995 * std::min(reach(x_, step.x, 2), reach(s_, step.s, 2)));
    const double d = std::min(1.0, 0.995 * std::min(reach(w_, step.w, 2), reach(z_, step.z, 2)));
    if (!(p > 1e-8 || d > 1e-8) || !std::isfinite(step.time)) return true;
    for (size_t j = 0; j < x_.size(); ++j) x_[j] += p * step.x[j], w_[j] += d * step.w[j];
    for (size_t r = 0; r < s_.size(); ++r) s_[r] += p * step.s[r], z_[r] += d * step.z[r];
    time_ += p * step.time;
  }
  return true;
}

}  // namespace bound

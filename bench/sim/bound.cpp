#include "bound.hpp"

#include <glpk.h>

#include <algorithm>
#include <cmath>

namespace bench {

// Columns: T, then how many tasks of kernel k the resource r runs. Times in ms, or the solver's tolerances bite.
double least_ns(const std::vector<uint64_t> &tasks, const std::vector<Resource> &resources,
                const std::vector<ChainLink> &chain) {
  glp_term_out(GLP_OFF);
  glp_prob *lp = glp_create_prob();
  glp_set_obj_dir(lp, GLP_MIN);
  const int kernels = static_cast<int>(tasks.size()), nr = static_cast<int>(resources.size());
  const auto column = [&](int k, int r) { return 2 + k * nr + r; };
  const auto ms = [&](int k, int r) { return resources[static_cast<size_t>(r)].ns[static_cast<size_t>(k)] / 1e6; };
  glp_add_cols(lp, 1 + kernels * nr);
  glp_set_obj_coef(lp, 1, 1);
  glp_set_col_bnds(lp, 1, GLP_LO, 0, 0);
  std::vector<int> at{0};
  std::vector<double> value{0};
  const auto add_row = [&](int kind, double bound) {
    const int row = glp_add_rows(lp, 1);
    glp_set_row_bnds(lp, row, kind, bound, bound);
    glp_set_mat_row(lp, row, static_cast<int>(at.size()) - 1, at.data(), value.data());
    at.resize(1);
    value.resize(1);
  };
  const auto term = [&](int col, double x) { at.push_back(col), value.push_back(x); };
  for (int k = 0; k < kernels; ++k) {
    for (int r = 0; r < nr; ++r) {
      glp_set_col_bnds(lp, column(k, r), std::isnan(ms(k, r)) ? GLP_FX : GLP_LO, 0, 0);
      term(column(k, r), 1);
    }
    add_row(GLP_FX, static_cast<double>(tasks[static_cast<size_t>(k)]));
  }
  for (int r = 0; r < nr; ++r) {
    for (int k = 0; k < kernels; ++k)
      if (!std::isnan(ms(k, r))) term(column(k, r), ms(k, r));
    term(1, -resources[static_cast<size_t>(r)].units);
    add_row(GLP_UP, 0);
  }
  if (!chain.empty()) {
    double fixed = 0;
    for (const ChainLink &link : chain) {
      double best = INFINITY;
      for (int r = 0; r < nr; ++r) {
        const double x = ms(static_cast<int>(link.kernel), r);
        if (std::isnan(x)) continue;
        best = std::min(best, x);
        if (link.every) term(column(static_cast<int>(link.kernel), r), x);
      }
      if (!link.every) fixed += link.links * best;
    }
    term(1, -1);
    add_row(GLP_UP, -fixed);
  }
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.presolve = GLP_ON;
  const bool solved = glp_simplex(lp, &how) == 0 && glp_get_status(lp) == GLP_OPT;
  const double t = solved ? glp_get_obj_val(lp) * 1e6 : NAN;
  glp_delete_prob(lp);
  glp_free_env();
  return t;
}

}  // namespace bench

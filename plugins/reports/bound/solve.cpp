// solve.cpp — a program's least by GLPK, where this was built with it.
#include "program.hpp"

#if __has_include(<glpk.h>) && !defined(BOUND_WITHOUT_GLPK)
#include <glpk.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <csetjmp>
#include <thread>

namespace bound {
namespace {

void load(const Program &p, glp_prob *lp) {
  glp_set_obj_dir(lp, GLP_MIN);
  if (!p.columns.empty()) glp_add_cols(lp, static_cast<int>(p.columns.size()));
  for (size_t c = 0; c < p.columns.size(); ++c) {
    const Program::Column &column = p.columns[c];
    const int i = static_cast<int>(c) + 1;
    glp_set_obj_coef(lp, i, column.cost);
    glp_set_col_bnds(lp, i, column.high == 0 ? GLP_FX : column.high < Program::kEndless ? GLP_DB : GLP_LO, 0,
                     column.high < Program::kEndless ? column.high : 0);
    glp_set_col_kind(lp, i, column.whole ? GLP_IV : GLP_CV);
  }
  if (p.rows.empty()) return;
  glp_add_rows(lp, static_cast<int>(p.rows.size()));
  std::vector<int> at;
  std::vector<double> value;
  for (size_t r = 0; r < p.rows.size(); ++r) {
    const Program::Row &row = p.rows[r];
    at.assign(1, 0);
    value.assign(1, 0);
    for (const Program::Term &t : row.terms) at.push_back(static_cast<int>(t.column) + 1), value.push_back(t.factor);
    const int i = static_cast<int>(r) + 1;
    glp_set_mat_row(lp, i, static_cast<int>(row.terms.size()), at.data(), value.data());
    glp_set_row_bnds(lp, i, row.sense == Program::Row::kLess   ? GLP_UP
                            : row.sense == Program::Row::kMore ? GLP_LO
                                                               : GLP_FX,
                     row.right, row.right);
  }
}

Solution solve_here(const Program &p, double seconds) {
  Solution out;
  glp_prob *const lp = glp_create_prob();  // goes with the thread's environment
  load(p, lp);
  const int limit = static_cast<int>(std::clamp(seconds * 1e3, 1.0, static_cast<double>(INT_MAX)));
  // Costs are not negative, so the first basis is good for the dual method: wherever that is stopped, what it has is a
  // lower bound.
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.meth = GLP_DUAL;
  how.tm_lim = limit;
  const int ended = glp_simplex(lp, &how);
  if (ended != 0 && ended != GLP_ETMLIM) return out.trouble = "the solver failed (GLPK " + std::to_string(ended) + ")", out;
  if (ended == 0 && glp_get_status(lp) != GLP_OPT)
    return out.trouble = "the program has no solution: some task can run nowhere", out;
  if (glp_get_dual_stat(lp) == GLP_FEAS) out.least = std::max(0.0, glp_get_obj_val(lp));
  out.exact = ended == 0;
  const bool whole = std::any_of(p.columns.begin(), p.columns.end(), [](const auto &c) { return c.whole; });
  if (out.exact && whole) {
    glp_iocp ways;
    glp_init_iocp(&ways);
    ways.msg_lev = GLP_MSG_OFF;
    ways.tm_lim = limit;
    ways.cb_info = &out.least;
    ways.cb_func = [](glp_tree *tree, void *least) {  // no whole solution is below the best of what is still open
      if (const int node = glp_ios_best_node(tree)) {
        const double x = glp_ios_node_bound(tree, node);
        if (std::isfinite(x) && x > *static_cast<double *>(least) && x < 1e300) *static_cast<double *>(least) = x;
      }
    };
    out.exact = glp_intopt(lp, &ways) == 0 && glp_mip_status(lp) == GLP_OPT;
    if (out.exact) out.least = glp_mip_obj_val(lp);
  }
  for (size_t c = 0; out.exact && c < p.columns.size(); ++c)
    out.values.push_back(whole ? glp_mip_col_val(lp, static_cast<int>(c) + 1) : glp_get_col_prim(lp, static_cast<int>(c) + 1));
  return out;
}

}  // namespace

// GLPK keeps what it has per thread, and ends the program where it finds a fault: so it gets a thread of its own, whose
// things go with it whatever happened, and comes back from a fault by a jump, as its manual has it.
Solution solve(const Program &p, double seconds) {
  Solution out;
  for (const Program::Row &r : p.rows)
    for (const Program::Term &t : r.terms)
      if (!std::isfinite(t.factor)) return out.trouble = "a time or a size in it is no number: row " + r.name, out;
  std::thread([&] {
    std::jmp_buf back;
    const auto own = std::make_unique<Solution>();  // not on the stack that a jump leaves
    if (setjmp(back) == 0) {
      glp_term_out(GLP_OFF);
      glp_error_hook([](void *to) { std::longjmp(*static_cast<std::jmp_buf *>(to), 1); }, &back);
      *own = solve_here(p, seconds);
    } else {
      own->trouble = "the solver gave up (GLPK found a fault, or had no memory)";
    }
    glp_error_hook(nullptr, nullptr);
    if (glp_config("TLS")) glp_free_env();
    out = std::move(*own);
  }).join();
  return out;
}

}  // namespace bound

#else

namespace bound {

Solution solve(const Program &, double) {
  Solution out;
  out.trouble = "built without GLPK, which solves it (Debian: libglpk-dev); the settings bound.lp and bound.mps write it for others";
  return out;
}

}  // namespace bound
#endif

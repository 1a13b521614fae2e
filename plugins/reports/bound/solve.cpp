// solve.cpp — solves a program with GLPK, if built with it.
#include "program.hpp"

#if __has_include(<glpk.h>) && !defined(BOUND_WITHOUT_GLPK)
#include <glpk.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <csetjmp>
#include <new>
#include <thread>

namespace bound {
namespace {

// Resources that a longjmp out of GLPK must not leak: functions that call GLPK own nothing to destroy.
struct Work {
  const Program &p;
  const int limit;                   // ms
  Solution out;
  std::vector<int> at;
  std::vector<double> value;
  int failed = 0;                    // GLPK's error number
};

void load(Work &w, glp_prob *lp) {
  const Program &p = w.p;
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
  for (size_t r = 0; r < p.rows.size(); ++r) {
    const Program::Row &row = p.rows[r];
    w.at.assign(1, 0);
    w.value.assign(1, 0);
    for (const Program::Term &t : row.terms) {
      w.at.push_back(static_cast<int>(t.column) + 1);
      w.value.push_back(t.factor);
    }
    const int i = static_cast<int>(r) + 1;
    glp_set_mat_row(lp, i, static_cast<int>(row.terms.size()), w.at.data(), w.value.data());
    glp_set_row_bnds(lp, i, row.sense == Program::Row::kLess   ? GLP_UP
                            : row.sense == Program::Row::kMore ? GLP_LO
                                                               : GLP_FX,
                     row.right, row.right);
  }
}

void run(Work &w) {
  Solution &out = w.out;
  glp_prob *const lp = glp_create_prob();  // freed with the thread's environment
  load(w, lp);
    // Costs are not negative, so the first basis is dual feasible: if the dual simplex is stopped, its value is a
    // lower bound.
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.meth = GLP_DUAL;
  how.tm_lim = w.limit;
  const int ended = glp_simplex(lp, &how);
  if (ended != 0 && ended != GLP_ETMLIM) return void(w.failed = ended);
  if (ended == 0 && glp_get_status(lp) != GLP_OPT) return void(w.failed = GLP_ENOPFS);
  if (glp_get_dual_stat(lp) == GLP_FEAS) out.least = std::max(0.0, glp_get_obj_val(lp));
  out.exact = ended == 0;
  const bool whole = std::any_of(w.p.columns.begin(), w.p.columns.end(), [](const auto &c) { return c.whole; });
  if (out.exact && whole) {
    glp_iocp ways;
    glp_init_iocp(&ways);
    ways.msg_lev = GLP_MSG_OFF;
    ways.tm_lim = w.limit;
    ways.cb_info = &out.least;
    ways.cb_func = [](glp_tree *tree, void *least) {  // the best open node is a lower bound of integer solutions
      if (const int node = glp_ios_best_node(tree)) {
        const double x = glp_ios_node_bound(tree, node);
        if (std::isfinite(x) && x > *static_cast<double *>(least) && x < 1e300) *static_cast<double *>(least) = x;
      }
    };
    out.exact = glp_intopt(lp, &ways) == 0 && glp_mip_status(lp) == GLP_OPT;
    if (out.exact) out.least = glp_mip_obj_val(lp);
  }
  for (int c = 1; out.exact && c <= static_cast<int>(w.p.columns.size()); ++c)
    out.values.push_back(whole ? glp_mip_col_val(lp, c) : glp_get_col_prim(lp, c));
}

}  // namespace

// GLPK keeps its state per thread, and terminates the program on an internal error. So it runs on its own thread, whose
// state is freed in any case, and returns from an error by a jump, as its manual describes.
Solution solve(const Program &p, double seconds) {
  Work w{p, static_cast<int>(std::clamp(seconds * 1e3, 1.0, static_cast<double>(INT_MAX))), {}, {}, {}};
  for (const Program::Row &r : p.rows)
    for (const Program::Term &t : r.terms)
      if (!std::isfinite(t.factor)) return w.out.trouble = "a time or a size is not a number: row " + r.name, w.out;
  bool whole = false;
  std::thread([&w, &whole] {
    std::jmp_buf back;
    if (setjmp(back) == 0) {
      glp_term_out(GLP_OFF);
      glp_error_hook([](void *to) { std::longjmp(*static_cast<std::jmp_buf *>(to), 1); }, &back);
      try {
        run(w);
        whole = true;
      } catch (const std::bad_alloc &) {  // outside GLPK
      }
    }
    glp_error_hook(nullptr, nullptr);
    if (glp_config("TLS")) glp_free_env();
  }).join();
  if (!whole) w.out.trouble = "the solver failed (GLPK had an internal error, or no memory)";
  else if (w.failed == GLP_ENOPFS) w.out.trouble = "the program has no solution: a task cannot run on any unit";
  else if (w.failed) w.out.trouble = "the solver failed (GLPK " + std::to_string(w.failed) + ")";
  return std::move(w.out);
}

}  // namespace bound

#else

namespace bound {

Solution solve(const Program &, double) {
  Solution out;
  out.trouble = "built without GLPK (Debian: libglpk-dev), so the program is not solved; the settings bound.lp and bound.mps write it for other solvers";
  return out;
}

}  // namespace bound
#endif

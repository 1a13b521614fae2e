// Plain loops of linear algebra, column-major. Nothing here is fast: matrices of tests are small.
#pragma once
#include <cmath>
#include <cstdint>

#include "blas.hpp"

namespace gpu {

template <class T>
struct Matrix {  // op(A): transposed, where it says so
  T *at;
  int64_t ld;
  bool transposed = false;
  T &operator()(int64_t row, int64_t col) const { return transposed ? at[row * ld + col] : at[col * ld + row]; }
};

// C := alpha A B + beta C, of C's m rows and n columns, or of one triangle of them. With beta = 0 C is not read.
template <class T, class Wanted>
void product(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, int64_t m, int64_t n, int64_t k, T alpha, T beta,
             Wanted wanted) {
  for (int64_t col = 0; col < n; ++col) {
    for (int64_t row = 0; row < m; ++row) {
      if (!wanted(row, col)) {
        continue;
      }
      T sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        sum += a(row, i) * b(i, col);
      }
      c(row, col) = alpha * sum + (beta == T(0) ? T(0) : beta * c(row, col));
    }
  }
}

// X with A X = alpha B, in B's place; A is a triangle of n, B has n rows and m columns.
template <class T>
void solve(Matrix<const T> a, bool lower, bool unit, Matrix<T> b, int64_t n, int64_t m, T alpha) {
  for (int64_t col = 0; col < m; ++col) {
    for (int64_t step = 0; step < n; ++step) {
      int64_t row = lower ? step : n - 1 - step;
      T sum = alpha * b(row, col);
      for (int64_t i = lower ? 0 : row + 1; i < (lower ? row : n); ++i) {
        sum -= a(row, i) * b(i, col);
      }
      b(row, col) = unit ? sum : sum / a(row, row);
    }
  }
}

// L with L Lt = A in A's lower triangle. 0, or the order of the first minor that is not positive definite.
template <class T>
int factorise(Matrix<T> a, int64_t n) {
  for (int64_t col = 0; col < n; ++col) {
    for (int64_t row = col; row < n; ++row) {
      T sum = a(row, col);
      for (int64_t i = 0; i < col; ++i) {
        sum -= a(row, i) * a(col, i);
      }
      if (row == col && !(sum > T(0))) {
        return static_cast<int>(col) + 1;
      }
      a(row, col) = row == col ? std::sqrt(sum) : sum / a(col, col);
    }
  }
  return 0;
}

// The calls of BLAS and LAPACK, for fronts.
template <class T>
void gemm(Call &c, const LibraryHandle &h, const char *name, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
          const T *alpha, const T *a, int64_t lda, const T *b, int64_t ldb, const T *beta, T *to, int64_t ldc) {
  T scale = *need(alpha), keep = *need(beta);
  enqueue(c, h, name,
          {{a, ta ? k : m, ta ? m : k, lda, sizeof(T), false}, {b, tb ? n : k, tb ? k : n, ldb, sizeof(T), false},
           {to, m, n, ldc, sizeof(T), true}},
          [=] {
            product<T>({a, lda, ta}, {b, ldb, tb}, {to, ldc}, m, n, k, scale, keep, [](int64_t, int64_t) { return true; });
          });
}

template <class T>
void syrk(Call &c, const LibraryHandle &h, const char *name, Triangle triangle, bool t, int64_t n, int64_t k,
          const T *alpha, const T *a, int64_t lda, const T *beta, T *to, int64_t ldc) {
  T scale = *need(alpha), keep = *need(beta);
  enqueue(c, h, name, {{a, t ? k : n, t ? n : k, lda, sizeof(T), false}, {to, n, n, ldc, sizeof(T), true}}, [=] {
    product<T>({a, lda, t}, {a, lda, !t}, {to, ldc}, n, n, k, scale, keep, [=](int64_t row, int64_t col) {
      return triangle == Triangle::lower ? row >= col : row <= col;
    });
  });
}

template <class T>
void trsm(Call &c, const LibraryHandle &h, const char *name, bool right, Triangle triangle, bool t, bool unit, int64_t m,
          int64_t n, const T *alpha, const T *a, int64_t lda, T *b, int64_t ldb) {
  T scale = *need(alpha);
  int64_t order = right ? n : m;
  enqueue(c, h, name, {{a, order, order, lda, sizeof(T), false}, {b, m, n, ldb, sizeof(T), true}}, [=] {
    bool across = right ? !t : t;  // X A = B is At Xt = Bt
    bool lower = (triangle == Triangle::lower) != across;
    solve<T>({a, lda, across}, lower, unit, {b, ldb, right}, order, right ? m : n, scale);
  });
}

template <class T>
void potrf(Call &c, const LibraryHandle &h, const char *name, Triangle triangle, int64_t n, T *a, int64_t lda, T *work,
           int64_t room, int *info) {
  enqueue(c, h, name,
          {{a, n, n, lda, sizeof(T), true}, {work, room, 1, room, sizeof(T), true}, {info, 1, 1, 1, sizeof(int), true}},
          [=] { *info = factorise<T>({a, lda, triangle == Triangle::upper}, n); });
}

}  // namespace gpu

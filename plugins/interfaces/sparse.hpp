// sparse.hpp — the mapping of each sparse layout of consort/sparse.h: sizes of its arrays, valid shapes,
// and the partition into bands of rows.
//
// Compile-time tables and conversions between plain structs: [pure], any thread. Only sound() accesses contents, and
// only packed ones. Every size in bytes, of one array and of all of them, is below 2^63.
#pragma once
#include <consort/sparse.h>

#include "arrays.hpp"
#include "filters.hpp"

namespace layouts {

// Whether `n` fits an index of this many bytes.
inline bool fits(uint64_t n, uint64_t index) { return index == 4 ? n <= UINT32_MAX : index == 8 && n <= INT64_MAX; }
inline uint64_t index_bytes(uint64_t asked) { return asked ? asked : 4; }

// Compressed rows: csr, and bcsr, whose entries are blocks. Fields has the
// structs, entry(t): bytes of an entry, good_entry(shape, &bytes): the same with an overflow check, and its text.
template <class Fields>
struct Compressed : Fields {
  using Args = typename Fields::Args;
  using Shape = typename Fields::Shape;
  using View = typename Fields::View;

  static uint64_t starts(uint64_t rows) { return rows ? rows + 1 : 0; }
  static bool good(const Shape &s) {
    uint64_t entry, end, value, column, start, all;
    if (!Fields::good_entry(s, &entry) || !plus(s.first, s.nnz, &end) || !fits(end, s.index) || !fits(s.cols, s.index)) return false;
    if (s.rows >= INT64_MAX || (s.nnz && !(s.rows && s.cols))) return false;
    return times(s.nnz, entry, &value) && times(s.nnz, s.index, &column) && times(starts(s.rows), s.index, &start) &&
           plus(value, column, &all) && plus(all, start, &all);
  }
  static void sizes(const Shape &s, uint64_t *out) {
    out[0] = s.nnz * Fields::entry(s);
    out[1] = s.nnz * s.index;
    out[2] = starts(s.rows) * s.index;
  }
  static void held(const View &v, uint64_t *out) {
    out[0] = v.nnz * Fields::entry(v);
    out[1] = v.nnz * v.index;
    out[2] = (v.flags & CONSORT_SPARSE_BORROWED_END ? v.rows : starts(v.rows)) * v.index;
  }
  // Bands of equal sizes are of one class, whatever their `first`.
  static Shape size_class(Shape s) {
    s.first = 0;
    return s;
  }
  // Row pointers that decrease or exceed the entries would make a kernel read out of bounds.
  static bool sound(const Shape &s, const char *packed) {
    uint64_t size[3], last = s.first;
    sizes(s, size);
    const char *start = packed + size[0] + size[1];
    for (uint64_t r = 0; r < starts(s.rows); ++r) {
      const uint64_t at = s.index == 8 ? load<uint64_t>(start, r * 8) : load<uint32_t>(start, r * 4);
      if (at < last || at > s.first + s.nnz) return false;
      last = at;
    }
    return true;
  }
};

struct CsrFields {
  using Args = consort_csr_args;
  using Shape = consort_csr_shape;
  using View = consort_csr_view;
  static constexpr char name[] = "csr", tag[] = "CSR1";
  template <class T> static uint64_t entry(const T &t) { return t.elem; }
  static bool good_entry(const Shape &s, uint64_t *bytes) { return (*bytes = s.elem) > 0; }
  static Shape read(const Args &a) { return {a.rows, a.cols, a.nnz, a.first, a.elem, index_bytes(a.index)}; }
  static View view(const Shape &s) {
    return {{0, 0}, {0, 0}, {0, 0}, s.rows, s.cols, s.nnz, s.first, s.elem, static_cast<uint32_t>(s.index), 0};
  }
  static uint32_t scalars(const View &v, uint64_t *out) {
    return out[0] = v.rows, out[1] = v.cols, out[2] = v.nnz, out[3] = v.first, 4;
  }
  static void describe(const Shape &s, Text &text) {
    text << name << " of " << s.rows << " x " << s.cols << ", " << s.nnz << " x " << s.elem << " B";
  }
};
struct BcsrFields {
  using Args = consort_bcsr_args;
  using Shape = consort_bcsr_shape;
  using View = consort_bcsr_view;
  static constexpr char name[] = "bcsr", tag[] = "BCS1";
  template <class T> static uint64_t entry(const T &t) { return t.r * t.c * t.elem; }
  static bool good_entry(const Shape &s, uint64_t *bytes) {
    return s.r && s.c && s.elem && times(s.r, s.c, bytes) && times(*bytes, s.elem, bytes);
  }
  static Shape read(const Args &a) { return {a.rows, a.cols, a.nnz, a.first, a.r, a.c, a.elem, index_bytes(a.index)}; }
  static View view(const Shape &s) {
    return {{0, 0}, {0, 0}, {0, 0}, s.rows, s.cols, s.nnz, s.first, s.r, s.c, s.elem, static_cast<uint32_t>(s.index), 0};
  }
  static uint32_t scalars(const View &v, uint64_t *out) {
    return out[0] = v.rows, out[1] = v.cols, out[2] = v.nnz, out[3] = v.first, out[4] = v.r, out[5] = v.c, 6;
  }
  static void describe(const Shape &s, Text &text) {
    text << name << " of " << s.rows << " x " << s.cols << " blocks of " << s.r << " x " << s.c << ", " << s.nnz << " x "
         << entry(s) << " B";
  }
};
using Csr = Compressed<CsrFields>;
using Bcsr = Compressed<BcsrFields>;

// Entries in any order, each with its row and its column.
struct Coo {
  using Args = consort_coo_args;
  using Shape = consort_coo_shape;
  using View = consort_coo_view;
  static constexpr char name[] = "coo", tag[] = "COO1";

  static bool good(const Shape &s) {
    uint64_t value, index, all;
    if (!s.elem || !fits(s.rows, s.index) || !fits(s.cols, s.index) || (s.nnz && !(s.rows && s.cols))) return false;
    return times(s.nnz, s.elem, &value) && times(s.nnz, 2 * s.index, &index) && plus(value, index, &all);
  }
  template <class T>
  static void three(const T &t, uint64_t *out) {
    out[0] = t.nnz * t.elem;
    out[1] = out[2] = t.nnz * t.index;
  }
  static void sizes(const Shape &s, uint64_t *out) { three(s, out); }
  static void held(const View &v, uint64_t *out) { three(v, out); }
  static Shape size_class(const Shape &s) { return s; }
  static bool sound(const Shape &, const char *) { return true; }
  static Shape read(const Args &a) { return {a.rows, a.cols, a.nnz, a.elem, index_bytes(a.index)}; }
  static View view(const Shape &s) {
    return {{0, 0}, {0, 0}, {0, 0}, s.rows, s.cols, s.nnz, s.elem, static_cast<uint32_t>(s.index), 0};
  }
  static uint32_t scalars(const View &v, uint64_t *out) { return out[0] = v.rows, out[1] = v.cols, out[2] = v.nnz, 3; }
  static void describe(const Shape &s, Text &text) {
    text << name << " of " << s.rows << " x " << s.cols << ", " << s.nnz << " x " << s.elem << " B";
  }
};

// Bands of rows of a Compressed layout. Params: CONSORT_ROWS. A band uses the whole's pointers. The pointer at the end of its last
// row is the next band's first, so it is borrowed, except in the last band with rows.
template <class L>
struct Bands {
  using Shape = typename L::Shape;
  using View = typename L::View;
  static constexpr uint32_t params = 2 * sizeof(uint32_t);
  struct Cut {
    consort_row_end begin, end;
  };

  static uint32_t parts(const void *p) {
    const uint32_t numbers = p ? load<uint32_t>(p) : 0;
    return numbers % 2 ? 0 : numbers / 2;
  }
  template <class T>
  static bool cut(const T &whole, const void *p, uint32_t i, Cut *out) {
    const auto end = [&](uint32_t k) { return load<consort_row_end>(p, params + uint64_t{k} * sizeof(consort_row_end)); };
    const consort_row_end last = {whole.rows, whole.first + whole.nnz};
    out->begin = i ? end(i - 1) : consort_row_end{0, whole.first};
    out->end = end(i);
    const auto &[b, e] = *out;
    if (b.row > e.row || b.start > e.start || b.start < whole.first || e.row > last.row || e.start > last.start) return false;
    if (e.row == b.row && e.start != b.start) return false;                      // entries without a row
    return (e.row < last.row || e.start == last.start) && (b.row > 0 || b.start == whole.first);
  }
  static uint32_t count(const void *shape, const void *p) {
    const auto &s = *static_cast<const Shape *>(shape);
    const uint32_t n = parts(p);
    Cut c = {};
    for (uint32_t i = 0; i < n; ++i)
      if (!cut(s, p, i, &c)) return 0;
    return n && c.end.row == s.rows && c.end.start == s.first + s.nnz ? n : 0;
  }
  static consort_status shape(const void *shape, const void *p, uint32_t i, void *child) {
    Shape s = *static_cast<const Shape *>(shape);
    Cut c;
    if (i >= parts(p) || !cut(s, p, i, &c)) return CONSORT_E_INVAL;
    s.rows = c.end.row - c.begin.row;
    s.nnz = c.end.start - c.begin.start;
    s.first = c.begin.start;
    *static_cast<Shape *>(child) = s;
    return CONSORT_OK;
  }
  static consort_status alias(const void *, const void *view, const void *p, uint32_t i, void *child) {
    const auto &whole = *static_cast<const View *>(view);
    Cut c;
    if (i >= parts(p) || !cut(whole, p, i, &c)) return CONSORT_E_INVAL;
    View v = whole;
    v.rows = c.end.row - c.begin.row;
    v.nnz = c.end.start - c.begin.start;
    v.first = c.begin.start;
    if (c.end.row < whole.rows) v.flags |= CONSORT_SPARSE_BORROWED_END;
    const uint64_t skip = c.begin.start - whole.first;
    v.value.off += skip * L::entry(whole);
    v.column.off += skip * whole.index;
    v.start.off += c.begin.row * whole.index;
    *static_cast<View *>(child) = v;
    return CONSORT_OK;
  }
};
template <class L>
constexpr consort_filter bands(const char *name) {
  using B = Bands<L>;
  return {name, nullptr, B::params, CONSORT_FI_COVER | CONSORT_FI_LIST, B::count, B::shape, B::alias};
}

// Entries [begin, end) of a coo, by a rule of filters.hpp for a row of nnz elements.
template <class Rule>
struct Entries {
  static bool cut(uint64_t nnz, const void *p, uint32_t i, Box *b, uint64_t *offset) {
    *b = row(nnz);
    *offset = 0;
    return p && i < Rule::parts(*b, p, false) && Rule::cut(*b, p, i, offset);
  }
  static uint32_t count(const void *shape, const void *p) {
    if (!p) return 0;
    const Box b = row(static_cast<const consort_coo_shape *>(shape)->nnz);
    const uint32_t n = Rule::parts(b, p, false);
    return n && Rule::whole(b, p) ? n : 0;
  }
  static consort_status shape(const void *shape, const void *p, uint32_t i, void *child) {
    auto s = *static_cast<const consort_coo_shape *>(shape);
    Box b;
    uint64_t offset;
    if (!cut(s.nnz, p, i, &b, &offset)) return CONSORT_E_INVAL;
    s.nnz = b.n[0];
    *static_cast<consort_coo_shape *>(child) = s;
    return CONSORT_OK;
  }
  static consort_status alias(const void *, const void *view, const void *p, uint32_t i, void *child) {
    auto v = *static_cast<const consort_coo_view *>(view);
    Box b;
    uint64_t offset;
    if (!cut(v.nnz, p, i, &b, &offset)) return CONSORT_E_INVAL;
    v.nnz = b.n[0];
    v.value.off += offset * v.elem;
    v.column.off += offset * v.index;
    v.row.off += offset * v.index;
    *static_cast<consort_coo_view *>(child) = v;
    return CONSORT_OK;
  }

 private:
  static Box row(uint64_t nnz) {
    Box b = {};
    b.dims = 1;
    b.elem = 1;
    b.n[0] = nnz;
    b.step[0] = 1;
    return b;
  }
};
template <class Rule>
constexpr consort_filter entries(const char *name, uint32_t flags = CONSORT_FI_COVER) {
  using E = Entries<Rule>;
  return {name, nullptr, Rule::params, flags, E::count, E::shape, E::alias};
}

}  // namespace layouts

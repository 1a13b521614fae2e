// sparse_model.hpp — the meaning of sparse layouts, written down a second time and independently. It has random arrays
// by name, each at some place in one piece of memory with foreign bytes between them.
#pragma once
#include <consort/sparse.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "interfaces/layout_harness.hpp"

namespace consort_test {

struct Sparse {
  std::string layout;
  uint64_t rows, cols, nnz, first = 0, r = 1, c = 1, elem, index;
  std::vector<uint64_t> start, row, column;  // numbers as they are written down; start or row, as the layout has it
  std::vector<unsigned char> memory;         // where the arrays lie, noise between them
  uint64_t at[3] = {};                       // value, column, start or row; from the beginning of memory

  bool by_rows() const { return layout != "coo"; }
  uint64_t entry() const { return r * c * elem; }
  uint64_t third() const { return by_rows() ? rows ? rows + 1 : 0 : nnz; }
  uint64_t bytes(int i) const { return i == 0 ? nnz * entry() : (i == 1 ? nnz : third()) * index; }
  uint64_t bytes() const { return bytes(0) + bytes(1) + bytes(2); }
  void *ptr(int i) { return bytes(i) ? memory.data() + at[i] : nullptr; }

  // How often each byte of memory is the datum's.
  std::vector<int> owned() const {
    std::vector<int> map(memory.size());
    for (int i = 0; i < 3; ++i)
      for (uint64_t k = 0; k < bytes(i); ++k) ++map.at(at[i] + k);
    return map;
  }
  std::vector<unsigned char> packed() const {
    std::vector<unsigned char> all;
    for (int i = 0; i < 3; ++i) all.insert(all.end(), memory.begin() + long(at[i]), memory.begin() + long(at[i] + bytes(i)));
    return all;
  }
};

inline consort_status make(const LayoutHarness &h, Sparse &s, Pod &shape, Pod &view, bool home = true) {
  void *p[3];
  for (int i = 0; i < 3; ++i) p[i] = home ? s.ptr(i) : nullptr;
  if (s.layout == "csr") return h.make(consort_csr_args{p[0], p[1], p[2], s.rows, s.cols, s.nnz, s.first, s.elem, s.index}, shape, view);
  if (s.layout == "bcsr")
    return h.make(consort_bcsr_args{p[0], p[1], p[2], s.rows, s.cols, s.nnz, s.first, s.r, s.c, s.elem, s.index}, shape, view);
  return h.make(consort_coo_args{p[0], p[1], p[2], s.rows, s.cols, s.nnz, s.elem, s.index}, shape, view);
}

// Small enough to look at each byte; some without rows, some rows without entries.
inline Sparse some_sparse(const std::string &layout, std::mt19937_64 &random) {
  const auto upto = [&](uint64_t n) { return random() % (n + 1); };
  Sparse s{.layout = layout, .rows = upto(9), .cols = 1 + upto(20), .nnz = 0, .elem = 1 + upto(8), .index = upto(1) ? 4u : 8u,
           .start = {}, .row = {}, .column = {}, .memory = {}};
  if (layout == "bcsr") s.r = 1 + upto(3), s.c = 1 + upto(3);
  if (s.by_rows() && upto(1)) s.first = upto(7);
  if (s.rows) s.start.push_back(s.first);
  for (uint64_t r = 0; r < s.rows; ++r) {
    for (uint64_t k = upto(2) ? upto(5) : 0; k-- > 0; ++s.nnz) s.row.push_back(r), s.column.push_back(upto(s.cols - 1));
    s.start.push_back(s.first + s.nnz);
  }
  uint64_t order[3] = {0, 1, 2}, end = upto(3);
  std::shuffle(order, order + 3, random);
  for (uint64_t i : order) {  // indices where they may be loaded
    s.at[i] = (end + 7) / 8 * 8;
    end = s.at[i] + s.bytes(int(i)) + upto(9);
  }
  s.memory.resize(end + 1);
  for (auto &b : s.memory) b = static_cast<unsigned char>(random());
  const auto put = [&](int array, const std::vector<uint64_t> &numbers) {
    for (uint64_t k = 0; k < numbers.size(); ++k) std::memcpy(&s.memory[s.at[array] + k * s.index], &numbers[k], s.index);
  };
  put(1, s.column);
  put(2, s.by_rows() ? s.start : s.row);
  return s;
}

// The common fields of views of csr and bcsr, and of coo where it has them.
struct Fields {
  consort_addr at[3];
  uint64_t rows, cols, nnz, first = 0, entry, index, flags = 0;
};
inline Fields read_sparse(const std::string &layout, const Pod &view) {
  const void *p = view;
  if (layout == "csr") {
    const auto &v = *static_cast<const consort_csr_view *>(p);
    return {{v.value, v.column, v.start}, v.rows, v.cols, v.nnz, v.first, v.elem, v.index, v.flags};
  }
  if (layout == "bcsr") {
    const auto &v = *static_cast<const consort_bcsr_view *>(p);
    return {{v.value, v.column, v.start}, v.rows, v.cols, v.nnz, v.first, v.r * v.c * v.elem, v.index, v.flags};
  }
  const auto &v = *static_cast<const consort_coo_view *>(p);
  return {{v.value, v.column, v.row}, v.rows, v.cols, v.nnz, 0, v.elem, v.index, v.flags};
}

// Random bands of rows, as parameters of "rows": their ends, and the row pointers there.
inline std::vector<consort_row_end> some_bands(const Sparse &s, std::mt19937_64 &random) {
  std::vector<uint64_t> ends(random() % 5);
  for (auto &e : ends) e = random() % (s.rows + 1);
  ends.push_back(s.rows);
  std::sort(ends.begin(), ends.end());
  std::vector<consort_row_end> out;
  for (uint64_t e : ends) out.push_back({e, s.rows ? s.start[e] : s.first});
  return out;
}
inline std::vector<uint32_t> band_params(const std::vector<consort_row_end> &ends) {
  std::vector<uint32_t> p(2 + 4 * ends.size());
  p[0] = uint32_t(2 * ends.size());
  std::memcpy(p.data() + 2, ends.data(), ends.size() * sizeof(consort_row_end));
  return p;
}

}  // namespace consort_test

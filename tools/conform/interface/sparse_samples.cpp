// Random data of the sparse layouts, and samples provided by the plugin.
#include <consort/samples.h>
#include <consort/sparse.h>

#include <algorithm>
#include <cstring>

#include "sample.hpp"

namespace conform {
namespace {

struct Matrix {
  uint64_t rows, cols, nnz = 0, first = 0, r = 1, c = 1, elem, index;
  std::vector<uint64_t> start, row, column;
};

class Sparse final : public Sampler {
 public:
  Sparse(const std::string &name, const consort_interface_ops &ops, uint64_t seed, uint32_t samples)
      : name_(name), ops_(ops), seed_(seed), samples_(samples) {}

  bool args(uint32_t i, Arena *home, Blob *out) override {
    if (i >= samples_) return false;
    const Matrix m = matrix(i);
    const std::vector<uint64_t> &third = name_ == "coo" ? m.row : m.start;
    const uint64_t bytes[3] = {m.nnz * m.r * m.c * m.elem, m.nnz * m.index, third.size() * m.index};
    void *at[3] = {};
    uint64_t end = 0;
    for (uint32_t k = 0; home && k < 3; ++k) {  // in varying order, with other bytes between them
      const uint32_t which = (k + i) % 3;
      at[which] = bytes[which] ? home->data() + end : nullptr;
      end += (bytes[which] + 7) / 8 * 8 + i % 4 * 8;
    }
    const auto put = [&](void *array, const std::vector<uint64_t> &numbers) {
      for (size_t k = 0; array && k < numbers.size(); ++k)
        std::memcpy(static_cast<char *>(array) + k * m.index, &numbers[k], m.index);  // little-endian hosts alone
    };
    put(at[1], m.column);
    put(at[2], third);
    if (name_ == "csr") {
      const consort_csr_args a{at[0], at[1], at[2], m.rows, m.cols, m.nnz, m.first, m.elem, m.index};
      *out = {&a, sizeof a};
    } else if (name_ == "bcsr") {
      const consort_bcsr_args a{at[0], at[1], at[2], m.rows, m.cols, m.nnz, m.first, m.r, m.c, m.elem, m.index};
      *out = {&a, sizeof a};
    } else {
      const consort_coo_args a{at[0], at[1], at[2], m.rows, m.cols, m.nnz, m.elem, m.index};
      *out = {&a, sizeof a};
    }
    return true;
  }

  std::vector<Blob> params(uint32_t i, uint32_t filter) override {
    const Matrix m = matrix(i);
    Random random(seed_ ^ (i * 64 + filter + 1) * 0x9e3779b97f4a7c15u);
    const std::string f = ops_.filters[filter].name;
    const auto parts = static_cast<uint32_t>(1 + random.below(5));
    std::vector<uint64_t> words;
    if (f == "rows") {
      std::vector<uint64_t> ends{m.rows};
      while (ends.size() < parts) ends.push_back(random.below(m.rows + 1));
      std::sort(ends.begin(), ends.end());
      words.push_back(2 * parts);
      for (uint64_t e : ends) words.push_back(e), words.push_back(m.rows ? m.start[e] : m.first);
    } else {
      words.push_back(parts);
      uint64_t rest = m.nnz;
      for (uint32_t k = 0; f == "list" && k < parts; ++k) rest -= words.emplace_back(k + 1 < parts ? random.below(rest + 1) : rest);
    }
    return {Blob(words.data(), words.size() * 8)};
  }

 private:
  Matrix matrix(uint32_t i) const {
    Random random(seed_ + i * 0xd1342543de82ef95u);
    Matrix m{random.below(10), 1 + random.below(20), 0, 0, 1, 1, 1 + random.below(8), random.one_in(2) ? 4u : 8u, {}, {}, {}};
    if (name_ == "bcsr") m.r = 1 + random.below(3), m.c = 1 + random.below(3);
    if (name_ != "coo") m.first = random.below(7);
    if (m.rows) m.start.push_back(m.first);
    for (uint64_t r = 0; r < m.rows; ++r) {
      for (uint64_t k = random.below(6); k-- > 0; ++m.nnz) m.row.push_back(r), m.column.push_back(random.below(m.cols));
      m.start.push_back(m.first + m.nnz);
    }
    return m;
  }

  std::string name_;
  const consort_interface_ops &ops_;
  uint64_t seed_;
  uint32_t samples_;
};

class Own final : public Sampler {
 public:
  Own(const consort_samples &table, void *self) : table_(table), self_(self) {}

  bool args(uint32_t i, Arena *home, Blob *out) override {
    uint64_t room[128];
    const uint64_t n = table_.args(self_, i, home ? home->data() : nullptr, home ? home->size() : 0, room, sizeof room);
    if (n == 0 || n > sizeof room) return false;
    *out = {room, static_cast<size_t>(n)};
    return true;
  }
  std::vector<Blob> params(uint32_t i, uint32_t filter) override {
    std::vector<Blob> all;
    uint64_t room[512];
    for (uint32_t k = 0; table_.params && k < 16; ++k) {
      const uint64_t n = table_.params(self_, i, filter, k, room, sizeof room);
      if (n == 0 || n > sizeof room) break;
      all.emplace_back(room, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  consort_samples table_;
  void *self_;
};

}  // namespace

std::unique_ptr<Sampler> sparse_sampler(const std::string &name, const consort_interface_ops &ops, uint64_t seed, uint32_t samples) {
  for (const char *known : {"csr", "bcsr", "coo"})
    if (name == known) return std::make_unique<Sparse>(name, ops, seed, samples);
  return nullptr;
}

std::unique_ptr<Sampler> own_sampler(const consort_plugin &plugin, void *self) {
  const auto *theirs = static_cast<const consort_samples *>(plugin.get(self, CONSORT_SAMPLES_ID));
  if (!theirs || !CONSORT_HAS_FN(theirs, consort_samples, args)) return nullptr;
  consort_samples mine = {};
  std::memcpy(static_cast<void *>(&mine), theirs, std::min<size_t>(theirs->size, sizeof mine));
  return std::make_unique<Own>(mine, self);
}

}  // namespace conform

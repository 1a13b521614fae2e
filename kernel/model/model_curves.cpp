#include "model/model_curves.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace consort {
namespace {

constexpr uint32_t kASize = 16;      // weight of a new size, relative to one more measurement of a known size
constexpr int kLooks = 8;

}  // namespace

CurveShape ModelCurves::shape_of(const consort_model &d) noexcept {
  CurveShape s;
  if (!is_kind(d.kind)) return s;
  s.kind = d.kind == CONSORT_MODEL_POWER          ? CurveShape::Kind::kPower
           : d.kind == CONSORT_MODEL_POWER_OFFSET ? CurveShape::Kind::kPowerOffset
                                                  : CurveShape::Kind::kTerms;
  s.measures = std::max(1u, d.nmeasures);
  if (d.kind != CONSORT_MODEL_TERMS) return s;
  s.terms = d.nterms;
  for (uint32_t t = 0; t < s.terms; ++t) std::copy_n(d.exponents + size_t{t} * s.measures, s.measures, s.exponents[t]);
  return s;
}

ModelCurves::ModelCurves(const consort_model &d, size_t places) : shape_(shape_of(d)) {
  if (any()) slots_ = std::make_unique<Slot[]>(places);
}

bool ModelCurves::is(const consort_model &d) const noexcept {
  const CurveShape s = shape_of(d);
  return s.kind == shape_.kind && s.measures == shape_.measures && s.terms == shape_.terms &&
         std::memcmp(s.exponents, shape_.exponents, sizeof s.exponents) == 0;
}

Regression ModelCurves::curve(size_t place) const noexcept {
  static_assert(sizeof(Regression) == kWords * sizeof(double));
  struct Words { double w[kWords]; } words;
  const Slot &s = slots_[place];
  for (int i = 0; i < kLooks; ++i) {
    const uint32_t turn = s.turn.load(std::memory_order_acquire);  // pairs with the last store in put()
    if (turn & 1) continue;
    for (size_t w = 0; w < kWords; ++w) words.w[w] = s.words[w].load(std::memory_order_acquire);
    if (s.turn.load(std::memory_order_relaxed) == turn) return std::bit_cast<Regression>(words);
  }
  return {};
}

void ModelCurves::put(size_t place, const Regression &c) noexcept {
  struct Words { double w[kWords]; };
  const Words words = std::bit_cast<Words>(c);
  Slot &s = slots_[place];
  const uint32_t turn = s.turn.load(std::memory_order_relaxed);
  s.turn.store(turn + 1, std::memory_order_relaxed);
  for (size_t w = 0; w < kWords; ++w) s.words[w].store(words.w[w], std::memory_order_release);
  s.turn.store(turn + 2, std::memory_order_release);
  s.news.store(0, std::memory_order_relaxed);
}

bool ModelCurves::learned(size_t place, bool at_last) noexcept {
  Slot &s = slots_[place];
  const auto points = static_cast<uint32_t>(curve(place).points);
  const uint32_t more = at_last ? kASize : 1;
  return s.news.fetch_add(more, std::memory_order_relaxed) + more >= std::max(kASize, 2 * points);
}

}  // namespace consort

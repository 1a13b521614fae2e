// functions.hpp — codelets of the tests of values: a sum, a text, an addition, and one that fails.
#pragma once
#include <consort/consort.hpp>

#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/harness.hpp"

struct FaceOfValues : ::testing::Test {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  std::vector<int> v = std::vector<int>(100, 2);
};

inline const consort::Codelet total{
    "total", consort::cpu(consort::returning([](std::span<const int> x) { return std::accumulate(x.begin(), x.end(), 0L); }))};
inline const consort::Codelet text{"text", consort::cpu(consort::returning([](int n) {
                                     if (n < 0) throw std::domain_error("a negative number");
                                     return std::string(static_cast<size_t>(n), 'x');
                                   }))};
inline const consort::Codelet add{"add", consort::cpu([](std::span<int> x, int a) { for (int &e : x) e += a; })};
inline const consort::Codelet fail{"fail", consort::cpu([](std::span<int>) { throw std::domain_error("no interval"); })};

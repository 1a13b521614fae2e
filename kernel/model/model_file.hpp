// model_file.hpp — the text that a model is kept in, from run to run: what it says, and how it is read.
//
// Pure; any thread. A file speaks of one model on one machine: its name, what it measures and its implementations stand
// in its head, and what was measured follows, by kind of unit.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace consort {

struct StoredCell {
  std::string klass, arch;            // of units
  uint32_t impl = 0;
  uint64_t footprint = 0, bytes = 0, count = 0, outliers = 0;
  std::vector<float> samples;         // the last of them, oldest first
  std::vector<double> at = {};        // what curves go by, where that is not the bytes
};

struct StoredModel {
  static constexpr uint32_t kBroughtImpls = 4;  // of a class
  struct Impl { std::string klass, name; };
  std::string machine, name;
  uint32_t what = 0;                  // CONSORT_MODEL_*
  std::vector<Impl> impls;
  std::vector<StoredCell> cells;

  std::string about() const;          // the head
  std::string body() const;
  Result<void> read_body(std::string_view);
  Result<size_t> read_about(std::string_view);  // how long it was
  std::string file_name() const;      // of the codelet's name, and a sum of the head

  // What somebody brought here instead of measuring it: its implementations stand for those of a class in their order,
  // its cells go by bytes alone, on any unit.
  static StoredModel brought(std::string machine, std::string name, uint32_t what);
  bool is_brought() const noexcept;

  static constexpr const char *kKind = "models";
  static constexpr int kVersion = 1;
  static constexpr const char *kRoom = "models";
};

}  // namespace consort

// model_file.hpp — the text format of a stored model, its writer and its parser.
//
// Pure; any thread. A file holds one model of one machine. The head lists its name, measures and implementations; the
// measurements follow, by kind of unit.
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
  std::vector<float> samples;         // the latest, oldest first
  std::vector<double> at = {};        // arguments of the curves, unless these are the bytes
};

struct StoredModel {
  static constexpr uint32_t kBroughtImpls = 4;  // of one class
  struct Impl { std::string klass, name; };
  std::string machine, name;
  uint32_t what = 0;                  // CONSORT_MODEL_*
  std::vector<Impl> impls;
  std::vector<StoredCell> cells;

  std::string about() const;          // the head
  std::string body() const;
  Result<void> read_body(std::string_view);
  Result<size_t> read_about(std::string_view);  // the length of the head
  std::string file_name() const;      // the codelet's name and a checksum of the head

  // A model imported from elsewhere instead of being measured. Its implementations stand for those of a class, in
  // order; its cells go by bytes alone, on any unit.
  static StoredModel brought(std::string machine, std::string name, uint32_t what);
  bool is_brought() const noexcept;

  static constexpr const char *kKind = "models";
  static constexpr int kVersion = 1;
  static constexpr const char *kRoom = "models";
};

}  // namespace consort

// sample.hpp — sample data of an interface: registration arguments and parameters of partitions. The kit provides them
// for known layouts, the plugin's own table (consort/samples.h) for others.
#pragma once
#include <consort/interface.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "conform/case.hpp"
#include "memory.hpp"

namespace conform {

// Bytes that may be read as any struct.
struct Blob {
  std::vector<uint64_t> words;
  size_t size = 0;
  Blob() = default;
  Blob(const void *from, size_t bytes) : words((bytes + 7) / 8), size(bytes) {
    if (bytes) std::memcpy(words.data(), from, bytes);
  }
  const void *data() const { return size ? words.data() : nullptr; }
};

struct Partition {
  uint32_t filter;
  Blob params;
};

struct Sample {
  uint32_t number;
  Blob args;
  std::vector<Partition> partitions;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // Fills the arguments of sample i with its home in the arena (or without a home); returns false if there are no more.
  // The same i yields the same datum with another home.
  virtual bool args(uint32_t i, Arena *, Blob *) = 0;
  virtual std::vector<Blob> params(uint32_t i, uint32_t filter) = 0;
};

constexpr size_t kHomeRoom = 16384;
constexpr uint32_t kMostSamples = 64;

// nullptr: the kit does not know the interface, and the plugin has no samples.
std::unique_ptr<Sampler> dense_sampler(const std::string &name, const consort_interface_ops &, uint64_t seed, uint32_t samples);
std::unique_ptr<Sampler> sparse_sampler(const std::string &name, const consort_interface_ops &, uint64_t seed, uint32_t samples);
std::unique_ptr<Sampler> own_sampler(const consort_plugin &, void *self);

}  // namespace conform

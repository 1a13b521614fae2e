// checkpoint_file.hpp — the bytes of a checkpoint: a manifest, and a part for each rank with the contents of its data.
//
//   part      head | contents | index of them | trail, which finds the index
//   manifest  the point that the application named, the parts, the place of each datum
//
// Numbers are in little endian on every machine. Contents are what pack() of their layout wrote, in the machine's order,
// which the files name. Each datum, index and manifest has a CRC-32C. The functions that read trust no field: bounds are
// checked before anything is allocated, and what is accepted has one form. Pure functions; any thread. They may throw
// bad_alloc.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace consort {

// Contents of one datum.
struct SavedDatum {
  uint64_t tag = 0, offset = 0, bytes = 0;  // offset: in the part of `rank`
  uint32_t rank = 0, sum = 0;
  std::string layout;                       // its interface: "matrix"
  bool operator==(const SavedDatum &) const = default;
};

struct PartHead {
  uint64_t job = 0, serial = 0;             // of the job and of its checkpoint
  uint32_t rank = 0;
  bool operator==(const PartHead &) const = default;
};

struct SavedPart {
  uint64_t bytes = 0;                       // of the file
  uint32_t sum = 0;                         // of its index
  bool operator==(const SavedPart &) const = default;
};

struct CheckpointManifest {
  uint64_t job = 0, serial = 0, number = 0;
  std::string name;
  std::vector<SavedPart> parts;             // by rank
  std::vector<SavedDatum> data;             // by tag, each once

  const SavedDatum *find(uint64_t tag) const noexcept;
  uint64_t bytes() const noexcept;          // of all contents
  bool operator==(const CheckpointManifest &) const = default;
};

inline constexpr size_t kPartHead = 40, kPartTrail = 24, kMostName = 255;
inline constexpr uint64_t kMostManifest = uint64_t{1} << 30;

std::string encode(const PartHead &);
std::string encode_index(const std::vector<SavedDatum> &);
std::string encode_trail(uint64_t index_at, std::string_view index);
std::string encode(const CheckpointManifest &);

// False: *why says in words what is wrong with the file.
bool decode(std::string_view head, PartHead *, std::string *why);
// file_bytes: of the whole part. Returns the place of the index.
bool decode_trail(std::string_view trail, uint64_t file_bytes, uint64_t *index_at, uint64_t *index_bytes, uint32_t *sum,
                  std::string *why);
// rank: of each; index_at: where the contents end.
bool decode_index(std::string_view index, uint32_t sum, uint64_t index_at, uint32_t rank, std::vector<SavedDatum> *,
                  std::string *why);
bool decode(std::string_view manifest, CheckpointManifest *, std::string *why);

uint32_t checksum(std::string_view) noexcept;

// Names of the files in the folder.
inline constexpr char kManifestName[] = "manifest";
std::string part_name(uint64_t serial, uint32_t rank);  // "7.part2"
// False: no name of a part.
bool read_part_name(std::string_view name, uint64_t *serial, uint32_t *rank) noexcept;

}  // namespace consort

// lent.hpp — memory that a function may read until it returns. A later read is a fatal fault, until the memory is lent
// again.
#pragma once
#include <cstddef>
#include <vector>

namespace conform {

// One lender at a time. The memory lent last stays inaccessible for the next kPlaces - 1 calls.
class LentMemory {
 public:
  LentMemory() = default;
  ~LentMemory();
  LentMemory(const LentMemory &) = delete;
  LentMemory &operator=(const LentMemory &) = delete;
  void *lend(size_t bytes);                      // throws std::bad_alloc
  void close();                                  // revokes all memory lent since the last call

 private:
  static constexpr size_t kPlaces = 64;
  struct Place {
    void *begin = nullptr;
    size_t bytes = 0;
  };
  std::vector<Place> places_ = std::vector<Place>(kPlaces);
  size_t next_ = 0, closed_ = 0;
};

}  // namespace conform

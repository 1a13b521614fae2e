// Handles of the simulated machine are never an address and never reused. So a handle of a destroyed object differs
// from one that was never valid.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace gpu {

struct Object {
  uint64_t handle = 0;
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  virtual ~Object() = default;
};

template <class T>
class Table {
 public:
  explicit Table(unsigned kind) : first((uint64_t{0x00d0} << 48) + (uint64_t{kind} << 40)), next(first) {}

  void add(const std::shared_ptr<T> &object) {
    object->handle = next += 16;
    all.emplace(object->handle, object);
  }

  std::shared_ptr<T> find(const void *handle) const {
    auto at = all.find(reinterpret_cast<uint64_t>(handle));
    return at == all.end() ? nullptr : at->second;
  }

  bool was(const void *handle) const {  // one of this kind, perhaps gone by now
    auto value = reinterpret_cast<uint64_t>(handle);
    return value > first && value <= next && value % 16 == 0;
  }

  void remove(const T &object) { all.erase(object.handle); }

  std::unordered_map<uint64_t, std::shared_ptr<T>> all;

 private:
  uint64_t first, next;
};

// The handle as a vendor's type.
template <class H>
H handle_of(const Object &object) {
  return reinterpret_cast<H>(object.handle);
}

}  // namespace gpu

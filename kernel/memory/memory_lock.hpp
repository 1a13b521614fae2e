// memory_lock.hpp — the lock on the one mutex of the room memory.
//
// All classes of this room share this contract: the caller of a function holds this lock, unless the comment says
// [any]. A function that releases the mutex temporarily takes the lock as an argument.
#pragma once
#include <mutex>

namespace consort {

using MemoryLock = std::unique_lock<std::mutex>;

}  // namespace consort

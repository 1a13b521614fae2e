// memory_lock.hpp — the hold of the one mutex of the room memory.
//
// The contract of all classes of this room: the caller of a function has this lock, unless its comment says [any]. A
// function that lets the mutex go meanwhile takes the lock as an argument.
#pragma once
#include <mutex>

namespace consort {

using MemoryLock = std::unique_lock<std::mutex>;

}  // namespace consort

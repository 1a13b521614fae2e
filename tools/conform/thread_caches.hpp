// thread_caches.hpp — lets glibc keep no freed blocks for a thread, for cases that measure memory.
//
// A block in such a cache counts as in use, and the caches fill slowly: the heap of a case grew for some twenty parts
// that lost nothing (MemoryMarks in plugin.hpp). glibc takes the setting at a process's start alone.
#pragma once

namespace conform {

// Starts this program anew with its arguments, in this process, unless its environment has the setting already. Returns
// where that is impossible: cases then wait until the caches are full.
void run_without_thread_caches();

}  // namespace conform

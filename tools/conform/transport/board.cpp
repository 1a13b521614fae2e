#include "conform/transport/board.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace conform {

struct Board::Note {
  std::atomic<uint32_t> state;  // 0 free, 1 being written, 2 written: pairs with the load in get()
  uint32_t rank, bytes;
  char key[64];
  unsigned char value[1024];
};
struct Board::Sheet {
  static constexpr uint32_t kNotes = 256;
  std::atomic<uint32_t> taken, arrived;  // arrived: calls of fence() so far
  Note notes[kNotes];
};

uint64_t Board::now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

Board::Board() {
  void *p = mmap(nullptr, sizeof(Sheet), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "no memory to share between ranks");
  sheet_ = static_cast<Sheet *>(p);  // zero is the initial value of each of its atomics
}
Board::~Board() { munmap(sheet_, sizeof(Sheet)); }

consort_status Board::put(uint32_t rank, const char *key, const void *value, uint32_t n) {
  const uint32_t at = sheet_->taken.load() < Sheet::kNotes ? sheet_->taken.fetch_add(1) : Sheet::kNotes;
  if (at >= Sheet::kNotes || std::strlen(key) >= sizeof Note::key || n > sizeof Note::value) return CONSORT_E_NOMEM;
  Note &note = sheet_->notes[at];
  note.rank = rank, note.bytes = n;
  std::strcpy(note.key, key);
  if (n) std::memcpy(note.value, value, n);
  note.state.store(2, std::memory_order_release);
  return CONSORT_OK;
}

consort_status Board::get(uint32_t rank, const char *key, void *value, uint32_t *n, uint64_t give_up_ns) {
  for (;; usleep(200)) {
    for (uint32_t i = Sheet::kNotes; i-- > 0;) {  // the latest first
      Note &note = sheet_->notes[i];
      if (note.state.load(std::memory_order_acquire) != 2 || note.rank != rank || std::strcmp(note.key, key) != 0)
        continue;
      const uint32_t room = *n;
      *n = note.bytes;
      if (room < note.bytes) return CONSORT_E_TRUNCATED;
      if (note.bytes) std::memcpy(value, note.value, note.bytes);
      return CONSORT_OK;
    }
    if (now() >= give_up_ns) return CONSORT_E_TIMEOUT;
  }
}

consort_status Board::fence(uint32_t nranks, uint64_t give_up_ns) {
  const uint32_t mine = sheet_->arrived.fetch_add(1), full = (mine / nranks + 1) * nranks;
  while (sheet_->arrived.load() < full) {
    if (now() >= give_up_ns) return CONSORT_E_TIMEOUT;
    usleep(200);
  }
  return CONSORT_OK;
}

std::vector<std::vector<unsigned char>> Board::values() const {
  std::vector<std::vector<unsigned char>> all;
  for (const Note &note : sheet_->notes)
    if (note.state.load(std::memory_order_acquire) == 2) all.emplace_back(note.value, note.value + note.bytes);
  return all;
}

}  // namespace conform

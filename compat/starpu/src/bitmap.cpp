// Sets of small numbers.
#include <starpu.h>

#include <algorithm>
#include <vector>

struct starpu_bitmap {
  std::vector<uint64_t> words;
  bool has(int e) const {
    const auto w = static_cast<size_t>(e) / 64;
    return e >= 0 && w < words.size() && words[w] >> e % 64 & 1;
  }
  // The first element from e on; -1: none.
  int from(int e) const {
    for (; static_cast<size_t>(e) < 64 * words.size(); ++e)
      if (has(e)) return e;
    return -1;
  }
};

struct starpu_bitmap *starpu_bitmap_create(void) { return new starpu_bitmap; }
void starpu_bitmap_destroy(struct starpu_bitmap *b) { delete b; }

void starpu_bitmap_set(struct starpu_bitmap *b, int e) {
  const auto w = static_cast<size_t>(e) / 64;
  if (w >= b->words.size()) b->words.resize(w + 1);
  b->words[w] |= uint64_t{1} << e % 64;
}

void starpu_bitmap_unset(struct starpu_bitmap *b, int e) {
  if (b->has(e)) b->words[static_cast<size_t>(e) / 64] &= ~(uint64_t{1} << e % 64);
}

void starpu_bitmap_unset_all(struct starpu_bitmap *b) { b->words.clear(); }
int starpu_bitmap_get(struct starpu_bitmap *b, int e) { return b->has(e); }

void starpu_bitmap_unset_and(struct starpu_bitmap *a, struct starpu_bitmap *b, struct starpu_bitmap *c) {
  std::vector<uint64_t> both(std::min(b->words.size(), c->words.size()));
  for (size_t w = 0; w < both.size(); ++w) both[w] = b->words[w] & c->words[w];
  a->words = std::move(both);
}

void starpu_bitmap_or(struct starpu_bitmap *a, struct starpu_bitmap *b) {
  a->words.resize(std::max(a->words.size(), b->words.size()));
  for (size_t w = 0; w < b->words.size(); ++w) a->words[w] |= b->words[w];
}

int starpu_bitmap_and_get(struct starpu_bitmap *b1, struct starpu_bitmap *b2, int e) { return b1->has(e) && b2->has(e); }

int starpu_bitmap_cardinal(struct starpu_bitmap *b) {
  int n = 0;
  for (const uint64_t w : b->words) n += __builtin_popcountll(w);
  return n;
}

int starpu_bitmap_first(struct starpu_bitmap *b) { return b->from(0); }

int starpu_bitmap_last(struct starpu_bitmap *b) {
  for (int e = static_cast<int>(64 * b->words.size()) - 1; e >= 0; --e)
    if (b->has(e)) return e;
  return -1;
}

int starpu_bitmap_next(struct starpu_bitmap *b, int e) { return b->from(e + 1); }
int starpu_bitmap_has_next(struct starpu_bitmap *b, int e) { return b->from(e + 1) >= 0; }

#include "base/suggestion.hpp"

#include <algorithm>
#include <cctype>

namespace consort {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Edit distance: letters inserted, deleted, changed or swapped with a neighbour, ignoring case.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string> &words) {
  constexpr size_t kTooLong = 64;  // longer words are not typing errors
  if (word.empty() || word.size() > kTooLong) return {};
  const std::string *best = nullptr;
  size_t least = 0;
  for (const std::string &w : words) {
    if (w.empty() || w.size() > kTooLong) continue;
    const size_t n = edits(word, w);
    if (!best || n < least) best = &w, least = n;
  }
  if (!best) return {};
  const size_t longer = std::max(word.size(), best->size());
  // A third of the letters may differ. A word that begins with the other also matches.
  const bool alike = least <= std::max<size_t>(1, longer / 3);
  const bool part = std::min(word.size(), best->size()) >= 3 && (best->starts_with(word) || word.starts_with(*best));
  return alike || part ? *best : std::string{};
}

std::string did_you_mean(std::string_view word, const std::vector<std::string> &words) {
  const std::string w = nearest(word, words);
  return w.empty() ? w : " (did you mean \"" + w + "\"?)";
}

}  // namespace consort

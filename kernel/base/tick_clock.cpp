#include "base/tick_clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace consort {
namespace {

// The system keeps its time by the processor's counter: it has found that the counter runs evenly, and that those of all
// cores agree.
bool counter_is_steady() noexcept {
#if defined(__x86_64__)
  const int fd = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[16];
  const ssize_t n = ::read(fd, text, sizeof text);
  ::close(fd);
  return n > 0 && std::string_view(text, static_cast<size_t>(n)) == "tsc\n";
#else
  return false;
#endif
}

}  // namespace

TickClock TickClock::choose(const Clock &clock) noexcept {
  TickClock ticks;
  ticks.of_processor_ = !clock.stepped() && counter_is_steady();
  return ticks;
}

TickClock::Point TickClock::point(const Clock &clock) const noexcept {
  Point best{};
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {  // the narrowest: an interrupt may lie between
    const uint64_t before = now(clock), ns = clock.now(), after = now(clock);
    if (after - before < width) width = after - before, best = {before + (after - before) / 2, ns};
  }
  return best;
}

}  // namespace consort

#include "orders.hpp"

#include <cstdint>

namespace heteroprio {
namespace {

std::string_view trimmed(std::string_view s) {
  const auto from = s.find_first_not_of(" \t\n");
  if (from == s.npos) return {};
  return s.substr(from, s.find_last_not_of(" \t\n") - from + 1);
}

}  // namespace

std::string Orders::read(std::string_view text) {
  while (!trimmed(text).empty()) {
    const auto comma = text.find(',');
    const std::string_view one = trimmed(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    if (one.empty()) continue;
    const auto colon = one.find(':');
    const std::string_view klass = trimmed(one.substr(0, colon == one.npos ? 0 : colon));
    if (klass.empty())
      return "orders: \"" + std::string(one) + "\" names no class of units; write CLASS: CODELET CODELET ...";
    Order order{std::string(klass), {}};
    for (const Order &o : all_)
      if (o.klass == klass) return "orders: class \"" + order.klass + "\" is listed twice; use one list per class";
    std::string_view rest = trimmed(one.substr(colon + 1));
    while (!rest.empty()) {
      const auto end = rest.find_first_of(" \t\n");
      order.codelets.emplace_back(rest.substr(0, end));
      rest = end == rest.npos ? std::string_view() : trimmed(rest.substr(end));
    }
    if (order.codelets.empty())
      return "orders: class \"" + order.klass + "\" has no codelets; write CLASS: CODELET CODELET ...";
    all_.push_back(std::move(order));
  }
  return {};
}

uint32_t Orders::place(std::string_view klass, std::string_view codelet) const noexcept {
  for (const Order &o : all_) {
    if (o.klass != klass) continue;
    for (uint32_t i = 0; i < o.codelets.size(); ++i)
      if (o.codelets[i] == codelet) return i;
  }
  return kUnnamed;
}

std::vector<std::string_view> Orders::classes() const {
  std::vector<std::string_view> names;
  for (const Order &o : all_) names.push_back(o.klass);
  return names;
}

}  // namespace heteroprio

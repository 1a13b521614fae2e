// topo_svg.cpp — `consort topo --svg`: the machine as nested boxes, devices beside it, links as lines with their speeds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "drawing.hpp"
#include "terminal.hpp"
#include "topo.hpp"

namespace tool {
namespace {

constexpr double kPad = 8, kTitle = 18, kLine = 15, kLetter = 6.6, kGap = 190;

std::string coordinate(double x) { return decimals(x, 1); }

std::string shown(const std::string &text) { return escaped(printable(text)); }

// Counts UTF-8 letters.
double width_of(const std::string &text) {
  return kLetter * static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

struct Box {
  std::string title, fill;
  std::vector<std::string> lines;                  // lines below the title: units and spaces of the runtime
  std::vector<Box> memories, parts;                // memories are drawn above, at full width
  uint32_t space = CONSORT_NONE;
  double x = 0, y = 0, w = 0, h = 0;

  double head() const { return kTitle + kLine * static_cast<double>(lines.size()); }
};

const char *fill_of(const std::string &kind) {
  if (kind == "machine") return "#fbfbf7";
  if (kind == "package") return "#eef0e2";
  if (kind == "core") return "#e3e3e3";
  return kind == "numa" ? "#f6d9d9" : kind == "group" ? "#f4f4f4" : "#ffffff";
}

// Merges a chain of caches with one child each into one box with a combined title.
Box box_of(const Picture &m, const Part &p) {
  Box b;
  b.fill = fill_of(p.kind);
  b.title = p.name + (p.bytes ? " (" + bytes(p.bytes) + ")" : "");
  if (p.kind == "core") {
    std::string cpus;
    for (const int c : p.cpus) cpus += (cpus.empty() ? "os cpu " : ", ") + std::to_string(c);
    b.lines.push_back(cpus);
    for (const Unit *u : m.units_at(p)) b.lines.push_back("worker " + u->name), b.fill = "#cfe3f5";
  }
  for (const Part &memory : p.memories) {
    Box &mem = b.memories.emplace_back();
    mem.fill = fill_of("numa");
    const Space *s = m.host_memory(memory.numa);
    mem.title = memory.name + " (" + bytes(memory.bytes) + ")" + (s ? ", space " + std::to_string(s->id) + " " + s->name : "");
    if (s) mem.space = s->id;
  }
  for (const Part &below : p.parts) b.parts.push_back(box_of(m, below));
  return b;
}

Box device_box(const Picture &m, const Space &s) {
  Box b;
  b.fill = "#fdebd3";
  b.title = "space " + std::to_string(s.id) + " " + s.name + (s.capacity ? " (" + bytes(s.capacity) + ")" : "");
  b.lines.push_back("driver " + s.driver + (s.numa >= 0 ? ", NUMA node " + std::to_string(s.numa) : ""));
  b.space = s.id;
  for (const Unit *u : m.units_in(s)) {
    Box &unit = b.parts.emplace_back();
    unit.fill = "#cfe3f5";
    unit.title = u->name;
    unit.lines.push_back("class " + u->klass);
    if (!u->arch.empty() && u->arch != u->klass) unit.lines.push_back(u->arch);
  }
  return b;
}

// Arranges parts in rows, for a ratio of about 1:2. Sizes first, then positions.
void size(Box &b) {
  double title = width_of(b.title);
  for (const std::string &line : b.lines) title = std::max(title, width_of(line));
  double inner = title, height = b.head();
  for (Box &memory : b.memories) size(memory), inner = std::max(inner, memory.w), height += memory.h + kPad;
  double w = 0, h = 0;
  for (Box &part : b.parts) size(part), w = std::max(w, part.w), h = std::max(h, part.h);
  if (const size_t n = b.parts.size()) {
    const auto columns = static_cast<size_t>(std::clamp(std::ceil(std::sqrt(1.8 * static_cast<double>(n) * h / w)), 1.0, static_cast<double>(n)));
    const size_t rows = (n + columns - 1) / columns, even = (n + rows - 1) / rows;
    inner = std::max(inner, static_cast<double>(even) * (w + kPad) - kPad);
    height += static_cast<double>(rows) * (h + kPad);
    for (size_t i = 0; i < n; ++i) {
      b.parts[i].x = static_cast<double>(i % even) * (w + kPad);
      b.parts[i].y = static_cast<double>(i / even) * (h + kPad);
      b.parts[i].w = w, b.parts[i].h = h;
    }
  }
  b.w = inner + 2 * kPad;
  b.h = height + kPad;
}

// Stretches the parts of a row to the available width.
void place(Box &b, double x, double y) {
  b.x = x, b.y = y;
  double at = y + b.head();
  for (Box &memory : b.memories) {
    memory.w = b.w - 2 * kPad;
    place(memory, x + kPad, at);
    at += memory.h + kPad;
  }
  double used = 0;
  for (const Box &part : b.parts) used = std::max(used, part.x + part.w);
  const double stretch = b.parts.empty() || used <= 0 ? 1 : std::max(1.0, (b.w - 2 * kPad) / used);
  for (Box &part : b.parts) {
    part.w *= stretch;
    place(part, x + kPad + part.x * stretch, at + part.y);
  }
}

class Canvas {
 public:
  void box(const Box &b) {
    s_ += "<rect x=\"" + coordinate(b.x) + "\" y=\"" + coordinate(b.y) + "\" width=\"" + coordinate(b.w) + "\" height=\"" + coordinate(b.h) +
          "\" rx=\"3\" fill=\"" + b.fill + "\" stroke=\"#555555\" stroke-width=\"0.8\"/>\n";
    text(b.x + kPad, b.y + 13, b.title, "#000000");
    for (size_t i = 0; i < b.lines.size(); ++i) text(b.x + kPad, b.y + 13 + kLine * static_cast<double>(i + 1), b.lines[i], "#444444");
    for (const auto *list : {&b.memories, &b.parts})
      for (const Box &below : *list) box(below);
  }
  void text(double x, double y, const std::string &t, const char *fill, const char *anchor = "start") {
    s_ += "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" fill=\"" + fill + "\" text-anchor=\"" + anchor + "\">" + shown(t) + "</text>\n";
  }
  // A line with a label in its middle, on a white background.
  void link(double x1, double y1, double x2, double y2, const std::string &words) {
    s_ += "<path d=\"M" + coordinate(x1) + " " + coordinate(y1) + " C" + coordinate((x1 + x2) / 2) + " " + coordinate(y1) + " " + coordinate((x1 + x2) / 2) + " " +
          coordinate(y2) + " " + coordinate(x2) + " " + coordinate(y2) + "\" fill=\"none\" stroke=\"#b05a00\" stroke-width=\"1.5\"/>\n";
    const double x = (x1 + x2) / 2, y = (y1 + y2) / 2, w = width_of(words) + 6;
    s_ += "<rect x=\"" + coordinate(x - w / 2) + "\" y=\"" + coordinate(y - 9) + "\" width=\"" + coordinate(w) + "\" height=\"14\" fill=\"white\"/>\n";
    text(x, y + 2, words, "#b05a00", "middle");
  }
  std::string whole(double width, double height) const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + coordinate(width) + "\" height=\"" + coordinate(height) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + s_ + "</svg>\n";
  }

 private:
  std::string s_;
};

const Box *find(const Box &b, uint32_t space) {
  if (b.space == space) return &b;
  for (const auto *list : {&b.memories, &b.parts})
    for (const Box &below : *list)
      if (const Box *found = find(below, space)) return found;
  return nullptr;
}

const Link *link_of(const Picture &m, uint32_t from, uint32_t to) {
  for (const Link &l : m.found.links)
    if (l.from == from && l.to == to) return &l;
  return nullptr;
}

std::string speed(const Link *l) {
  if (!l) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", static_cast<double>(l->bytes_per_s) * 1e-9);
  return l->bytes_per_s ? text : "?";
}

}  // namespace

std::string topo_svg(const Picture &m) {
  Canvas canvas;
  double right = kPad, bottom = kPad;
  Box host;
  if (m.has_host) {
    host = box_of(m, m.host);
    host.title = "machine: " + std::to_string(count_of(m.host, "core")) + " cores, " + std::to_string(threads_of(m.host)) + " hardware threads";
    for (const Space &s : m.found.spaces)
      if (m.is_host(s) && !find(host, s.id)) host.lines.push_back("space " + std::to_string(s.id) + " " + s.name + (s.capacity ? " (" + bytes(s.capacity) + ")" : "")), host.space = s.id;
    std::string loose;
    for (const Space &s : m.found.spaces)
      if (m.is_host(s))
        for (const Unit *u : m.units_in(s)) loose += (loose.empty() ? "workers at no core: " : ", ") + u->name;
    if (loose.size() > 100) loose = loose.substr(0, loose.rfind(',', 100)) + ", …";
    if (!loose.empty()) host.lines.push_back(loose);
    size(host);
    place(host, kPad, kPad);
    canvas.box(host);
    right = host.x + host.w, bottom = host.y + host.h;
  }
  std::vector<Box> devices;
  for (const Space &s : m.found.spaces)
    if (!(m.has_host && m.is_host(s))) devices.push_back(device_box(m, s));
  double at = kPad, widest = 0;
  const double x = m.has_host && !devices.empty() ? right + kGap : right;
  for (Box &d : devices) size(d), widest = std::max(widest, d.w);
  for (Box &d : devices) {
    d.w = widest;
    place(d, x, at);
    at += d.h + 2 * kPad;
    canvas.box(d);
  }
  // One line from the host to each device, from the memory with the fastest link; other links are listed below.
  std::vector<std::string> others;
  for (const Link &l : m.found.links) {
    const Space *a = m.space(l.from), *b = m.space(l.to);
    if (m.has_host && a && b && m.is_host(*a) && !m.is_host(*b)) {
      const Link *best = &l;
      for (const Link &k : m.found.links)
        if (k.to == l.to && m.is_host(*m.space(k.from)) && k.bytes_per_s > best->bytes_per_s) best = &k;
      const auto d = std::find_if(devices.begin(), devices.end(), [&](const Box &box) { return box.space == l.to; });
      const Box *from = find(host, l.from);
      if (best == &l && d != devices.end()) {
        const double y = from ? std::clamp(from->y + from->h / 2, host.y, host.y + host.h) : host.y + 30;
        canvas.link(from ? from->x + from->w : right, y, d->x, d->y + d->h / 2, speed(&l) + " GB/s in, " + speed(link_of(m, l.to, l.from)) + " out");
        continue;
      }
    }
    const bool answered = m.has_host && a && b && !m.is_host(*a) && m.is_host(*b) && link_of(m, l.to, l.from);
    if (!answered && a && b)
      others.push_back(std::to_string(l.from) + " " + a->name + " → " + std::to_string(l.to) + " " + b->name + ": " + speed_text(l));
  }
  double width = std::max(right, devices.empty() ? 0 : x + widest) + kPad;
  double height = std::max(bottom, at) + kPad;
  for (const std::string &line : others) {
    height += kLine;
    canvas.text(kPad, height - kPad, line, "#b05a00");
    width = std::max(width, width_of(line) + 2 * kPad);
  }
  return canvas.whole(width, height + kPad);
}

}  // namespace tool

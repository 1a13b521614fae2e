"""Plots of the benchmarks: SVG written by hand, so that nothing need be installed."""
from html import escape
from math import ceil, floor, log10
from pathlib import Path

from .report import number

COLOURS = {
    "consort": "#1b6ca8", "mini": "#444444", "starpu": "#c8553d", "tbb": "#7a9e4b", "tbb-hand": "#b5cf86", "libgomp": "#b08ea2",
    "libomp": "#e0a030", "taskflow": "#3aa6a0", "openblas": "#777777",
}
SPARE = ["#1b6ca8", "#c8553d", "#7a9e4b", "#e0a030", "#8a5fa8", "#3aa6a0", "#b08ea2", "#777777"]


def colour(name, index=0):
    return COLOURS.get(name, SPARE[index % len(SPARE)])


def all_beside(file, pictures):
    """Draws (name, function, what …) beside the file of figures, if there is one: micro.json gives micro.svg and
    micro-NAME.svg. Answers the files."""
    if not file:
        return []
    drawn = []
    for name, draw, *what in pictures:
        picture = Path(file).with_name(Path(file).stem + (f"-{name}" if name else "") + ".svg")
        if draw(picture, *what):
            drawn.append(picture)
    return drawn


class Picture:
    def __init__(self, width, height, title, left):
        self.out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                    'font-family="sans-serif" font-size="11">',
                    '<rect width="100%" height="100%" fill="white"/>', f'<text x="{left}" y="22" font-size="15">{escape(title)}</text>']

    def text(self, x, y, text, **more):
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}"{self.more(more)}>{escape(str(text))}</text>')

    def line(self, x1, y1, x2, y2, **more):
        self.out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{self.more(more)}/>')

    def box(self, x, y, width, height, fill):
        self.out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>')

    def legend(self, x, y, names):
        for i, name in enumerate(names):
            self.box(x, y, 11, 11, colour(name, i))
            self.text(x + 16, y + 10, name)
            x += 30 + 7 * len(name)

    @staticmethod
    def more(attributes):
        return "".join(f' {k.replace("_", "-")}="{v}"' for k, v in attributes.items())

    def save(self, path):
        Path(path).write_text("\n".join([*self.out, "</svg>"]) + "\n", encoding="utf-8")
        return True


def marks_of(low, high, logarithmic):
    """Where an axis has its lines."""
    if logarithmic:
        return [m for d in range(floor(log10(low)), floor(log10(high)) + 1) for step in (1, 2, 5) if low <= (m := 10.0 ** d * step) <= high]
    step = 10 ** floor(log10(high))
    while high / step < 4:
        step /= 2
    return [step * k for k in range(ceil(high / step)) if step * k >= low] or [0]


def bars(path, title, unit, groups, logarithmic=True):
    """groups: [(label, [(runtime, value), …]), …]. Horizontal bars; a linear axis begins at 0."""
    values = [v for _, bar in groups for _, v in bar if v and v > 0]
    if not values:
        return False
    low = 10 ** floor(log10(min(values))) if logarithmic else 0
    high = max(max(values) * 1.3, low * 10)
    left, width, bar_height, gap, top = 190, 620, 13, 12, 64
    height = top + sum(len(bar) * bar_height + gap for _, bar in groups) + 36

    def x(v):
        if not logarithmic:
            return left + width * v / high
        return left + width * (log10(max(v, low)) - log10(low)) / (log10(high) - log10(low))

    p = Picture(left + width + 90, height, title, left)
    runtimes = list(dict.fromkeys(r for _, bar in groups for r, _ in bar))
    p.legend(left, 33, runtimes)
    bottom = height - 30
    for mark in marks_of(low, high, logarithmic):
        p.line(x(mark), top - 8, x(mark), bottom, stroke="#d8d8d8")
        p.text(x(mark), bottom + 14, f"{mark:g}", text_anchor="middle")
    p.text(left + width, bottom + 28, unit, text_anchor="end")
    y = top
    for label, bar in groups:
        p.text(left - 8, y + len(bar) * bar_height / 2 + 4, label, text_anchor="end")
        for name, value in bar:
            if value and value > 0:
                p.box(left, y, max(x(value) - left, 1), bar_height - 2, colour(name, runtimes.index(name)))
                p.text(x(value) + 4, y + bar_height - 4, number(value), fill="#444444")
            y += bar_height
        y += gap
    return p.save(path)


def curves(path, title, unit, across, lines, goals=(), logarithmic=False):
    """lines: [(name, [(x, y), …]), …]; goals: the same, dashed. Both axes linear, or both logarithmic."""
    points = [q for _, line in [*lines, *goals] for q in line if q[1] is not None and (not logarithmic or (q[0] > 0 and q[1] > 0))]
    if not points:
        return False
    xs, ys = [x for x, _ in points], [y for _, y in points]
    lows = (min(xs), 10 ** floor(log10(min(ys)))) if logarithmic else (min(0, *xs, 0), min(0, *ys, 0))
    highs = (max(max(xs), lows[0] + 1), max(ys) * 1.1 or 1)
    left, top, width, height = 70, 70, 640, 330

    def at(v, low, high, length):
        if logarithmic:
            return length * (log10(v) - log10(low)) / (log10(high) - log10(low))
        return length * (v - low) / (high - low)

    def place(q):
        return left + at(q[0], lows[0], highs[0], width), top + height - at(q[1], lows[1], highs[1], height)

    p = Picture(left + width + 30, top + height + 50, title, left)
    p.legend(left, 33, [name for name, _ in lines])
    for mark in marks_of(lows[1], highs[1], logarithmic):
        y = place((highs[0], mark))[1]
        p.line(left, y, left + width, y, stroke="#d8d8d8")
        p.text(left - 6, y + 4, f"{mark:g}", text_anchor="end")
    for mark in sorted(set(xs)) if len(set(xs)) <= 20 else marks_of(lows[0], highs[0], logarithmic):
        x = place((mark, highs[1]))[0]
        p.line(x, top + height, x, top + height + 4, stroke="#888888")
        p.text(x, top + height + 16, f"{mark:g}", text_anchor="middle")
    p.text(left, top - 10, unit)
    p.text(left + width, top + height + 34, across, text_anchor="end")
    for dashed, some in ((False, lines), (True, goals)):
        for i, (name, line) in enumerate(some):
            places = [place(q) for q in line if q[1] is not None and (not logarithmic or (q[0] > 0 and q[1] > 0))]
            path_of = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            p.out.append(f'<polyline points="{path_of}" fill="none" stroke="{colour(name, i)}" stroke-width="{1 if dashed else 2}"'
                         + (' stroke-dasharray="4 4"' if dashed else "") + "/>")
            if not dashed:
                p.out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour(name, i)}"/>' for x, y in places]
    return p.save(path)

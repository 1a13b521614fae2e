"""Tables and plots of the benchmarks: text for the terminal, SVG written by hand, so that nothing need be installed."""
from html import escape
from math import floor, log10

COLOURS = {
    "consort": "#1b6ca8", "starpu": "#c8553d", "tbb": "#7a9e4b", "libgomp": "#b08ea2", "libomp": "#e0a030",
    "openblas": "#777777",
}


def number(value):
    """Three digits that matter, thousands apart."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(header, rows):
    """Prints rows of strings, the first column to the left, the others to the right."""
    widths = [max(len(str(r[c])) for r in [header] + rows) for c in range(len(header))]
    for i, row in enumerate([header] + rows):
        cells = [str(row[0]).ljust(widths[0])] + [str(x).rjust(w) for x, w in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip(), flush=True)
        if i == 0:
            print("  ".join("-" * w for w in widths), flush=True)


def ratio_table(records, value, unit, key=lambda r: (r["pattern"], r["workers"]), title=lambda k: f"{k[0]}, {k[1]} w"):
    """One row per key, one column per runtime: the value, and in brackets how many times Consort's it is."""
    runtimes = list(dict.fromkeys(r["runtime"] for r in records))
    rows = []
    for k in dict.fromkeys(key(r) for r in records):
        mine = {r["runtime"]: r[value] for r in records if key(r) == k}
        base = mine.get("consort")
        row = [title(k)]
        for name in runtimes:
            v = mine.get(name)
            text = number(v)
            if v is not None and base and name != "consort":
                text += f" ({v / base:.2f}x)" if v / base < 10 else f" ({v / base:.0f}x)"
            row.append(text)
        rows.append(row)
    table([unit] + runtimes, rows)


def bars(path, title, unit, groups, logarithmic=True):
    """groups: [(label, [(runtime, value), …]), …]. Horizontal bars; a linear axis begins at 0."""
    values = [v for _, bar in groups for _, v in bar if v and v > 0]
    if not values:
        return
    low = 10 ** floor(log10(min(values))) if logarithmic else 0
    high = max(max(values) * 1.3, low * 10)
    if logarithmic:
        marks = [10.0 ** d * step for d in range(floor(log10(low)), floor(log10(high)) + 1) for step in (1, 2, 5)]
    else:
        marks = [10 ** floor(log10(high)) / 5 * k for k in range(51)]
    left, width, bar_height, gap, top = 190, 620, 13, 12, 64
    height = top + sum(len(bar) * bar_height + gap for _, bar in groups) + 36

    def x(v):
        if not logarithmic:
            return left + width * v / high
        return left + width * (log10(max(v, low)) - log10(low)) / (log10(high) - log10(low))

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="22" font-size="15">{escape(title)}</text>',
    ]
    at = left
    for name in dict.fromkeys(r for _, bar in groups for r, _ in bar):
        out.append(f'<rect x="{at}" y="33" width="11" height="11" fill="{COLOURS.get(name, "#999999")}"/>')
        out.append(f'<text x="{at + 16}" y="43">{escape(name)}</text>')
        at += 30 + 7 * len(name)
    bottom = height - 30
    for mark in (m for m in marks if m <= high):
        out.append(f'<line x1="{x(mark):.1f}" y1="{top - 8}" x2="{x(mark):.1f}" y2="{bottom}" stroke="#d8d8d8"/>')
        out.append(f'<text x="{x(mark):.1f}" y="{bottom + 14}" text-anchor="middle">{mark:g}</text>')
    out.append(f'<text x="{left + width}" y="{bottom + 28}" text-anchor="end">{escape(unit)}</text>')
    y = top
    for label, bar in groups:
        middle = y + len(bar) * bar_height / 2 + 4
        out.append(f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end">{escape(label)}</text>')
        for name, value in bar:
            if value:
                out.append(f'<rect x="{left}" y="{y}" width="{max(x(value) - left, 1):.1f}" height="{bar_height - 2}" '
                           f'fill="{COLOURS.get(name, "#999999")}"/>')
                out.append(f'<text x="{x(value) + 4:.1f}" y="{y + bar_height - 4}" fill="#444444">{number(value)}</text>')
            y += bar_height
        y += gap
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")

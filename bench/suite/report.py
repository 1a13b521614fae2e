"""Tables of the benchmarks, as text for the terminal."""


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


def times(ratio):
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def ratios(rows, value, unit, key=lambda r: (r["pattern"], r["workers"]), title=lambda k: f"{k[0]}, {k[1]} w"):
    """Header and rows of text: a row per key, a column per runtime: the value, and in brackets how many times Consort's it is."""
    runtimes = list(dict.fromkeys(r["runtime"] for r in rows))
    out = []
    for k in dict.fromkeys(key(r) for r in rows):
        mine = {r["runtime"]: r[value] for r in rows if key(r) == k}
        base = mine.get("consort")
        row = [title(k)]
        for name in runtimes:
            v = mine.get(name)
            row.append(number(v) + (f" ({times(v / base)})" if v is not None and base and name != "consort" else ""))
        out.append(row)
    return [unit, *runtimes], out


def groups(rows, value, key, title):
    """The rows as groups of bars, see draw.bars."""
    return [(title(k), [(r["runtime"], r[value]) for r in rows if key(r) == k]) for k in dict.fromkeys(key(r) for r in rows)]

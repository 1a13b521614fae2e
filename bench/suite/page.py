"""Writes the tables and curves of the pages from files of figures: each block between `<!-- bench: NAME -->` and
`<!-- /bench -->` is made anew from NAME.json, where that file is; text outside of blocks is written by hand."""
import json
import re
import sys
import textwrap
from pathlib import Path

from . import bindings, cases, cliffs, compare, draw, factor, grids, instructions, metg, micro, network, options, placement, report, resources, trace
from .measure import BENCH, say

PAGES = ["docs/performance.md", "README.md"]
BLOCK = re.compile(r"(<!-- bench: (\S+) -->\n)(.*?)(<!-- /bench -->)", re.S)


class Figures(list):
    """The rows of a file, and what the file says about them."""
    def __init__(self, file):
        text = json.loads(file.read_text())
        super().__init__(text.pop("rows"))
        self.about = text


def add(commands):
    text = "write the tables and curves of the pages from files of figures"
    p = commands.add_parser("page", help=text, description=text)
    p.set_defaults(measure=measure, show=lambda args, rows: 0, patience=0, warn=False, json=None, bin=BENCH)
    p.add_argument("figures", type=Path, nargs="?", default=BENCH / "out", help="folder of micro.json, cliffs.json and so on (%(default)s)")
    p.add_argument("--root", type=Path, default=BENCH.parent, help="folder of the pages (%(default)s)")
    p.add_argument("--only", type=options.names, help="these blocks alone, comma-separated")


def markdown(header, rows):
    """A table for a page; what missed its goal (a "!") is set in bold."""
    def line(cells):
        return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"
    marked = [[re.sub(r"([-+\d.,x]+ / [\d.]+) !", r"**\1**", str(c)) for c in row] for row in rows]
    return "\n".join([line(header), line(["---"] + ["---:"] * (len(header) - 1)), *map(line, marked)])


def filled(text):
    """A paragraph, or an item of a list, in lines that a page may have."""
    return textwrap.fill(text, 118, subsequent_indent="  " if text.startswith("* ") else "", break_long_words=False, break_on_hyphens=False)


def bullets(notes):
    return "\n".join(filled(f"* {n}".replace("! is more than", "bold is more than")) for n in notes)


def with_notes(table, notes):
    return markdown(*table) + "\n\n" + bullets(notes)


def micro_table(rows):
    out = []
    for w in sorted({r["workers"] for r in rows}, reverse=True):
        header, lines = micro.table([r for r in rows if r["workers"] == w])
        out.append(markdown([f"{header[0]}, {w} worker{'s' * (w > 1)}", *header[1:]], [[line[0].split(",")[0], *line[1:]] for line in lines]))
    return "\n\n".join(out) + "\n\n" + bullets([*micro.absolute(rows), *compare.notes(rows)])


# What a reader of the README calls them.
FRONT_NAMES = {"starpu": "StarPU 1.3", "tbb": "oneTBB", "taskflow": "Taskflow"}
FRONT_TASKS = {"independent": "independent", "chain": "a chain on one datum", "wavefront": "a wavefront, 1000 x 1000",
               "data4": "four data out of 1,000"}


def front_table(rows):
    """Of the README: the headline patterns by two workers, without the sketch."""
    kept = [r for r in rows if r["workers"] == 2 and r["pattern"] in compare.HEADLINE and r["runtime"] in ("consort", *compare.PEERS)]
    runtimes = ["consort", *(p for p in compare.PEERS if any(r["runtime"] == p for r in kept))]
    lines = []
    for pattern in compare.HEADLINE:
        by = {r["runtime"]: r for r in kept if r["pattern"] == pattern}
        if "consort" in by:
            base = by["consort"]["ns_median"]
            cells = [report.number(by[p]["ns_median"]) + (" inline" if by[p].get("inline") else f" ({report.times(by[p]['ns_median'] / base)})")
                     if p in by else "–" for p in runtimes[1:]]
            lines.append([FRONT_TASKS.get(pattern, pattern), f"**{report.number(base)}**", *cells])
    return markdown(["ns per task, with a value", "Consort", *(FRONT_NAMES.get(p, p) for p in runtimes[1:])], lines)


def cliffs_table(rows):
    """Without the steps from datum to datum, which the curves show."""
    kept = [r for r in rows if not re.fullmatch(r"\d+ (read|written)", r["shape"]) or r["shape"].split()[0] in ("1", "4", "8", "16")]
    line = sorted({r["line_ns"] for r in rows})
    return with_notes(cliffs.table(kept), ["ns of a task (over the task of the second column / allowed)",
                                           f"one way of a cache line: {line[0]:g} to {line[-1]:g} ns"])


def grids_tables(rows):
    tables = [markdown(header, [[line[0].replace("*", "\\*"), *line[1:]] for line in lines]) for header, lines in grids.tables(rows)]
    return "\n\n".join(tables) + "\n\n" + bullets([*grids.summary(rows), "\\*: held out, nothing is tuned by it", *compare.notes(rows)])


def network_tables(rows):
    return "\n\n".join(markdown(*t) for t in network.tables(rows)) + "\n\n" + bullets(network.notes(rows))


def bindings_tables(rows):
    why = [f"missing: {name}: {why}" for name, why in rows.about["missing"].items()]
    return "\n\n".join(markdown(*t) for t in bindings.tables(rows)) + ("\n\n" + bullets(why) if why else "")


# name: (table, pictures)
BLOCKS = {
    "micro": (micro_table, micro.pictures),
    "front": (front_table, None),
    "cliffs": (cliffs_table, cliffs.pictures),
    "cliffs-count": (lambda rows: markdown(*cliffs.table(rows)), None),
    "grids": (grids_tables, grids.pictures),
    "metg": (lambda rows: with_notes(metg.table(rows), compare.notes(rows)), metg.pictures),
    "crowded": (lambda rows: markdown(*micro.crowded_table(rows)), micro.crowded_pictures),
    "idle": (lambda rows: markdown(*resources.table(resources.IDLE, rows)), None),
    "footprint": (lambda rows: markdown(*resources.table(resources.FOOTPRINT, rows)), None),
    "start": (lambda rows: markdown(*resources.table(resources.START, rows)), None),
    "instructions": (lambda rows: markdown(*instructions.table(rows)), None),
    **{app: (lambda rows: markdown(*factor.table(rows)), factor.pictures) for app in factor.NAMES},
    "memory": (lambda rows: markdown(*cases.table(rows, True)), None),
    "network": (network_tables, network.pictures),
    "network-chain": (network_tables, None),
    "network-cholesky": (network_tables, None),
    "placement": (lambda rows: markdown(*placement.table(rows)), None),
    "trace": (lambda rows: markdown(*trace.table(rows)), None),
    "bindings": (bindings_tables, None),
}
FILES = {"front": "micro"}  # whose figures a block has, where it is not its own name


def caption(about):
    busy = about.get("busy_percent")
    words = [f"`{about['command']}`", about["date"], f"{about['cores']} cores of {about['processor']}"]
    if busy is not None and busy > 5:
        words.append(f"**{busy} % busy with something else**")
    if not about.get("complete"):
        words.append("**stopped before its end**")
    return filled(", ".join(words) + ".")


def block(name, rows, pictures_in, link):
    table, pictures = BLOCKS[name]
    out = [table(rows)]
    if pictures:
        pictures_in.mkdir(parents=True, exist_ok=True)
        drawn = draw.all_beside(pictures_in / f"{name}.json", pictures(rows))
        out += [f"![{p.stem}]({link}/{p.name})" for p in drawn]
    return "\n\n".join([*out, caption(rows.about)]) + "\n"


def measure(args, _):
    missing = []
    for page in (args.root / p for p in PAGES):
        if not page.exists():
            continue
        pictures_in = args.root / "docs" / "performance"

        def made(match, page=page, pictures_in=pictures_in):
            head, name, _, tail = match.groups()
            file = args.figures / f"{FILES.get(name, name)}.json"
            if name not in BLOCKS:
                sys.exit(f"{page}: there is no block \"{name}\": {', '.join(BLOCKS)}")
            if args.only and name not in args.only:
                return match.group(0)
            rows = Figures(file) if file.exists() else []
            if not rows:
                missing.append(file.name)
                return match.group(0)
            return head + "\n" + block(name, rows, pictures_in, "performance" if page.parent.name == "docs" else "docs/performance") + "\n" + tail
        text = page.read_text(encoding="utf-8")
        new = BLOCK.sub(made, text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            say(f"wrote {page}")
    if missing:
        say(f"blocks left as they are, for want of {', '.join(dict.fromkeys(missing))} in {args.figures}")
    return 0

#!/usr/bin/env python3
"""./run bench page: blocks of the pages are made of files of figures, and all else stays as it was written."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "bench" / "run.py"
ABOUT = {"command": "./run bench X --json X.json", "date": "2026-11-25", "processor": "a processor", "cores": 2, "busy_percent": 0,
         "complete": True, "missing": {}}


def micro(pattern, runtime, ns, workers=2, **more):
    return {"pattern": pattern, "runtime": runtime, "workers": workers, "n": 1000, "ns_min": ns, "ns_median": ns, **more}


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.figures = self.root / "figures"
        self.figures.mkdir()
        (self.root / "docs").mkdir()
        self.page = self.root / "docs" / "performance.md"

    def tearDown(self):
        self.folder.cleanup()

    def keep(self, name, rows, **about):
        (self.figures / f"{name}.json").write_text(json.dumps({**ABOUT, **about, "rows": rows}))

    def make(self, *more):
        return subprocess.run([sys.executable, RUN, "page", self.figures, "--root", self.root, *more], capture_output=True, text=True)

    def test_a_block_is_made_anew_and_the_rest_stays(self):
        self.page.write_text("# P\n\nbefore\n\n<!-- bench: micro -->\nold\n<!-- /bench -->\n\nafter\n\n<!-- bench: metg -->\nkept\n<!-- /bench -->\n")
        self.keep("micro", [micro("chain", "consort", 60.0), micro("chain", "mini", 40.0), micro("chain", "libgomp", 5.0, inline=True),
                            micro("chain", "tbb", 90.0), micro("sync", "consort", 90.0)], busy_percent=40)
        done = self.make()
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.page.read_text()
        self.assertTrue(text.startswith("# P\n\nbefore\n\n<!-- bench: micro -->\n"))
        self.assertIn("| chain | 60.0 | 40.0 | 5.00 inline | 90.0 | **1.50x / 1.3** | 0.67x / 0.8 (tbb) |", text)
        self.assertIn("sync, 2 w: 90.0 ns (goal 100)", text)
        self.assertIn("**40 % busy with something else**", text)
        self.assertIn("`./run bench X --json X.json`, 2026-11-25, 2 cores of a processor", text)
        self.assertNotIn("old\n", text)
        self.assertIn("after\n\n<!-- bench: metg -->\nkept\n", text)
        self.assertIn("for want of metg.json", done.stderr)
        self.assertIn("![micro-2w](performance/micro-2w.svg)", text)
        self.assertIn("<svg", (self.root / "docs" / "performance" / "micro-2w.svg").read_text())
        self.assertLessEqual(max(len(line) for line in text.splitlines() if not line.startswith("|")), 120)
        self.make()
        self.assertEqual(self.page.read_text(), text)

    def test_figures_of_a_stopped_run_say_so(self):
        self.page.write_text("<!-- bench: idle -->\n<!-- /bench -->\n")
        self.keep("idle", [{"runtime": "consort", "workers": 2, "cpu_us_per_task": 190.0, "cpu_us_without": 9.0}], complete=False)
        self.assertEqual(self.make().returncode, 0)
        self.assertIn("| consort | 190 | 9.00 |", self.page.read_text())
        self.assertIn("**stopped before its end**", self.page.read_text())

    def test_a_run_without_rows_leaves_its_block(self):
        self.page.write_text("<!-- bench: idle -->\nold\n<!-- /bench -->\n")
        self.keep("idle", [], complete=False)
        done = self.make()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.page.read_text(), "<!-- bench: idle -->\nold\n<!-- /bench -->\n")
        self.assertIn("for want of idle.json", done.stderr)

    def test_the_front_page_has_the_headline_patterns(self):
        readme = self.root / "README.md"
        readme.write_text("<!-- bench: front -->\n<!-- /bench -->\n")
        self.keep("micro", [micro("wavefront", "consort", 50.0), micro("wavefront", "tbb", 125.0), micro("wavefront", "mini", 40.0),
                            micro("wavefront", "consort", 9.0, workers=1)])
        self.assertEqual(self.make().returncode, 0)
        self.assertIn("| a wavefront, 1000 x 1000 | **50.0** | 125 (2.50x) |", readme.read_text())
        self.assertNotIn("mini", readme.read_text())

    def test_grids_and_cliffs_have_tables_and_curves(self):
        self.page.write_text("<!-- bench: grids -->\n<!-- /bench -->\n<!-- bench: cliffs -->\n<!-- /bench -->\n")
        grid = {"pattern": "grid:near:8", "shape": "near", "width": 8, "inputs": 9, "held_out": True, "workers": 2}
        self.keep("grids", [{**grid, "runtime": "consort", "ns_median": 80.0}, {**grid, "runtime": "mini", "ns_median": 40.0},
                            {**grid, "runtime": "consort", "metg_us_median": 0.5}, {**grid, "runtime": "starpu", "metg_us_median": 5.0}])
        shape = {"runtime": "consort", "policy": "lws", "workers": 1, "ns_min": 1, "line_ns": 40.0}
        self.keep("cliffs", [{**shape, "shape": "plain", "base": "", "data": 0, "ns_median": 30.0},
                             {**shape, "shape": "1 read", "base": "plain", "data": 1, "ns_median": 40.0, "increment": 10.0, "goal": 15, "allowed": 15},
                             {**shape, "shape": "name", "base": "plain", "data": 0, "ns_median": 90.0, "increment": 60.0, "goal": 5, "allowed": 5}])
        self.assertEqual(self.make().returncode, 0)
        text = self.page.read_text()
        self.assertIn("| near 8 \\* | 80.0 | 40.0 | **2.00x / 1.6** | – |", text)
        self.assertIn("| near 8 \\* | 0.50 | 5.00 | – | 0.10x (starpu) |", text)
        self.assertIn("| name | plain | 90.0 (**+60.0 / 5**) |", text)
        for picture in ("grids-cost", "grids-metg", "cliffs-data-read", "cliffs-features"):
            self.assertIn("</svg>", (self.root / "docs" / "performance" / f"{picture}.svg").read_text(), picture)

    def test_an_unknown_block_is_an_error(self):
        self.page.write_text("<!-- bench: nonsense -->\n<!-- /bench -->\n")
        done = self.make()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no block \"nonsense\"", done.stderr)

    def test_the_pages_of_the_project_have_known_blocks_and_their_pictures(self):
        names = []
        for page in (ROOT / "docs" / "performance.md", ROOT / "README.md"):
            text = page.read_text()
            names += re.findall(r"<!-- bench: (\S+) -->", text)
            for picture in re.findall(r"!\[[^]]*\]\((\S+\.svg)\)", text):
                self.assertTrue((page.parent / picture).exists(), picture)
        self.assertTrue({"micro", "cliffs", "grids", "front"} <= set(names), names)
        sys.path.insert(0, str(RUN.parent))
        from suite import page as module
        self.assertEqual(set(names) - set(module.BLOCKS), set())


if __name__ == "__main__":
    unittest.main()

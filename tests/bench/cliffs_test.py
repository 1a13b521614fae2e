#!/usr/bin/env python3
"""./run bench cliffs: every shape under its oracle, and what its rows say of programs that answer known figures.
usage: cliffs_test.py FOLDER_OF_PROGRAMS"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
BIN = Path(sys.argv.pop())
PROGRAM = """#!/usr/bin/env python3
import json, sys
o = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if o["--mode"] == "check":
    print(json.dumps({"wrong": 0, "which": ""}))
    sys.exit()
two = o["--workers"] == "2"
shapes = {"plain": {"base": "", "data": 0, "goal": 0, "lines": 0, "ns": [30, 31, 35]},
          "1 read": {"base": "plain", "data": 1, "goal": 15, "lines": 1, "ns": [44, 90, 49]},
          "value 64": {"base": "plain", "data": 0, "goal": 10, "lines": 1, "ns": [100, 141, 105]}}
print(json.dumps({"runtime": "consort", "line_ns": [40, 41, 90], "shapes": shapes}))
"""


class Cliffs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name) / "cliffs.json"

    def tearDown(self):
        self.folder.cleanup()

    def bench(self, folder, *more):
        done = subprocess.run([sys.executable, RUN, "cliffs", "--bin", folder, "--json", self.out, *more], capture_output=True, text=True)
        return done, json.loads(self.out.read_text()) if self.out.exists() else None

    def test_increments_beside_what_is_allowed(self):
        prog = Path(self.folder.name) / "cliffs-consort"
        prog.write_text(PROGRAM)
        prog.chmod(0o755)
        done, kept = self.bench(prog.parent, "--rounds", "1", "--policies", "lws")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {(r["workers"], r["shape"]): (r.get("increment"), r.get("allowed")) for r in kept["rows"]}
        self.assertEqual(found, {(1, "plain"): (None, None), (1, "1 read"): (14, 15), (1, "value 64"): (70, 10),
                                 (2, "plain"): (None, None), (2, "1 read"): (14, 97), (2, "value 64"): (70, 92)})
        self.assertIn("(+70.0 / 10 !)", done.stdout)
        self.assertIn("mini", kept["missing"])
        self.assertIn("CONSORT_BENCH_MINI", kept["missing"]["mini"])
        self.assertIn("<polyline", self.out.with_name("cliffs-data-read.svg").read_text())

    def test_every_shape_finds_its_data_and_values(self):
        for program in ("cliffs-consort", "cliffs-mini"):
            if not (BIN / program).exists():
                continue
            for policy in ("lws", "prio") if program == "cliffs-consort" else ("",):
                for workers in ("1", "2", "3"):
                    with self.subTest(program=program, policy=policy, workers=workers):
                        done = subprocess.run([BIN / program, "--mode", "check", "--workers", workers, "--n", "3000", *(["--policy", policy] * bool(policy))],
                                              capture_output=True, text=True, timeout=120)
                        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                        self.assertEqual(json.loads(done.stdout)["wrong"], 0, done.stdout)

    def test_real_rows_are_whole(self):
        done, kept = self.bench(BIN, "--rounds", "1", "--reps", "1", "--n", "500", "--policies", "lws", "--runtimes", "consort", "--workers", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        shapes = [r["shape"] for r in kept["rows"]]
        self.assertEqual(len(shapes), len(set(shapes)))
        self.assertTrue({"plain", "16 read", "16 written", "value 256", "priority", "worker", "name", "done", "after", "rich", "all"} <= set(shapes))
        for r in kept["rows"]:
            self.assertGreater(r["ns_min"], 0, r)
            self.assertEqual("increment" in r, r["shape"] != "plain", r)

    def test_an_unknown_shape_names_the_known_ones(self):
        done = subprocess.run([BIN / "cliffs-consort", "--shape", "17 read"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('"16 read"', done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""bench/run.py against programs that answer known figures: its rows, its errors, its warnings."""
import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
PROGRAM = """#!/usr/bin/env python3
import json, sys, time
from pathlib import Path
o = dict(zip(sys.argv[1::2], sys.argv[2::2]))
turns = Path(__file__).with_suffix(".turns")
turn = int(turns.read_text()) if turns.exists() else 0
if o.get("--mode") == "check":
    print(json.dumps({"wrong": %(wrong)d, "inline": %(inline)s}))
    sys.exit(1 if %(wrong)d else 0)
if o["--pattern"] in %(lacks)r:
    sys.exit(3)
turns.write_text(str(turn + 1))
if turn == %(sleeps)d:
    time.sleep(60)
print(json.dumps({"n": int(o["--n"]), "ns": [%(ns)s[turn %% len(%(ns)s)]]}))
"""


class Harness(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bin = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def program(self, runtime, ns, wrong=0, lacks=(), sleeps=-1, inline=0):
        path = self.bin / f"micro-{runtime}"
        path.write_text(PROGRAM % {"ns": ns, "wrong": wrong, "lacks": tuple(lacks), "sleeps": sleeps, "inline": inline})
        path.chmod(0o755)

    def run_micro(self, *more):
        out = self.bin / "out" / "micro.json"
        done = subprocess.run([sys.executable, RUN, "micro", "--bin", self.bin, "--json", out, "--workers", "2", "--rounds", "3", *more],
                              capture_output=True, text=True)
        return done, json.loads(out.read_text())["rows"] if out.exists() else None

    def test_minimum_and_median_of_the_rounds(self):
        self.program("consort", [50.0, 90.0, 60.0])
        self.program("starpu", [3000.0, 1000.0, 2000.0])
        done, records = self.run_micro("--patterns", "chain", "--n", "1e6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(records, [
            {"pattern": "chain", "runtime": "consort", "workers": 2, "n": 1000000, "ns_min": 50.0, "ns_median": 60.0},
            {"pattern": "chain", "runtime": "starpu", "workers": 2, "n": 100000, "ns_min": 1000.0, "ns_median": 2000.0}])
        self.assertIn("0.03x / 0.8 (starpu)", done.stdout)
        self.assertIn("<svg", (self.bin / "out" / "micro-2w.svg").read_text())

    def test_what_a_runtime_lacks_is_left_out(self):
        self.program("consort", [50.0])
        self.program("tbb", [70.0], lacks=["acquire_release"])
        done, records = self.run_micro("--patterns", "chain,acquire_release")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["pattern"], r["runtime"]) for r in records], [("chain", "consort"), ("chain", "tbb"), ("acquire_release", "consort")])

    def test_ratios_to_the_sketch_and_to_the_best_peer_beside_their_goals(self):
        for runtime, ns in (("consort", 52.0), ("mini", 40.0), ("tbb", 60.0), ("starpu", 2000.0), ("tbb-hand", 10.0)):
            self.program(runtime, [ns])
        done, _ = self.run_micro("--patterns", "chain")
        self.assertIn("1.30x / 1.3 ", done.stdout)  # reached
        self.assertIn("0.87x / 0.8 ! (tbb)", done.stdout)  # missed

    def test_a_runtime_that_runs_tasks_inline_is_marked_and_does_not_count(self):
        self.program("consort", [50.0])
        self.program("libgomp", [5.0], inline=0.9)
        self.program("tbb", [100.0], inline=0.1)
        done, records = self.run_micro("--patterns", "chain,chain_bare")
        self.assertEqual([r["runtime"] for r in records if r.get("inline")], ["libgomp"] * 2)
        self.assertEqual(done.stdout.count("0.50x / 0.8 (tbb)"), 1)
        self.assertEqual(done.stdout.count("0.50x (tbb)"), 1)
        self.assertIn("5.00 inline", done.stdout)

    def test_grids_say_what_is_held_out(self):
        self.program("consort", [50.0])
        self.program("mini", [40.0])
        out = self.bin / "grids.json"
        done = subprocess.run([sys.executable, RUN, "grids", "--bin", self.bin, "--json", out, "--rounds", "1", "--metg-rounds", "0",
                               "--shapes", "stencil,near"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(out.read_text())["rows"]
        self.assertEqual([(r["pattern"], r["held_out"]) for r in rows if r["runtime"] == "consort"],
                         [("grid:stencil:6", False), ("grid:stencil:96", False), ("grid:stencil:1500", False),
                          ("grid:near:8", True), ("grid:near:120", True), ("grid:near:1200", True)])
        self.assertIn("near 120 *", done.stdout)
        self.assertIn("cost, widths up to 200, held out: 1.25x the sketch, – the best peer", done.stdout)

    def test_more_workers_than_cores_beside_as_many(self):
        self.program("consort", [50.0, 100.0, 130.0])  # with 2, 4, 8 workers
        done = subprocess.run([sys.executable, RUN, "crowded", "--bin", self.bin, "--rounds", "1", "--workers", "2,4,8", "--patterns", "chain"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("100 (2.00x / 2.5)", done.stdout)
        self.assertIn("130 (2.60x / 2.5 !)", done.stdout)

    def test_a_peer_that_is_not_built_is_named_with_its_package(self):
        self.program("consort", [50.0])
        done, _ = self.run_micro("--patterns", "chain")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("libstarpu-dev", done.stderr)

    def test_a_wrong_order_fails_the_run(self):
        self.program("consort", [50.0], wrong=3)
        done, _ = self.run_micro("--patterns", "chain")
        self.assertEqual(done.returncode, 1)
        self.assertIn("WRONG: consort chain", done.stderr)

    def test_a_run_that_is_stopped_keeps_its_rows(self):
        for stop in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(stop):
                self.program("consort", [50.0, 90.0, 60.0, 70.0], sleeps=4)  # in the second round of the second pattern
                out, turns = self.bin / "stopped.json", self.bin / "micro-consort.turns"
                turns.unlink(missing_ok=True)
                run = subprocess.Popen([sys.executable, RUN, "micro", "--bin", self.bin, "--json", out, "--workers", "2", "--rounds", "3",
                                        "--no-check", "--patterns", "chain,wavefront", "--runtimes", "consort"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
                while run.poll() is None and not (turns.exists() and turns.read_text() == "5"):
                    time.sleep(0.05)
                run.send_signal(stop)
                said = run.communicate(timeout=30)[1]
                self.assertEqual(run.returncode, 130, said)
                kept = json.loads(out.read_text())
                self.assertFalse(kept["complete"])
                self.assertEqual([(r["pattern"], r["ns_median"]) for r in kept["rows"]], [("chain", 60.0), ("wavefront", 70.0)])

    def test_no_programs_says_how_to_build_them(self):
        done = subprocess.run([sys.executable, RUN, "micro", "--bin", self.bin / "nowhere"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cmake --build", done.stderr)


if __name__ == "__main__":
    unittest.main()

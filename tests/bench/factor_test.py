#!/usr/bin/env python3
"""The factorisations of the benchmark are right by every runtime that was built, and a wrong one is told.
usage: factor_test.py FOLDER_OF_PROGRAMS"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from suite import factor  # noqa: E402

FOLDER = Path(sys.argv.pop(1))


def run(runtime, *options):
    return subprocess.run([FOLDER / f"factor-{runtime}", *map(str, options)], capture_output=True, text=True, timeout=120)


class Factorisations(unittest.TestCase):
    def right(self, runtime, app, n, tile):
        done = run(runtime, "--app", app, "--n", n, "--tile", tile, "--reps", 1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        got = json.loads(done.stdout)
        self.assertEqual((got["runtime"], got["app"], got["n"]), (runtime, app, n))
        self.assertLess(got["residual"], 1e-5)
        self.assertGreater(got["residual"], 1e-12)  # of single precision: not of a matrix that nobody factorised

    def test_each_application_by_each_runtime(self):
        for runtime in ("consort", "starpu", "openblas"):
            if not (FOLDER / f"factor-{runtime}").exists():
                continue
            for app in factor.NAMES:
                for n, tile in ((384, 64), (384, 48), (128, 128), (60, 20)):
                    with self.subTest(runtime=runtime, app=app, n=n, tile=tile):
                        self.right(runtime, app, n, tile)

    def test_bad_options_are_refused(self):
        for options in (["--app", "svd"], ["--n", 100, "--tile", 33], ["--n", 0], ["--what", 1]):
            done = run("consort", *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--app cholesky|lu|qr", done.stderr)

    def test_a_wrong_result_ends_the_benchmark_with_an_error(self):
        row = {"runtime": "consort", "app": "qr", "n": 4096, "tile": 64, "residual": 3e-7}
        self.assertEqual(factor.wrong([row]), 0)
        self.assertEqual(factor.wrong([row, row | {"residual": 0.2}]), 1)
        self.assertEqual(factor.wrong([row | {"residual": float("nan")}]), 1)


if __name__ == "__main__":
    unittest.main()

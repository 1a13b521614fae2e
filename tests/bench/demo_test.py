#!/usr/bin/env python3
"""The demo factorises the given matrix, with tiles that do not divide it evenly too, and reports true figures.
usage: demo_test.py PROGRAM"""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()


OPENCL = {"CONSORT_DRIVERS": "cpu,opencl", "CONSORT_OPENCL__TYPES": "all", "CONSORT_OPENCL__CACHE": "off",
          "POCL_DEVICES": "pthread pthread"}
SIMULATED = {"CONSORT_DRIVERS": "cpu,sim", "CONSORT_SIM__DEVICES": "2", "CONSORT_SIM__CLASS": "cpu"}
DOUBLES = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "tests", "doubles")
NO_CORES = {"CONSORT_CPU__UNITS": "false"}


def demo(*options, **environment):
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def figure(text, label):
    return float(re.search(rf"{label}\s+([\d.e+-]+)", text).group(1))


class Demo(unittest.TestCase):
    def test_the_factor_is_right_and_every_task_is_counted(self):
        for n, tile, workers in [(512, 128, 2), (600, 128, 2), (300, 64, 1), (100, 256, 2), (1, 1, 1), (515, 64, 4)]:
            done = demo("--n", str(n), "--tile", str(tile), "--workers", str(workers))
            if workers == 4 and done.returncode != 0:  # a machine of two cores may refuse
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(figure(done.stdout, "residual"), 1e-6)
            side = -(-n // min(tile, n))
            self.assertEqual(figure(done.stdout, "tasks"), side * (side + 1) * (side + 2) // 6)

    def right(self, n, tile, **environment):
        done = demo("--n", str(n), "--tile", str(tile), **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(figure(done.stdout, "residual"), 1e-6)
        return done.stdout

    def test_on_opencl_devices_alone_and_beside_others(self):
        refused = demo("--n", "1", **OPENCL, **NO_CORES)
        if refused.returncode == 1 and re.search('no driver offers a unit|plugin "opencl"', refused.stderr):
            self.skipTest(f"no OpenCL device here: {refused.stderr}")
        for n, tile in [(1, 1), (100, 100), (515, 64), (300, 100)]:
            shares = self.right(n, tile, **OPENCL, **NO_CORES)
            self.assertNotRegex(shares, r"\n  cpu\d+ ")
            self.assertRegex(shares, r"\n  opencl\d+ ")
        self.right(515, 64, **OPENCL)
        self.right(515, 64, **{**OPENCL, **SIMULATED, "CONSORT_DRIVERS": "cpu,opencl,sim"})

    def test_on_cores_and_gpus(self):
        """Over the doubles of the vendors' libraries, BLAS' included, which report wrong calls on stderr."""
        ran = 0
        for driver, blas, library in [("cuda", "cublas", "libcuda_double.so"), ("hip", "rocblas", "libamdhip64_double.so")]:
            library = os.path.join(DOUBLES, library)
            if not os.path.exists(library) or blas.encode() not in Path(library).read_bytes():
                continue
            name = f"CONSORT_{driver.upper()}__"
            gpu = {"CONSORT_DRIVERS": "cpu," + driver, name + "LIBRARY": library, name + blas.upper(): library,
                   name + "CACHE": "off", "CONSORT_DOUBLE": "devices=2,memory=64M"}
            if driver == "cuda":
                gpu[name + "CUSOLVER"] = library
            shares = {}
            for n, tile in [(100, 100), *[(515, 32)] * 10]:  # until a GPU has had a task: the cores are quick
                if any(float(share) for worker, share in shares.items() if worker.startswith(driver)):
                    break
                done = demo("--n", str(n), "--tile", str(tile), "--workers", "1", "--scheduler", "eager", **gpu)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("double:", done.stderr)
                self.assertLess(figure(done.stdout, "residual"), 1e-6)
                shares = dict(re.findall(r"\n  (\w+) +([\d.]+) % of the tasks", done.stdout))
            self.assertGreater(sum(float(share) for worker, share in shares.items() if worker.startswith(driver)), 0, shares)
            if driver == "cuda":  # its potrf is another library's
                done = demo("--n", "200", "--tile", "50", **{**gpu, name + "CUSOLVER": "/nowhere/libcusolver.so"})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("potrf is left to the cores", done.stderr)
                self.assertLess(figure(done.stdout, "residual"), 1e-6)
            ran += 1
        if not ran:
            self.skipTest("no double of a GPU's library with its BLAS here: the vendors' headers were not found")

    def test_on_simulated_devices(self):
        self.right(515, 64, **SIMULATED)
        self.right(515, 64, **{**SIMULATED, **NO_CORES, "CONSORT_SIM__CLASS": "opencl"})

    def test_shares_sum_to_all_tasks(self):
        done = demo("--n", "1024", "--tile", "128", "--workers", "2")
        shares = [float(x) for x in re.findall(r"([\d.]+) % of the tasks", done.stdout)]
        self.assertEqual(len(shares), 2)
        self.assertAlmostEqual(sum(shares), 100, delta=0.2)
        cost = figure(done.stdout, "runtime's cost")
        self.assertTrue(0 <= cost <= 100, done.stdout)

    def test_no_bar_where_there_is_no_terminal(self):
        self.assertNotIn("\r", demo("--n", "256", "--tile", "64").stdout)

    def test_bad_options_are_refused(self):
        for options in [("--n", "0"), ("--tile", "x"), ("--n",), ("--what", "1"), ("--workers", "")]:
            self.assertEqual(demo(*options).returncode, 2, options)
        done = demo("--scheduler", "nosuch")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nosuch", done.stderr)
        self.assertEqual(demo("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()

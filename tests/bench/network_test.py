#!/usr/bin/env python3
"""The programs of `./run bench network` check what they time, and its tables say which goal is missed.
usage: network_test.py FOLDER_OF_PROGRAMS"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
from suite import network, rows as suite_rows  # noqa: E402

FOLDER = Path(sys.argv.pop(1))
# A rank that answers as a program of the benchmark does.
PROGRAM = """#!/bin/sh
echo '{"runtime": "memcpy", "wrong": %d, "rows": [{"bytes": 64, "ns": 1, "bytes_per_s": 1}]}'
exit %d
"""


def run(*words, folder=FOLDER):
    with tempfile.TemporaryDirectory() as out:
        file = Path(out) / "network.json"
        done = subprocess.run([sys.executable, BENCH / "run.py", "network", "--bin", folder, "--json", file, "--rounds", "1", *words],
                              capture_output=True, text=True, timeout=250)
        return done, json.loads(file.read_text()) if file.exists() else None


def message(transport, runtime, size, ns, rate):
    return {"part": "messages", "transport": transport, "runtime": runtime, "bytes": size, "ns": ns, "bytes_per_s": rate}


class Network(unittest.TestCase):
    def test_messages_of_each_length_arrive(self):
        done, got = run("--parts", "messages", "--transports", "shm", "--scale", "0.01")
        self.assertEqual(done.returncode, 0, done.stderr)
        lengths = [8, 64, 512, 4096, 32768, 262144, 1 << 20, 4 << 20, 16 << 20]
        for runtime in ("consort", "memcpy"):
            mine = [r for r in got["rows"] if r["runtime"] == runtime]
            self.assertEqual([r["bytes"] for r in mine], lengths, done.stderr)
            self.assertTrue(all(r["ns"] > 0 and r["bytes_per_s"] > 0 for r in mine))

    def test_messages_between_namespaces_where_they_can_be_made(self):
        done, got = run("--parts", "namespaces", "--scale", "0.1")
        if "namespaces" in got["missing"] or not got["rows"]:
            self.skipTest(f"no namespaces or no libfabric: {got['missing']}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(all(r["ns"] > 100e3 for r in got["rows"]), got["rows"])  # the relay's delay

    def test_tasks_of_two_ranks_have_their_results(self):
        if not (FOLDER / "network-ranks-consort").exists():
            self.skipTest("no OpenBLAS")
        done, got = run("--parts", "chain,cholesky", "--ranks", "2", "--steps", "50", "--n", "384", "--tiles", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("wrong", got)
        mine = [r for r in got["rows"] if r["runtime"] == "consort"]
        self.assertEqual([(r["part"], r["ranks"]) for r in mine], [("chain", 2), ("cholesky", 2)], done.stderr)
        done, got = run("--parts", "dropped", "--tasks", "2000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(got["rows"][0]["ns"], 0)

    def test_missing_peers_switch_off_their_rows_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "network-memcpy"
            program.write_text(PROGRAM % (0, 0))
            program.chmod(0o755)
            done, got = run("--parts", "messages", "--transports", "shm,ofi", folder=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([r["runtime"] for r in got["rows"]], ["memcpy"])
            self.assertEqual(got["missing"]["libfabric"], "its package is missing: libfabric-dev")
            self.assertEqual(done.stderr.count("no libfabric: "), 1)
            program.write_text(PROGRAM % (1, 1))
            done, got = run("--parts", "messages", "--transports", "shm", folder=folder)
            self.assertEqual((done.returncode, got["rows"]), (1, []))
            self.assertIn("WRONG: shm memcpy", done.stderr)

    def test_tables_say_which_goal_is_missed(self):
        found = suite_rows.Rows("network", [], None, None)
        found.add([message("ofi", who, size, ns, rate) for who, ns, rate in (("consort", 14e3, 2e9), ("libfabric", 10e3, 2e9))
                   for size in (network.LATENCY_BYTES, network.BANDWIDTH_BYTES)])
        self.assertEqual(network.messages_table(found)[1], [["ofi, libfabric", "14.0", "10.0", "1.40x / 1.3 !", "2.00", "2.00", "1.00x / 0.95"]])
        found.add([{"part": "chain", "runtime": r, "ranks": 2, "ns": ns} for r, ns in (("consort", 10e3), ("consort-mpi", 50e3), ("starpu", 100e3))])
        found.add([{"part": "cholesky", "runtime": r, "ranks": 2, "n": 256, "tile": 64, "gflops": g} for r, g in (("consort", 9), ("openmpi", 10))])
        self.assertEqual(network.tasks_table(found)[1], [
            ["chain, 2 ranks: us", "10.0", "50.0", "100", "–", "0.10x / 0.2", "0.50x / 0.2 !", "–"],
            ["Cholesky 256/64, 2 ranks: GFlop/s", "9.00", "–", "–", "10.0", "–", "–", "0.90x / 0.95 !"]])
        found.add({"part": "dropped", "runtime": "consort", "n": 10, "ns": 41.0, "instructions": None})
        self.assertEqual(network.dropped_table(found)[1], [["two data and a value", "41.0", 40, "–", "goal missed"]])


if __name__ == "__main__":
    unittest.main()

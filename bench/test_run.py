#!/usr/bin/env python3
"""Tests of the harness: the statistics against brute force, and run.py with programs that lie."""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stats

HERE = pathlib.Path(__file__).resolve().parent
# Stands in for a runtime. HOW says what it does; it answers with VALUE.
FAKE = r"""#!%s
import json, os, signal, sys, time
HOW, VALUE = %r, %r
if "-list" in sys.argv:
    print("yield\nfib")
    sys.exit(0)
line = {"runtime": "fake", "version": "1", "workload": sys.argv[1], "procs": int(sys.argv[3]),
        "n": int(sys.argv[5]), "value": VALUE, "unit": "ns per switch", "cpu_ms": 1.0}
if HOW == "exit":
    sys.exit("it broke")
elif HOW == "signal":
    os.kill(os.getpid(), signal.SIGKILL)
elif HOW == "hang":
    time.sleep(60)
elif HOW == "text":
    print("hello")
elif HOW == "twice":
    print(json.dumps(line))
elif HOW == "cpus":
    line["value"] = len(os.sched_getaffinity(0))
elif HOW == "tuning":
    line["value"] = len([k for k in os.environ if k.startswith(("WEFT_", "GOGC"))])
line.update({"procs": {"procs": 99}, "unit": {"unit": "parsec"}, "nan": {"value": float("nan")},
             "bool": {"value": True}}.get(HOW, {}))
print(json.dumps(line))
"""


def brute_force_p(a, b):
    ranks = stats.ranks_doubled(a + b)
    expected = len(a) * (len(ranks) + 1)
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(a))]
    here = abs(sum(ranks[:len(a)]) - expected)
    return sum(abs(s - expected) >= here for s in sums) / len(sums)


class Statistics(unittest.TestCase):
    def test_five_separate_runs_give_two_in_252(self):
        self.assertAlmostEqual(stats.mann_whitney_p([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 2 / 252)

    def test_equal_runs_give_one(self):
        self.assertEqual(stats.mann_whitney_p([7] * 5, [7] * 5), 1)

    def test_p_is_that_of_all_permutations(self):
        for a, b in [([1, 5, 3, 9, 2], [4, 6, 8, 7, 10]), ([1, 1, 2, 2, 3], [2, 3, 3, 4, 4]),
                     ([1, 2, 3], [4, 5, 6, 7, 1]), ([5, 5, 5, 5, 6], [5, 6, 6, 6, 6])]:
            self.assertAlmostEqual(stats.mann_whitney_p(a, b), brute_force_p(a, b))

    def test_verdicts(self):
        go = [10, 10.1, 10.2, 10.3, 10.4]
        for values, up, down in [([5, 6, 7, 8, 9], "ahead", "behind"),
                                 ([15, 16, 17, 18, 19], "behind", "ahead"),
                                 ([5, 6, 7, 8, 10.35], "within noise", "within noise"),
                                 ([9.8, 9.81, 9.82, 9.83, 9.84], "within noise", "within noise")]:
            self.assertEqual(stats.verdict(values, go)[1], up)
            self.assertEqual(stats.verdict(values, go, lower_is_better=False)[1], down)


class Harness(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)

    def fake(self, name, how="", value=1.0):
        path = self.top / name
        path.write_text(FAKE % (sys.executable, how, value))
        path.chmod(0o755)
        return f"--runtime={name}={path}"

    def run_it(self, *arguments, **variables):
        return subprocess.run([sys.executable, HERE / "run.py", "--build", self.top / "build",
                               *arguments], capture_output=True, text=True, timeout=900,
                              env=dict(os.environ, **variables))

    def compare(self, how, *arguments, value=1.0, **variables):
        """weft lies as told, Go does not; the JSON report's only row, and the process."""
        report = self.top / "report.json"
        done = self.run_it(self.fake("weft", how, value), self.fake("go", value=2.0),
                           "--only=^yield$", "--json", report, *(arguments or ["--procs=1"]),
                           **variables)
        self.assertTrue(report.exists(), done.stderr)
        return json.loads(report.read_text())["rows"], done

    def test_ratio_and_verdict(self):
        rows, done = self.compare("", "--procs=2,1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["procs"] for row in rows], [1, 2])
        weft = rows[1]["runtimes"]["weft"]
        self.assertEqual((weft["ratio"], weft["verdict"], weft["to_one_p"]), (0.5, "ahead", 1))
        self.assertEqual(len(weft["runs"]), 5)
        self.assertIn("ahead (p 0.008)", done.stdout)

    def test_runs_are_interleaved(self):
        _, done = self.compare("")
        order = [line.split()[3] for line in done.stderr.splitlines() if "procs 1" in line]
        self.assertEqual(order, ["weft:", "go:", "go:", "weft:"] * 2 + ["weft:", "go:"])

    def test_one_p_is_held_to_one_cpu(self):
        rows, _ = self.compare("cpus", "--procs=1,2")
        self.assertEqual(rows[0]["runtimes"]["weft"]["max"], 1)
        self.assertEqual(rows[1]["runtimes"]["weft"]["min"], len(os.sched_getaffinity(0)))

    def test_tuning_variables_do_not_reach_the_programs(self):
        rows, _ = self.compare("tuning", "--procs=1", WEFT_PROCS="7", GOGC="1")
        self.assertEqual(rows[0]["runtimes"]["weft"]["max"], 0)

    def test_a_failure_is_never_a_result(self):
        for how, says in [("exit", "it broke"), ("signal", "signal 9"), ("text", "JSON"),
                          ("twice", "JSON"), ("procs", "procs differ"), ("nan", "value is nan"),
                          ("bool", "value is True"), ("hang", "not done after 1 s")]:
            rows, done = self.compare(how, "--procs=1",
                                      f"--timeout={1 if how == 'hang' else 300}")
            self.assertEqual(done.returncode, 1, how)
            weft = rows[0]["runtimes"]["weft"]
            self.assertIn(says, weft["fault"])
            self.assertNotIn("verdict", weft)
            self.assertIn("FAILED", done.stdout)

    def test_different_units_are_not_compared(self):
        done = self.run_it(self.fake("weft", "unit"), self.fake("go"), "--only=^yield$",
                           "--procs=1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("different units", done.stderr)

    def test_missing_go_is_said_and_is_no_failure(self):
        tools = self.top / "tools"
        tools.mkdir()
        (tools / "taskset").symlink_to("/usr/bin/taskset")
        done = self.run_it(self.fake("weft"), "--only=^yield$", "--procs=1", PATH=str(tools))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("go is missing: no go command on PATH", done.stdout)
        self.assertNotIn("ahead", done.stdout)

    def test_missing_weft_is_a_failure(self):
        done = self.run_it(self.fake("go"), "--only=^yield$", "--procs=1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("weft is missing", done.stdout)

    def test_fallback_and_unknown_workload(self):
        report = self.top / "report.json"
        done = self.run_it(self.fake("weft"), self.fake("go"), "--only=^(fib-child|spawn)",
                           "--procs=1", "--quick", "--json", report)
        spawn, child = json.loads(report.read_text())["rows"]
        self.assertEqual(spawn["runtimes"]["weft"]["skipped"], "has no such workload")
        self.assertEqual(child["runtimes"]["weft"]["workload"], "fib")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_bad_arguments(self):
        for bad in ["--reps=4", "--reps=x", "--procs=0", "--procs=1,1", "--procs=", "--only=(",
                    "--only=nothing", "--timeout=0", "--runtime=x", "--runtime=x=/no/such",
                    "--json=/no/such/file", "--nonsense", "stray"]:
            done = self.run_it(bad)
            self.assertEqual(done.returncode, 2, bad)
            self.assertIn("run.py: error:", done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""bench/instructions.py [--bench PROGRAM] [--json] [ROW ...]: instructions per operation.

Counts with valgrind's callgrind, at one P. Times depend on the machine and on its other work;
instruction counts repeat. Each row runs twice, with N and with 3 * N operations. The difference
divided by 2 * N is the price of one operation, without start and end of the run.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
BENCH = TOP / "build" / "release" / "bench" / "weft" / "weft-bench"
# row: (N, operations that one unit of -n is)
ROWS = {"yield": 20000, "spawn": 5000, "pingpong": 5000, "pipe": 20000, "select": 5000,
        "mutex": 16000, "timer-churn": 5000, "region": 20000, "echo-100": 2000}


def count(bench, row, n):
    """Instructions of the whole process, all threads."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(bench),
         "-procs", "1", "-n", str(n), row], text=True, capture_output=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"instructions: {row}: {done.stderr.strip()[-500:] or done.returncode}")
    return int(found[1])


def per_operation(bench, row):
    n = ROWS[row]
    return (count(bench, row, 3 * n) - count(bench, row, n)) / (2 * n)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", type=pathlib.Path, default=BENCH, help="the program to count")
    parser.add_argument("--json", action="store_true", help="one line of JSON per row")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(ROWS))
    options = parser.parse_args()
    unknown = [row for row in options.rows if row not in ROWS]
    if unknown:
        parser.error(f"unknown row {unknown[0]}; rows: {' '.join(ROWS)}")
    if not options.bench.exists():
        sys.exit(f"instructions: {options.bench} is missing: tools/build release")
    for row in options.rows or ROWS:
        n = per_operation(options.bench, row)
        print(json.dumps({"row": row, "instructions": round(n, 1)}) if options.json
              else f"{row:12} {n:10.1f} instructions per operation", flush=True)


main()

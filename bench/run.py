#!/usr/bin/env python3
"""Compares weft with Go, workload by workload, in interleaved runs; echo with a bare loop too.

Within each row and number of Ps the programs take turns, run by run, and another program begins
each round, so that a slow moment of the machine affects all of them. Runs with one P use one CPU.
Ratios are medians against Go's median of the same turns. bench/stats.py has the rule for "ahead",
"behind" and "within noise". Exit status: 0, 1 if something failed or weft is missing, 2 for bad
arguments.
"""
import argparse
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import sys

import programs
import stats

TOP = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = "go"


class Row(collections.namedtuple(
        "Row", "name workload n quick fallback procs mib lower_is_better",
        defaults=(None, None, 0, True))):
    """One line of the comparison.

    n, quick: the size, in full and with --quick (None: not run then). fallback: what a program
    without this workload runs instead. procs: the only numbers of Ps that make sense, or None.
    mib: memory that must be available.
    """


ROWS = [
    Row("yield", "yield", 10_000_000, 1_000_000),
    Row("spawn", "spawn", 1_000_000, 100_000),
    Row("fib", "fib", 30, 22),
    Row("fib-child-first", "fib-child-first", 30, 22, fallback="fib"),
    Row("mutex", "mutex", 800_000, 80_000),
    Row("mutex-4", "mutex-4", 400_000, 40_000),
    Row("pingpong", "pingpong", 2_000_000, 200_000),
    Row("pipe", "pipe", 5_000_000, 500_000),
    Row("pipe-4x4", "pipe-4x4", 5_000_000, 500_000),
    Row("select", "select", 2_000_000, 200_000),
    Row("sleep", "sleep", 100_000, 10_000, mib=2000),
    Row("timer-churn", "timer-churn", 1_000_000, 100_000),
    Row("wake", "wake", 2_000, 200),
    Row("region", "region", 10_000_000, 1_000_000, procs=(1,)),
    Row("block", "block", 1_000, 200, procs=(1,), lower_is_better=False),
    Row("hog", "hog", 1_000, 200, procs=(1,)),
    Row("resize", "resize", 2_000, 200, procs=(1,)),
    Row("stop", "stop", 2_000, 200),
    Row("echo-100", "echo-100", 200_000, 20_000, procs=(1,), lower_is_better=False),
    Row("echo-1k", "echo-1k", 200_000, 20_000, procs=(1,), lower_is_better=False),
    Row("echo-10k", "echo-10k", 200_000, 20_000, procs=(1,), lower_is_better=False),
    Row("dial", "dial", 2_000, 200),
    Row("skynet", "skynet", 1_000_000, 100_000, mib=1500),
    Row("skynet-child-first", "skynet-child-first", 1_000_000, 100_000, fallback="skynet", mib=500),
    Row("parked", "parked", 100_000, 10_000, mib=1000),
    Row("parked-1m", "parked", 1_000_000, None, procs=(1,), mib=7000),
]


class Cell:
    """What one program did in one row with one number of Ps."""

    def __init__(self, workload):
        self.workload, self.runs = workload, []
        self.skipped = None if workload else "has no such workload"
        self.fault = None

    def void(self):
        return self.fault or self.skipped

    def values(self, field="value"):
        return [r[field] for r in self.runs]


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- Arguments -----------------------------------------------------------------------------------

def number_list(text):
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers like 1,2,4") from None
    if not all(1 <= n <= 1024 for n in numbers) or len(set(numbers)) < len(numbers):
        raise argparse.ArgumentTypeError(f"'{text}': different numbers from 1 to 1024, please")
    return sorted(numbers)


def repetitions(text):
    if not text.isdecimal() or not 5 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"'{text}': 5 to 100; fewer than 5 runs show nothing")
    return int(text)


def seconds(text):
    if not text.isdecimal() or not 1 <= int(text) <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}': seconds, 1 to 3600")
    return int(text)


def pattern(text):
    try:
        compiled = re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from None
    if not any(compiled.search(row.name) for row in ROWS):
        raise argparse.ArgumentTypeError(
            f"'{text}' matches none of {', '.join(row.name for row in ROWS)}")
    return compiled


def named_path(text):
    name, equals, path = text.partition("=")
    if not re.fullmatch(r"\w[\w.-]*", name) or not equals or not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PROGRAM with a program to run")
    return name, pathlib.Path(path).resolve()


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="rows: " + ", ".join(row.name for row in ROWS))
    parser.add_argument("--only", metavar="REGEX", type=pattern, default=re.compile(""),
                        help="rows whose name matches")
    parser.add_argument("--reps", metavar="N", type=repetitions, default=5,
                        help="runs of each program in each row, at least 5 (default 5)")
    parser.add_argument("--procs", metavar="LIST", type=number_list, default=[1, 2, 4],
                        help="numbers of Ps (default 1,2,4)")
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, not a claim")
    parser.add_argument("--timeout", metavar="S", type=seconds, default=60,
                        help="seconds that one run may take (default 60)")
    parser.add_argument("--json", metavar="FILE", type=argparse.FileType("w"),
                        help="also write every run and the comparison to FILE")
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path,
                        default=TOP / "build" / "release", help="where to build (build/release)")
    parser.add_argument("--runtime", metavar="NAME=PROGRAM", type=named_path, action="append",
                        default=[], help="one more program, or another one under a known name")
    options = parser.parse_args()
    if 1 in options.procs and not shutil.which("taskset"):
        parser.error("runs with one P need taskset (util-linux)")
    return options


# ---- Measuring -----------------------------------------------------------------------------------

def collect_programs(options):
    """({name: Program}, {name: why it is not there}, whether that is a failure)."""
    there, absent, failed = {}, {}, False
    given = dict(options.runtime)
    for name in dict.fromkeys([*programs.BUILDERS, *given]):
        try:
            path = given[name] if name in given else programs.BUILDERS[name](options.build)
            there[name] = programs.Program(name, path)
        except programs.Missing as reason:
            absent[name] = f"missing: {reason}"
            failed |= name != REFERENCE and name not in programs.FLOORS
        except programs.Broken as reason:
            absent[name] = f"broken: {reason}"
            failed = True
    for name, why in absent.items():
        say(f"{name} is {why}")
    return there, absent, failed


def available_mib():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) // 1024


def run_once(program, cell, row, procs, n, options):
    pin = max(os.sched_getaffinity(0)) if procs == 1 else None
    label = f"{row.name} procs {procs} {program.name}"
    try:
        if available_mib() < row.mib:
            raise programs.Missing(f"needs {row.mib} MiB of memory, {available_mib()} are free")
        answer = programs.run(program, cell.workload, procs, n, pin, options.timeout)
        cell.runs.append(answer)
        say(f"{label}: {answer['value']:.4g} {answer['unit']}")
    except programs.Missing as reason:
        cell.skipped = str(reason)
        say(f"{label}: {reason}")
    except programs.Broken as reason:
        cell.fault = str(reason)
        say(f"{label}: {reason}")


def measure(row, procs, n, there, options):
    """All repetitions of one row; a program that fails is not run again in this row."""
    cells = {name: Cell(p.pick(row)) for name, p in there.items()
             if p.pick(row) or name not in programs.FLOORS}
    order = list(cells)
    for _ in range(options.reps):
        for name in order:
            if not cells[name].void():
                run_once(there[name], cells[name], row, procs, n, options)
        order.append(order.pop(0))
    units = {r["unit"] for cell in cells.values() for r in cell.runs}
    if len(units) > 1:
        raise SystemExit(f"run.py: {row.name} is measured in different units: {sorted(units)}")
    return cells


# ---- Reporting -----------------------------------------------------------------------------------

def summary(row, cells, name, one_p):
    """What the table and the JSON report about one cell."""
    cell = cells[name]
    if cell.void():
        return {"fault": cell.fault, "skipped": cell.skipped, "runs": cell.runs}
    values, reference = cell.values(), cells.get(REFERENCE)
    line = {"median": statistics.median(values), "min": min(values), "max": max(values),
            "unit": cell.runs[0]["unit"], "workload": cell.workload, "runs": cell.runs}
    if one_p and not one_p.void():
        line["to_one_p"] = stats.ratio(values, one_p.values())
    if name != REFERENCE and reference and not reference.void():
        line["ratio"] = stats.ratio(values, reference.values())
        line["p"], line["verdict"] = stats.verdict(values, reference.values(), row.lower_is_better)
        if all("cpu_ms" in r for r in cell.runs + reference.runs):
            line["cpu_ratio"] = stats.ratio(cell.values("cpu_ms"), reference.values("cpu_ms"))
    return line


def table_line(entry, name, line):
    head = f"{entry['row']:16} {entry['n']:9} {entry['procs']:3}  {name:8}"
    if line.get("fault"):
        return f"{head} FAILED: {line['fault']}"
    if line.get("skipped"):
        return f"{head} not measured: {line['skipped']}"

    def cell(key):
        return f"{line[key]:7.2f}" if line.get(key) is not None else "      -"
    text = f"{head} {line['median']:10.5g} {line['min']:10.5g} {line['max']:10.5g}"
    text += f"  {line['unit']:17} {cell('ratio')} {cell('cpu_ratio')} {cell('to_one_p')}"
    return text + (f"  {line['verdict']} (p {line['p']:.3f})" if "verdict" in line else "")


HEADER = (f"{'row':16} {'n':>9} {'Ps':>3}  {'runtime':8} {'median':>10} {'min':>10} {'max':>10}"
          f"  {'unit':17} {'x Go':>7} {'CPU':>7} {'x 1 P':>7}")
LEGEND = """
x Go: median to Go's median.  CPU: the same for the CPU time of the whole process.  x 1 P: to the
same program with one P (held to one CPU).  The rule behind the last column is in bench/stats.py."""


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"cpu": model[1] if model else platform.machine(),
            "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "load": os.getloadavg()[0]}


def print_report(report, absent, options):
    about = report["machine"]
    print(f"{about['cpu']}, {about['cpus']} CPUs, Linux {about['kernel']}; "
          f"{options.reps} runs each; load {about['load']:.1f} before, "
          f"{about['load_after']:.1f} after")
    if about["load"] > 0.5:
        print("The machine was busy before this began: these figures are worth less.")
    if options.quick:
        print("Small sizes (--quick): a look, not a claim.")
    for name, why in absent.items():
        print(f"{name} is {why}")
    for name, version in report["versions"].items():
        print(f"{name} {version}")
    print(HEADER)
    for entry in report["rows"]:
        for name, line in entry["runtimes"].items():
            print(table_line(entry, name, line))
    print(LEGEND)


def add_row(report, row, procs, n, cells, one_p):
    for name, cell in cells.items():
        for answer in cell.runs:
            report["versions"][name] = answer.get("version", "of unknown version")
    report["rows"].append({"row": row.name, "n": n, "procs": procs, "runtimes": {
        name: summary(row, cells, name, one_p.get(name)) for name in cells}})


def main():
    options = arguments()
    there, absent, failed = collect_programs(options)
    report = {"machine": machine(), "reps": options.reps, "quick": options.quick,
              "absent": absent, "versions": {}, "rows": []}
    for row in ROWS if there else []:
        n, one_p = row.quick if options.quick else row.n, {}
        if not options.only.search(row.name) or n is None:
            continue
        for procs in options.procs:
            if row.procs and procs not in row.procs:
                continue
            cells = measure(row, procs, n, there, options)
            one_p = cells if procs == 1 else one_p
            failed |= any(cell.fault for cell in cells.values())
            add_row(report, row, procs, n, cells, one_p)
    report["machine"]["load_after"] = os.getloadavg()[0]
    print_report(report, absent, options)
    if options.json:
        json.dump(report, options.json, indent=1)
        options.json.write("\n")
    return 1 if failed or not there else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

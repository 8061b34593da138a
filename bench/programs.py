"""The programs that run.py compares: builds them, finds them, runs one of them once.

A program takes a workload's name, -procs and -n, and prints one line of JSON; -list names its
workloads. A missing program is reported as missing and never becomes a result.
"""
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# Environment variables that would change what is measured.
TUNING = ("WEFT_", "GOMAXPROCS", "GOGC", "GODEBUG", "GOMEMLIMIT")
BUILD_SECONDS = 600


class Missing(Exception):
    """This program is not available here; the text says why."""


class Broken(Exception):
    """This program should work and does not; the text says why."""


class Program:
    def __init__(self, name, path):
        self.name, self.path = name, str(path)
        done = call([self.path, "-list"], 10)
        self.workloads = done.stdout.split()
        if done.returncode != 0 or not self.workloads:
            raise Broken(f"{self.path} -list: {complaint(done)}")

    def pick(self, row):
        """The name under which this program runs a row, or None."""
        return next((w for w in (row.workload, row.fallback) if w in self.workloads), None)


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(TUNING)}


def call(command, seconds, **kwargs):
    """Runs a command in its own process group, which is killed after the given time."""
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 stdin=subprocess.DEVNULL, start_new_session=True, **kwargs)
    except OSError as error:
        raise Broken(f"{command[0]}: {error.strerror}") from error
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise Broken(f"not done after {seconds} s") from error
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def complaint(done):
    lines = (done.stderr or done.stdout).strip().split("\n")
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    return f"{how}, {lines[0] or 'nothing said'}"


def build_target(build, target, path):
    if not (build / "CMakeCache.txt").exists():
        raise Missing(f"{build} is not a configured build; `make build` makes one")
    done = call(["cmake", "--build", str(build), "--target", target], BUILD_SECONDS)
    if done.returncode != 0:
        raise Broken(f"building {target} failed:\n{done.stdout}{done.stderr}")
    return build / "bench" / path / target


def build_weft(build):
    return build_target(build, "weft-bench", "weft")


def build_epoll(build):
    return build_target(build, "epoll-bench", "echo")


def build_go(build):
    if not shutil.which("go"):
        raise Missing("no go command on PATH")
    target = build.resolve() / "bench" / "go-bench"
    target.parent.mkdir(parents=True, exist_ok=True)
    done = call(["go", "build", "-buildvcs=false", "-o", str(target), "."], BUILD_SECONDS,
                cwd=HERE / "peers" / "go",
                env=dict(os.environ, GOTOOLCHAIN="local", GOPROXY="off", GOFLAGS="", GOWORK="off"))
    if done.returncode != 0:
        raise Broken(f"building go-bench failed:\n{done.stderr}")
    return target


BUILDERS = {"weft": build_weft, "go": build_go, "epoll": build_epoll}
# Programs that show the least possible cost. They have only some rows; the other rows are not
# reported as missing.
FLOORS = {"epoll"}


def checked(text, workload, procs, n):
    """The JSON of a run, checked: it must be the answer to this workload, procs and n."""
    try:
        answer = json.loads(text)
        asked = {"workload": workload, "procs": procs, "n": n}
        wrong = [k for k, v in asked.items() if answer[k] != v]
        value = answer["value"]
        if wrong:
            raise Broken(f"answered another question: {', '.join(wrong)} differ")
        if isinstance(value, bool) or not math.isfinite(value) or value < 0:
            raise Broken(f"value is {value}")
        if not isinstance(answer["unit"], str):
            raise Broken("unit is not a string")
    except (ValueError, TypeError, KeyError) as error:
        raise Broken(f"not one line of JSON with the agreed fields: {error}") from error
    return answer


def run(program, workload, procs, n, pin, seconds):
    """One run; pin is the CPU that the program must use, or None."""
    command = ["taskset", "-c", str(pin)] if pin is not None else []
    command += [program.path, workload, "-procs", str(procs), "-n", str(n)]
    done = call(command, seconds, env=environment())
    if done.returncode != 0:
        raise Broken(complaint(done))
    return checked(done.stdout, workload, procs, n)

"""A second look at a test that failed: was it the test's patience, or is something broken?

Tests run beside each other on whatever machine there is, and now and then one that waits for a
thread to get a CPU has waited too short. Such a test is run again, alone and several times, and
must pass each time; the check names it and shows what it said. Nothing else gets a second look: a
crash, a hang, a report of a sanitizer or of valgrind and a fatal message of weft are evidence, and
tests without threads (unit), with simulated ones (sim) or with all interleavings (explore) do not
depend on the machine.
"""
import re
import subprocess

TIMES = 10
MOST = 2                        # in one check: beyond that it is not the machine
BESIDE_OTHERS = re.compile(r"(?:valgrind[.])?(?:flow|program|crash)[.]")
OWN_CHECK = re.compile(r"^FAILED(?: \S+ at |: test_)", re.MULTILINE)
EVIDENCE = re.compile(r"Sanitizer|runtime error:|weft: fatal|==\d+==|no end within its time|"
                      r"SIG(?:SEGV|ABRT|BUS|ILL|FPE)|Segmentation fault|core dumped")


def deserves(name, output):
    """Did a check of the test's own fail, and is there no evidence of anything worse?"""
    return bool(BESIDE_OTHERS.match(name) and OWN_CHECK.search(output)
                and not EVIDENCE.search(output))


def passes(folder, name):
    """Runs the test of that build TIMES times, alone."""
    done = subprocess.run(["ctest", "--test-dir", folder, "-R", f"^{re.escape(name)}$",
                           "--no-tests=error", "--repeat", f"until-fail:{TIMES}"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0

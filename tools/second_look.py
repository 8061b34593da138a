"""A second look at a test that failed: did it wait too briefly, or is something broken?

Tests run beside each other on a machine of any speed. Sometimes a test that waits for a thread to
get a CPU does not wait long enough. Such a test runs again, alone and several times, and must pass
each time; the check names it and shows its output. No other failure gets a second look. A crash, a
hang, a report of a sanitizer or of valgrind, and a fatal message of weft are evidence of a bug.
Tests without threads (unit), with simulated threads (sim) or with all interleavings (explore) do
not depend on the machine.
"""
import re
import subprocess

TIMES = 10
MOST = 2                        # in one check: more failures are not the fault of the machine
BESIDE_OTHERS = re.compile(r"(?:valgrind[.])?(?:flow|program|crash)[.]")
OWN_CHECK = re.compile(r"^FAILED(?: \S+ at |: test_)", re.MULTILINE)
EVIDENCE = re.compile(r"Sanitizer|runtime error:|weft: fatal|==\d+==|no end within its time|"
                      r"SIG(?:SEGV|ABRT|BUS|ILL|FPE)|Segmentation fault|core dumped")


def deserves(name, output):
    """Did one of the test's own checks fail, and is there no evidence of a worse problem?"""
    return bool(BESIDE_OTHERS.match(name) and OWN_CHECK.search(output)
                and not EVIDENCE.search(output))


def passes(folder, name):
    """Runs the test of that build TIMES times, alone."""
    done = subprocess.run(["ctest", "--test-dir", folder, "-R", f"^{re.escape(name)}$",
                           "--no-tests=error", "--repeat", f"until-fail:{TIMES}"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0

"""Starts and stops the servers that the tests of programs drive, each by its own pid."""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

DEADLINE = 300.0        # for hangs; a slow test on a busy machine is no failure


# For example of a goroutine in malloc that waited for another thread which got no CPU.
REPORT = re.compile(r"weft: goroutine \d+ blocked its thread \d+ ms outside a blocking region"
                    r"(?:, and still does)?\n(?:at\n|before it came to\n)?(?:\t.*\n)*"
                    r"began in\n\t.*\n")


EXIT_SKIPPED = 77


class Failure(Exception):
    pass


class Skipped(Exception):
    """The reason why the test cannot run here."""


def check(true, message):
    if not true:
        raise Failure(message)


class Server:
    """An example, on a port that the system chose."""

    def __init__(self, *command, procs=None):
        env = dict(os.environ)
        if procs:
            env["WEFT_PROCS"] = str(procs)
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=env)
        line = self.process.stdout.readline().decode()
        said = re.search(r"listening on (\S+) port (\d+)", line)
        if not said:
            self.process.wait(DEADLINE)
            raise Failure(f"{command[0]} does not listen: {line}{self.said()}")
        self.port = int(said.group(2))

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), DEADLINE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def descriptors(self):
        """How many are open, except those with which the monitor samples its threads."""
        n = 0
        for entry in os.scandir(f"/proc/{self.process.pid}/fd"):
            try:
                n += not os.readlink(entry.path).endswith("/schedstat")
            except FileNotFoundError:
                pass            # closed meanwhile
        return n

    def await_descriptors(self, n):
        """Until no more than n are open: connections end a moment after their peer."""
        until = time.monotonic() + DEADLINE
        while self.descriptors() > n:
            check(time.monotonic() < until, f"{self.descriptors()} descriptors, {n} expected")
            time.sleep(0.01)

    def stop(self):
        """By SIGTERM; it must end with success and without a message."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("it does not end on SIGTERM") from None
        said = REPORT.sub("", self.said())
        check(status == 0 and not said, f"it ended with {status}: {said}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.stop()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.errors.close()


def check_usage(program, *wrong):
    """The usage goes to stdout on request, and to stderr after wrong arguments."""
    asked = subprocess.run([program, "--help"], capture_output=True, timeout=DEADLINE)
    check(asked.returncode == 0 and asked.stdout.startswith(b"usage: ") and not asked.stderr,
          f"--help: status {asked.returncode}: {asked.stdout}, {asked.stderr}")
    for arguments in wrong:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=DEADLINE)
        check(done.returncode == 2 and done.stderr.endswith(asked.stdout) and not done.stdout,
              f"{arguments}: status {done.returncode}: {done.stdout}, {done.stderr}")


def read_all(s):
    parts = []
    while part := s.recv(65536):
        parts.append(part)
    return b"".join(parts)


def run(names):
    """Runs the test_* functions among names, or the one of the last argument; the arguments before it
    are programs. Returns the exit status: a skipped test prints why, and counts if it is alone."""
    programs = [os.path.abspath(p) for p in sys.argv[1:] if not p.startswith("test_")]
    only = [t for t in sys.argv[1:] if t.startswith("test_")]
    tests = [f for name, f in names.items()
             if name.startswith("test_") and (not only or name in only)]
    if not tests or not programs:
        print(names["__doc__"])
        return 2
    failed = skipped = 0
    for test in tests:
        begun = time.monotonic()
        try:
            test(*programs)
            print(f"ok      {test.__name__}  {time.monotonic() - begun:.2f} s")
        except Skipped as why:
            skipped += 1
            print(f"skipped: {test.__name__}: {why}")
        except Exception as error:
            failed += 1
            print(f"FAILED: {test.__name__}: {error}")
    return 1 if failed else EXIT_SKIPPED if skipped == len(tests) else 0

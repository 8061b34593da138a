"""examples/lines.c, and with it include/weft/main.h: what weft_main gets and what it returns."""
import os
import subprocess
import sys
import tempfile

from server import DEADLINE, check, run


def call(program, *arguments, **environment):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=DEADLINE,
                          env={**os.environ, **environment})


def file_of(folder, name, n_lines):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write("some text\n" * n_lines)
    return path


def expect(done, status, out, *errors):
    check(done.returncode == status and done.stdout == out and
          (all(e in done.stderr for e in errors) if errors else not done.stderr),
          f"status {done.returncode}: {done.stdout}{done.stderr}")


def test_arguments_come_in_order(program):
    with tempfile.TemporaryDirectory() as folder:
        files = [file_of(folder, f"f{n}", n) for n in [0, 1, 5000, 20]]
        expect(call(program, *files), 0, "".join(
            f"{n} {path}\n" for n, path in zip([0, 1, 5000, 20], files)))


def test_the_result_is_the_exit_status(program):
    with tempfile.TemporaryDirectory() as folder:
        file, missing = file_of(folder, "f", 3), os.path.join(folder, "missing")
        expect(call(program, missing, file), 1, f"3 {file}\n", f"lines: {missing}: No such file")
    expect(call(program), 2, "", "usage: lines FILE...\n")


def test_a_runtime_that_cannot_start_is_reported(program):
    done = call(program, "/dev/null", WEFT_PROCS="none")
    expect(done, 1, "", "weft: WEFT_PROCS is 'none'",
           "weft: the runtime cannot start: Invalid argument\n")


if __name__ == "__main__":
    sys.exit(run(globals()))

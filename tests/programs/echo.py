"""Drives examples/echo: echo.py PROGRAM [TEST]"""
import os
import random
import socket
import struct
import subprocess
import sys
import threading

from server import DEADLINE, Server, check, check_usage, read_all, run


def test_sent_bytes_come_back(program):
    with Server(program, "127.0.0.1:0") as server:
        data = random.Random(1).randbytes(3_000_000)
        with server.connect() as s:
            sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
            sender.start()
            got = read_all(s)
            sender.join()
        check(got == data, f"{len(got)} bytes came back, not the same")


def test_five_hundred_at_once(program):
    with Server(program, "127.0.0.1:0") as server:
        before = server.descriptors()
        peers = [server.connect() for _ in range(500)]
        for turn in range(3):
            for i, s in enumerate(peers):
                s.sendall(struct.pack("<II", turn, i) * 8)
            for i, s in enumerate(peers):
                got = s.recv(64, socket.MSG_WAITALL)
                check(got == struct.pack("<II", turn, i) * 8, f"connection {i} got {got!r}")
        for s in peers:
            s.close()
        server.await_descriptors(before)


def test_peers_that_break_off_harm_no_other_peer(program):
    with Server(program, "127.0.0.1:0") as server:
        with server.connect() as good:
            for _ in range(50):
                with server.connect() as bad:
                    bad.sendall(b"x" * 1000)
                    bad.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            good.sendall(b"still there?")
            check(good.recv(12, socket.MSG_WAITALL) == b"still there?", "not what was sent")


def test_it_ends_while_peers_are_connected(program):
    with Server(program, "127.0.0.1:0") as server:
        peers = [server.connect() for _ in range(20)]
        for s in peers:                 # a client that is not accepted yet would be reset
            s.sendall(b"here")
            check(s.recv(4, socket.MSG_WAITALL) == b"here", "not what was sent")
        server.stop()
        for s in peers:
            check(s.recv(1) == b"", "more than the end")
            s.close()


def test_bad_addresses_are_reported(program):
    for address in ("127.0.0.1:99999", "nonsense", "127.0.0.1", "[::1:80"):
        done = subprocess.run([program, address], capture_output=True, timeout=DEADLINE)
        check(done.returncode == 1 and b"cannot listen" in done.stderr,
              f"{address}: status {done.returncode}: {done.stderr}")


def test_usage_is_printed(program):
    check_usage(program, ["--what"], ["127.0.0.1:0", "127.0.0.1:0"], ["127.0.0.1:0", "--help"])


if __name__ == "__main__":
    sys.exit(run(globals()))

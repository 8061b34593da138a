"""Drives examples/socks5 with curl, before examples/echo: socks5.py SOCKS5 ECHO [TEST]"""
import os
import socket
import struct
import subprocess
import sys
import threading
import http.server

from server import DEADLINE, Server, Skipped, check, check_usage, read_all, run


def greet(s):
    s.sendall(b"\x05\x01\x00")
    check(s.recv(2, socket.MSG_WAITALL) == b"\x05\x00", "not greeted")


def ask(s, kind, address, port, command=1):
    s.sendall(bytes([5, command, 0, kind]) + address + struct.pack(">H", port))
    answer = s.recv(10, socket.MSG_WAITALL)
    check(len(answer) == 10 and answer[0] == 5, f"answer {answer!r}")
    return answer[1]


def check_echo(proxy, kind, address, port):
    """What is sent to the echo server at that address comes back."""
    with proxy.connect() as s:
        greet(s)
        check(ask(s, kind, address, port) == 0, "not connected")
        data = os.urandom(300_000)
        sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
        sender.start()
        check(read_all(s) == data, "not what was sent")
        sender.join()


def test_names_and_ipv4_addresses(socks5, echo):
    with Server(echo, "127.0.0.1:0") as target, Server(socks5, "127.0.0.1:0") as proxy:
        check_echo(proxy, 1, socket.inet_aton("127.0.0.1"), target.port)
        check_echo(proxy, 3, b"\x09localhost", target.port)


def test_ipv6_addresses(socks5, echo):
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError as error:
        raise Skipped(f"this machine has no ::1: {error}") from None
    here = socket.inet_pton(socket.AF_INET6, "::1")
    with Server(echo, "[::1]:0") as target, Server(socks5, "127.0.0.1:0") as proxy:
        check_echo(proxy, 4, here, target.port)
        with proxy.connect() as s, socket.socket(socket.AF_INET6) as taken:
            taken.bind(("::1", 0))
            greet(s)
            check(ask(s, 4, here, taken.getsockname()[1]) == 5,
                  "a port without a listener is not refused")


def test_curl_goes_through(socks5, _):
    page = os.urandom(500_000)

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with Server(socks5, "127.0.0.1:0") as proxy:
        for option in ("--socks5", "--socks5-hostname"):
            done = subprocess.run(["curl", "-s", "-S", "-m", str(DEADLINE), option,
                                   f"127.0.0.1:{proxy.port}",
                                   f"http://localhost:{web.server_port}/"],
                                  capture_output=True, timeout=2 * DEADLINE)
            check(done.stdout == page, f"curl {option}: {done.stderr}, {len(done.stdout)} bytes")
    web.shutdown()
    web.server_close()


def test_errors_are_reported(socks5, _):
    with Server(socks5, "127.0.0.1:0") as proxy:
        def reply(*what, **more):
            with proxy.connect() as s:
                greet(s)
                return ask(s, *what, **more)

        here = socket.inet_aton("127.0.0.1")
        with socket.socket() as taken:          # bound, so that no listener can use the port
            taken.bind(("127.0.0.1", 0))
            check(reply(1, here, taken.getsockname()[1]) == 5,
                  "a port without a listener is not refused")
        check(reply(1, here, 80, command=2) == 7, "BIND is not known")
        with proxy.connect() as s:
            greet(s)
            s.sendall(b"\x05\x01\x00\x09")
            check(s.recv(10, socket.MSG_WAITALL)[1] == 8, "kind 9 of address is not known")
        check(reply(3, b"\x03a:b", 80) == 8, "no name has a colon")
        with proxy.connect() as s:
            s.sendall(b"\x05\x01\x02")
            check(s.recv(2, socket.MSG_WAITALL) == b"\x05\xff", "a password was accepted")
        for nonsense in (b"\x04\x01\x00", b"GET / HTTP/1.1\r\n\r\n", b"\x05"):
            with proxy.connect() as s:
                s.sendall(nonsense)
                try:                    # closed while it has not read all: that is a reset
                    s.shutdown(socket.SHUT_WR)
                    check(read_all(s) == b"", "nonsense is answered")
                except OSError:
                    pass


def test_broken_peers_leave_nothing(socks5, echo):
    with Server(echo, "127.0.0.1:0") as target, Server(socks5, "127.0.0.1:0") as proxy:
        def once():
            s = proxy.connect()
            greet(s)
            check(ask(s, 1, socket.inet_aton("127.0.0.1"), target.port) == 0, "not connected")
            s.sendall(b"x" * 5000)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()

        before = proxy.descriptors()
        for _ in range(30):
            once()
        proxy.await_descriptors(before)


def test_usage_is_printed(socks5, _):
    check_usage(socks5, ["--what"], ["127.0.0.1:0", "127.0.0.1:0"], ["127.0.0.1:0", "--help"])


if __name__ == "__main__":
    sys.exit(run(globals()))

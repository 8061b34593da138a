"""Drives examples/httpd with good, bad, slow and many requests: http_requests.py PROGRAM [TEST]"""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from server import DEADLINE, Server, check, check_usage, read_all, run

HELLO = b"GET /.hello HTTP/1.1\r\nHost: x\r\n\r\n"


CODINGS = [
    (b"Transfer-Encoding: gzip, chunked\r\n", 501),
    (b"Transfer-Encoding: gzip,chunked \r\n", 501),
    (b"Transfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n", 501),
    (b"Transfer-Encoding: gzip\r\nA: b\r\nTransfer-Encoding: br, chunked\r\n", 501),
    (b"Transfer-Encoding: identity, chunked\r\n", 501),
    (b"Transfer-Encoding: gzip\r\n", 400),
    (b"Transfer-Encoding: identity\r\n", 400),
    (b"Transfer-Encoding: chunked, gzip\r\n", 400),
    (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", 400),
    (b"Transfer-Encoding: chunked, chunked\r\n", 400),
    (b"Transfer-Encoding: xchunked\r\n", 400),
    (b"Transfer-Encoding: chunked;q=1\r\n", 400),
    (b"Transfer-Encoding: \r\n", 400),
    (b"Transfer-Encoding:\r\nContent-Length: 3\r\n", 400),
]


def serve(program, *options):
    """With long timeouts, unless the options say otherwise."""
    patient = [word for what in ("idle", "head", "body", "write")
               for word in (f"--{what}-ms", "300000")]
    if not options or options[-1].isdigit():
        options += (tempfile.gettempdir(),)
    return Server(program, "--listen", "127.0.0.1:0", *patient, *options)


def answers(data):
    """Statuses and bodies of answers that follow each other, each with a length or in pieces."""
    found = []
    while data:
        head, sep, data = data.partition(b"\r\n\r\n")
        check(sep, f"no end of a head: {head[:200]!r}")
        status = int(head.split()[1])
        length = re.search(rb"Content-Length: (\d+)", head)
        if length:
            body, data = data[:int(length.group(1))], data[int(length.group(1)):]
        elif b"chunked" in head:
            body, data = unchunk(data)
        else:
            body = b""
        found.append((status, body))
    return found


def unchunk(data):
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        n = int(size, 16)
        check(data[n:n + 2] == b"\r\n", "a piece that does not end")
        body, data = body + data[:n], data[n + 2:]
        if n == 0:
            return body, data


def talk(server, *pieces):
    """Sends the pieces, then no more; returns all that comes back."""
    with server.connect() as s:
        try:
            for piece in pieces:
                s.sendall(piece)
            s.shutdown(socket.SHUT_WR)
        except OSError:                 # it has answered, and closed
            pass
        return answers(read_all(s))


def test_connections_stay_open_and_are_pipelined(program):
    with serve(program) as server:
        got = talk(server, HELLO * 300)
        check(got == [(200, b"Hello, world!")] * 300, f"{len(got)} answers: {got[:2]}")
        with server.connect() as s:
            for _ in range(20):
                s.sendall(HELLO)
                part = s.recv(4096)
                check(answers(part) == [(200, b"Hello, world!")], f"got {part!r}")
        got = talk(server, b"GET /.hello HTTP/1.0\r\n\r\n" + HELLO)
        check(len(got) == 1, "a connection of 1.0 stayed open")
        got = talk(server, HELLO.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + HELLO)
        check(len(got) == 1, "the connection stayed open though the client asked to close")


def test_the_last_answer_arrives_though_more_is_sent(program):
    """Unread bytes would make the kernel reset the connection, and drop the answer."""
    last = HELLO.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with serve(program) as server:
        for request in (last, b"GET /.hello HTTP/1.0\r\n\r\n"):
            got = talk(server, request + b"x" * 300_000)
            check(got == [(200, b"Hello, world!")], f"got {got}")


def test_byte_by_byte(program):
    with serve(program) as server:
        request = b"POST /.echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + HELLO
        got = talk(server, *(request[i:i + 1] for i in range(len(request))))
        check(got == [(200, b"hello"), (200, b"Hello, world!")], f"got {got}")


def test_bodies_of_both_kinds(program):
    with serve(program) as server:
        data = os.urandom(300_000)
        head = b"POST /.echo HTTP/1.1\r\nHost: x\r\n"
        got = talk(server, head + b"Content-Length: %d\r\n\r\n" % len(data) + data)
        check(got == [(200, data)], "with a length: not what was sent")
        pieces = [data[i:i + 7001] for i in range(0, len(data), 7001)]
        got = talk(server, head + b"Transfer-Encoding: chunked\r\n\r\n",
                   *(b"%x;x=y\r\n" % len(p) + p + b"\r\n" for p in pieces), b"0\r\nA: b\r\n\r\n",
                   HELLO)
        check(got == [(200, data), (200, b"Hello, world!")], "in pieces: not what was sent")
        with server.connect() as s:
            s.sendall(head + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            check(s.recv(100).startswith(b"HTTP/1.1 100 "), "no answer: continue")
            s.sendall(b"abc")
            check(answers(s.recv(4096)) == [(200, b"abc")], "not what was sent")


def test_equivalent_requests_are_understood(program):
    """Each is written differently from the other tests, and must be understood."""
    hello, post = b"GET /.hello HTTP/1.1\r\n", b"POST /.echo HTTP/1.1\r\nHost: x\r\n"
    pieces = b"3\r\nabc\r\n0\r\n\r\n"
    cases = [
        (hello + b"hOST:x\r\n\r\n", (200, b"Hello, world!")),
        (hello + b"Host: x\r\nA: b\r\n c\r\n\r\n", (200, b"Hello, world!")),
        (hello + b"Host:\r\n\r\n", (200, b"Hello, world!")),
        (hello + b"Host: [::1%25lo]:80\r\n\r\n", (200, b"Hello, world!")),
        (hello + b"Host: a-b.c_d,e:8080 \r\n\r\n", (200, b"Hello, world!")),
        (b"GET http://x/.hello?y HTTP/1.1\r\nHost: x\r\n\r\n", (200, b"Hello, world!")),
        (post + b"Expect:\t 100-Continue \t\r\nContent-Length: 1\r\n\r\nx", (200, b"x")),
        (post + b"Transfer-Encoding: chunked\r\n\r\n" + pieces, (200, b"abc")),
        (post + b"Transfer-Encoding:\t CHUNKED  \r\n\r\n" + pieces, (200, b"abc")),
        (post + b"TRANSFER-ENCODING:, Chunked\r\n\r\n" + pieces, (200, b"abc")),
    ]
    with serve(program) as server:
        for request, answer in cases:
            got = talk(server, request + HELLO)
            check(got == [answer, (200, b"Hello, world!")], f"{request!r}: {got}")


def test_lists_may_come_in_several_headers(program):
    with tempfile.TemporaryDirectory() as root:
        with open(f"{root}/x", "w") as f:
            f.write("x")
        os.utime(f"{root}/x", (1_600_000_000, 1_600_000_000))
        request = b"GET /x HTTP/1.1\r\nHost: x\r\nIf-None-Match: %s\r\nIf-None-Match: %s\r\n\r\n"
        with serve(program, root) as server:
            for tags, status in (((b'"a"', b'"b"'), 200), ((b'"5f5e1000-1"', b'"b"'), 304),
                                 ((b'"a"', b'W/"c", "5f5e1000-1"'), 304)):
                got = talk(server, request % tags)
                check(got[0][0] == status and len(got) == 1, f"{tags}: {got}")
            got = talk(server, request % (b'"%s"' % (b"a" * 7000), b'"%s"' % (b"b" * 7000)))
            check(got[0][0] == 431, f"too long, together: {got}")


def test_what_follows_a_body_in_pieces_is_skipped(program):
    with tempfile.TemporaryDirectory() as root, serve(program, root) as server:
        with open(f"{root}/x", "w") as f:
            f.write("abc")
        head = b"GET /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
        for more in (b"Range: bytes=0-0\r\n", b"If-None-Match: *\r\n", b"Host: y\r\nHost: z\r\n",
                     b"Expect: more\r\n"):
            got = talk(server, head + more + b"\r\n" + HELLO)
            check(got == [(200, b"abc"), (200, b"Hello, world!")], f"{more}: {got}")


def test_a_directory_is_moved_to_on_the_same_host(program):
    with tempfile.TemporaryDirectory() as root, serve(program, root) as server:
        os.makedirs(f"{root}/sub")
        os.makedirs(f"{root}/\\x %\n\u00e9")
        for target, where in (("/sub", "/sub/"), ("/sub?a=b/c", "/sub/?a=b/c"), ("//sub", "/sub/"),
                              ("//evil.example/..%2fsub", "/sub/"), ("/sub?a#b", "/sub/?a"),
                              ("/\\evil.example/..%2fsub", "/sub/"),
                              ("http://evil.example/sub", "/sub/"),
                              ("/%5cx%20%25%0a%c3%a9", "/%5Cx%20%25%0A%C3%A9/")):
            with server.connect() as s:
                s.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
                got = read_all(s).decode()
            check(" 301 " in got and f"\r\nLocation: {where}\r\n" in got, f"{target}: {got}")


def test_a_refused_method_names_the_allowed_methods(program):
    with serve(program) as server:
        for method, path, allowed in (("PUT", "/.hello", "GET, HEAD"), ("POST", "/", "GET, HEAD"),
                                      ("GET", "/.echo", "POST"), ("DELETE", "/.echo", "POST")):
            with server.connect() as s:
                s.sendall(f"{method} {path} HTTP/1.0\r\n\r\n".encode())
                got = read_all(s).decode()
            check(" 405 " in got and f"\r\nAllow: {allowed}\r\n" in got, f"{method} {path}: {got}")


def test_nonsense_is_refused(program):
    host = b"Host: x\r\n"
    cases = [
        (b"nonsense\r\n\r\n", 400), (b"GET\r\n\r\n", 400), (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET /.hello HTTP/1.1\r\n\r\n", 400),
        (b"GET /.hello HTTP/1.1\r\n" + host * 2 + b"\r\n", 400),
        *((b"GET /.hello HTTP/1.1\r\nHost: " + wrong + b"\r\n\r\n", 400)
          for wrong in (b"a b", b"a/b", b"u@a", b"a?", b"a#", b"a\\b", b"http://a", b"a\r\n b")),
        (b"GET /.hello HTTP/1.1\r\n" + host + b"A : b\r\n\r\n", 400),
        (b"GET /.hello HTTP/1.1\r\n" + host + b": b\r\n\r\n", 400),
        (b"GET /.hello HTTP/1.1\r\n" + host + b"Content-Length: x\r\n\r\n", 400),
        (b"POST /.echo HTTP/1.1\r\n" + host +
         b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /.echo HTTP/1.1\r\n" + host +
         b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /.echo HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /.echo HTTP/1.1\r\n" + host + b"Content-Length: 99999999\r\n\r\n", 413),
        (b"POST /.echo HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n" +
         (b"fff0\r\n" + b"x" * 0xfff0 + b"\r\n") * 20, 413),
        (b"POST /.echo HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"3\r\nabc\r\n0\r\n\r\n", 400),
        *((b"POST /.echo HTTP/1.1\r\n" + host + codings + b"\r\n3\r\nabc\r\n0\r\n\r\n", status)
          for codings, status in CODINGS),
        (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n" + host + b"\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + host + b"A: " + b"b" * 20000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + host + b"Range: " + b"b" * 17000 + b"\r\n\r\n", 431),
        (b"CONNECT x:80 HTTP/1.1\r\n" + host + b"\r\n", 501),
        (b"DELETE /.hello HTTP/1.1\r\n" + host + b"\r\n", 405),
        (b"POST /.echo HTTP/1.1\r\n" + host + b"Expect: more\r\nContent-Length: 1\r\n\r\nx", 417),
        (b"GET /../x HTTP/1.1\r\n" + host + b"\r\n", 400),
        (b"GET nothing HTTP/1.1\r\n" + host + b"\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ]
    with serve(program) as server:
        for request, status in cases:
            got = talk(server, request)
            check(got and got[0][0] == status, f"{request[:60]!r}: {got[:1]}, {status} expected")
        check(talk(server, HELLO) == [(200, b"Hello, world!")], "it serves no more")


def test_nonsense_after_head_is_answered_with_a_body(program):
    """The answer to a HEAD has no body; the next request is not a HEAD."""
    with serve(program) as server:
        with server.connect() as s:
            s.sendall(HELLO.replace(b"GET", b"HEAD") + b"nonsense\r\n\r\n")
            first, second, body = read_all(s).split(b"\r\n\r\n")
        check(b" 200 " in first and b" 400 " in second, f"got {first}, {second}")
        check(body == b"400 Bad Request\n", f"got {body}")


def test_slow_peers_are_given_up(program):
    with serve(program, "--head-ms", "200", "--body-ms", "200") as server:
        before = server.descriptors()
        slow = [server.connect() for _ in range(20)]
        for s in slow:
            s.sendall(b"GET / HTTP/1.1\r\nHo")
        late = server.connect()
        late.sendall(b"POST /.echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
        check(talk(server, HELLO) == [(200, b"Hello, world!")], "the others wait")
        for s in slow + [late]:
            got = answers(read_all(s))
            check(len(got) == 1 and got[0][0] == 408, f"got {got}")
            s.close()
        server.await_descriptors(before)


def test_a_silent_client_is_given_up(program):
    with serve(program, "--idle-ms", "400") as server:
        with server.connect() as idle:
            check(read_all(idle) == b"", "a silent client gets an answer")


def ask_and_take_nothing(program, requests):
    """More requests than all buffers hold answers to; the server must give up before the end.
    The buffers keep their size: if the window of a connection shrinks below what was promised, the
    kernel drops the segments that open it again, and both ends wait for minutes."""
    with serve(program, "--write-ms", "300") as server:
        before = server.descriptors()
        with server.connect() as deaf:
            try:
                for _ in range(1000):
                    deaf.sendall(requests)
                check(False, "the server took all requests of a client that reads nothing")
            except (BrokenPipeError, ConnectionResetError):
                pass
        server.await_descriptors(before)


def test_a_client_that_reads_nothing_is_given_up(program):
    body = b"x" * 500_000
    ask_and_take_nothing(program, b"POST /.echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" %
                         len(body) + body)


def test_a_client_that_reads_a_long_answer_slowly_gets_it(program):
    """The timeout is for each part. The bytes that the kernel may have to send before it takes
    more, some megabytes, are read in much less time; all bytes take more time."""
    size = 64_000_000
    with tempfile.TemporaryDirectory() as root, serve(program, "--write-ms", "1200", root) as server:
        with open(f"{root}/x", "wb") as f:
            f.truncate(size)
        with server.connect() as s:
            s.sendall(b"GET /x HTTP/1.0\r\n\r\n")
            begun, n = time.monotonic(), 0
            while part := s.recv(1_000_000):
                n += len(part)
                time.sleep(max(0, begun + 1.6 * n / size - time.monotonic()))
        check(n > size, f"{n} bytes came after {time.monotonic() - begun:.1f} s")


def test_a_client_that_reads_nothing_is_given_up_between_requests(program):
    """Answers smaller than their requests are sent when the server waits for the next request."""
    ask_and_take_nothing(program, HELLO.replace(b"x\r\n", b"x\r\nA: %s\r\n" % (b"b" * 500)) * 1000)


def test_more_connections_than_allowed_wait(program):
    with serve(program, "--connections", "2") as server:
        peers = [server.connect() for _ in range(6)]
        for s in peers:
            s.sendall(HELLO.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        for s in peers:
            check(answers(read_all(s)) == [(200, b"Hello, world!")], "not answered")
            s.close()


def test_wrk_finds_no_error(program):
    wrk = shutil.which("wrk")
    check(wrk, "wrk is not installed")
    with serve(program) as server:
        done = subprocess.run([wrk, "-t1", "-c50", "-d1s", "--timeout", "300s",
                               f"http://127.0.0.1:{server.port}/.hello"],
                              capture_output=True, text=True, timeout=DEADLINE)
        answered = re.search(r"(\d+) requests in", done.stdout)
        check(answered and int(answered.group(1)) > 0, done.stdout + done.stderr)
        check("Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout)


def test_usage_is_printed(program):
    check_usage(program, [], ["--what", "."], [".", "."])


def test_bad_options_are_reported(program):
    for options, status in ((["/nonexistent"], 2), (["--idle-ms", "soon", "."], 2),
                            (["--listen", "127.0.0.1:99999", "."], 1)):
        done = subprocess.run([program, *options], capture_output=True, timeout=DEADLINE)
        check(done.returncode == status and (done.stdout or done.stderr),
              f"{options}: status {done.returncode}, {status} expected")


def test_numbers_out_of_range_are_reported(program):
    most = {"connections": 2**32 - 1, "body-max": 2**63 - 1}
    most |= {f"{what}-ms": (2**63 - 1) // 1_000_000 for what in ("idle", "head", "body", "write")}
    for name, max_ in most.items():
        for bad in ("0", "-1", "", " 1", "+1", "1x", "0x10", str(max_ + 1), "9" * 30):
            done = subprocess.run([program, f"--{name}", bad, "."], capture_output=True,
                                  timeout=DEADLINE)
            expected = f"httpd: --{name} takes a number from 1 to {max_}, not \"{bad}\"\n"
            check(done.returncode == 2 and done.stderr.decode() == expected and not done.stdout,
                  f"--{name} {bad!r}: status {done.returncode}: {done.stderr}")
    most = [word for name, max_ in most.items() for word in (f"--{name}", str(max_))]
    with serve(program, *most) as server:
        check(talk(server, HELLO) == [(200, b"Hello, world!")], "with the most of all it is mute")


if __name__ == "__main__":
    sys.exit(run(globals()))

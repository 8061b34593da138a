"""Compares what examples/httpd serves with what nginx serves, byte for byte, as curl gets it:
http_files.py PROGRAM"""
import email.utils
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from server import DEADLINE, Failure, Server, check, run

NGINX = """
daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
events {{ worker_connections 64; }}
http {{
    include /etc/nginx/mime.types; default_type application/octet-stream; access_log off;
    client_body_temp_path {at}/t1; proxy_temp_path {at}/t2; fastcgi_temp_path {at}/t3;
    uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;
    server {{ listen unix:{at}/socket; root {at}/root; absolute_redirect off; etag on; }}
}}
"""
SAME = ("content-type", "content-length", "last-modified", "etag", "content-range", "location",
        "accept-ranges")

SAME_IN_ERRORS = ("location", "content-range")


def make_files(root):
    made = {"empty.txt": b"", "one.txt": b"1", "page.html": b"<p>hello\n" * 200,
            "style.css": b"p { }\n", "data.bin": random.Random(7).randbytes(700_001),
            "a name with spaces.txt": b"spaces\n", "no-suffix": b"none\n",
            "sub/index.html": b"index\n", "sub/deep/x.json": b"{}\n",
            "plus+and%percent.txt": b"odd\n",
            "edge.bin": bytes(range(256)) * 64, "UPPER.TXT": b"upper\n", "index.html": b"root\n"}
    for name, data in made.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        os.utime(path, (1_600_000_000, 1_600_000_000))
    os.makedirs(os.path.join(root, "bare"))
    os.makedirs(os.path.join(root, "a directory"))


class Nginx:
    def __init__(self, at):
        self.where = ["--unix-socket", f"{at}/socket"]  # a port might be another's by then
        with open(f"{at}/nginx.conf", "w") as f:
            f.write(NGINX.format(at=at))
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            raise Failure("nginx is not installed")
        self.process = subprocess.Popen([program, "-p", at, "-c", f"{at}/nginx.conf"],
                                        stderr=subprocess.DEVNULL)
        until = time.monotonic() + DEADLINE
        while self.get("/one.txt")[0] != 200:
            check(time.monotonic() < until and self.process.poll() is None, "nginx does not start")
            time.sleep(0.01)

    def get(self, path, *options):
        return curl("localhost", path, *self.where, *options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(DEADLINE)


def curl(host, path, *options):
    """Status, headers that must be the same, body."""
    done = subprocess.run(["curl", "-s", "-S", "-i", "-m", str(DEADLINE), "--path-as-is", *options,
                           f"http://{host}{path}"], capture_output=True, timeout=2 * DEADLINE)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    status = int(lines[0].split()[1]) if lines[0] else 0
    return status, {k: v for k, v in fields.items() if k in SAME}, body


def cases():
    date = email.utils.formatdate(1_600_000_000, usegmt=True)
    yield from ((p,) for p in (
        "/empty.txt", "/one.txt", "/page.html", "/style.css", "/data.bin", "/no-suffix", "/sub/",
        "/sub", "/sub/deep/x.json", "/a%20name%20with%20spaces.txt", "/edge.bin", "/UPPER.TXT",
        "/plus+and%25percent.txt", "/", "/one.txt?query=1", "/./one.txt", "/sub/../one.txt",
        "/sub//deep///x.json", "/%6fne.txt", "/sub/%2e%2e/one.txt", "/nothing", "/one.txt/more",
        "/bare/", "/bare", "//sub", "/sub?a=b", "//bare/..%2fsub", "/a%20directory", "/./bare",
        "/../etc/passwd", "/%2e%2e/etc/passwd", "/%00", "/bad%zz"))
    for r in ("0-0", "1-", "-1", "-700001", "-9999999", "100-199", "700000-", "700000-999999",
              "700001-", "5-4", "0-", "x-y", "-0", "-", "99999999999999999999-"):
        yield "/data.bin", "-H", f"Range: bytes={r}"
    yield "/empty.txt", "-H", "Range: bytes=0-"
    yield "/data.bin", "-I"
    yield "/nothing", "-I"
    yield "/one.txt", "-H", f"If-Modified-Since: {date}"
    yield "/one.txt", "-H", "If-Modified-Since: Mon, 01 Jan 2001 00:00:00 GMT"
    yield "/one.txt", "-H", "If-None-Match: \"nothing\""
    yield "/one.txt", "-H", "If-None-Match: \"5f5e1000-1\""
    yield "/one.txt", "-H", "If-None-Match: *"
    yield "/data.bin", "-H", "Range: bytes=1-2", "-H", f"If-Range: {date}"
    yield "/data.bin", "-H", "Range: bytes=1-2", "-H", "If-Range: \"other\""


def test_the_same_as_nginx(program):
    at = tempfile.mkdtemp()
    try:
        make_files(f"{at}/root")
        os.chmod(at, 0o755)
        with Nginx(at) as nginx, Server(program, "--listen", "127.0.0.1:0", f"{at}/root") as ours:
            host = f"127.0.0.1:{ours.port}"
            wrong = [difference(case, curl(host, *case), nginx.get(*case)) for case in cases()]
            wrong = [w for w in wrong if w]
            check(not wrong, "\n  ".join(["not the same:"] + wrong))
    finally:
        shutil.rmtree(at)


def difference(case, ours, theirs):
    """The text of an error differs between servers."""
    if ours[0] >= 300 and theirs[0] >= 300 and ours[0] != 304:
        ours = (ours[0], {k: v for k, v in ours[1].items() if k in SAME_IN_ERRORS}, b"")
        theirs = (theirs[0], {k: v for k, v in theirs[1].items() if k in SAME_IN_ERRORS}, b"")
    if ours == theirs:
        return None
    return f"{' '.join(case)}: {ours[:2]} and {len(ours[2])} bytes; " \
           f"nginx: {theirs[:2]} and {len(theirs[2])}"


if __name__ == "__main__":
    sys.exit(run(globals()))

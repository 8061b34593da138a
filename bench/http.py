#!/usr/bin/env python3
"""Compares examples/httpd with Go's net/http and nginx under wrk, in interleaved runs.

Each server has one CPU (and one P) and answers hello; wrk has the other CPUs. Reports the medians
of requests per second, of the server's CPU time per request, and of wrk's 99th percentile of the
round trips. Reports a server that is missing.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
NGINX = """daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 100000000;
    client_body_temp_path {at}/t1; proxy_temp_path {at}/t2; fastcgi_temp_path {at}/t3;
    uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;
    server {{ listen 127.0.0.1:{port};
        location /.hello {{ default_type text/plain; return 200 "Hello, world!"; }} }}
}}
"""


class Missing(Exception):
    pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def weft_command(options, _):
    program = options.build / "examples" / "httpd"
    if not program.exists():
        raise Missing(f"{program} is not built (make build, with node-llhttp installed)")
    return [str(program), "--listen", "127.0.0.1:0", tempfile.gettempdir()], None


def go_command(options, _):
    if not shutil.which("go"):
        raise Missing("no go command on PATH")
    target = options.build.resolve() / "bench" / "gohttp"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-buildvcs=false", "-o", str(target), "."], check=True,
                   cwd=TOP / "bench/peers/gohttp",
                   env=dict(os.environ, GOTOOLCHAIN="local", GOPROXY="off", GOFLAGS="",
                            GOWORK="off"))
    return [str(target)], None


def nginx_command(_, at):
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not program:
        raise Missing("no nginx here")
    port = free_port()
    pathlib.Path(at, "nginx.conf").write_text(NGINX.format(at=at, port=port))
    return [program, "-p", at, "-c", f"{at}/nginx.conf"], port


SERVERS = {"weft": weft_command, "go": go_command, "nginx": nginx_command}


class Server:
    def __init__(self, command, port, cpu):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "GO"))}
        env.update(WEFT_PROCS="1", GOMAXPROCS="1")
        self.process = subprocess.Popen(["taskset", "-c", str(cpu), *command], env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if port is None:
            port = int(re.search(r"port (\d+)", self.process.stdout.readline())[1])
        self.url = f"http://127.0.0.1:{port}/.hello"
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise SystemExit(f"http.py: {command[0]} does not listen")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")")[-1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def microseconds(text):
    value, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def run_wrk(server, connections, seconds, cpus):
    before = server.cpu_seconds()
    done = subprocess.run(["taskset", "-c", cpus, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
                           "--latency", server.url], capture_output=True, text=True, check=True)
    cpu = server.cpu_seconds() - before
    n = int(re.search(r"(\d+) requests in", done.stdout)[1])
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise SystemExit(f"http.py: wrk met errors:\n{done.stdout}")
    return {"rate": float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1]),
            "cpu": cpu * 1e6 / n,
            "p99": microseconds(re.search(r"99%\s+(\S+)", done.stdout)[1])}


def measure(options, commands, connections):
    cpus = sorted(os.sched_getaffinity(0))
    others = ",".join(map(str, cpus[:-1] or cpus))
    results = {name: [] for name in commands}
    for turn in range(options.reps):
        for name, (command, port) in commands.items():
            server = Server(command, port, cpus[-1])
            try:
                run = run_wrk(server, connections, options.seconds, others)
            finally:
                server.stop()
            results[name].append(run)
            print(f"{connections} connections, run {turn + 1}, {name}: "
                  f"{run['rate']:.0f} requests/s", file=sys.stderr)
    return results


def report(results, connections):
    def median(name, key):
        return statistics.median(run[key] for run in results[name])
    for name, runs in results.items():
        ratio = "    -"
        if "go" in results:
            ratio = f"{median(name, 'rate') / median('go', 'rate'):5.2f}"
        rates = [run["rate"] for run in runs]
        print(f"{connections:11} {name:6} {median(name, 'rate'):10.0f} {min(rates):10.0f} "
              f"{max(rates):10.0f} {ratio} {median(name, 'cpu'):8.2f} {median(name, 'p99'):10.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=5, help="runs of each server (5)")
    parser.add_argument("--seconds", type=int, default=3, help="how long each takes (3)")
    parser.add_argument("--connections", default="50,500", help="how many, as a list (50,500)")
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build/release")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("http.py: wrk is missing (package wrk)")
    with tempfile.TemporaryDirectory() as at:
        commands = {}
        for name, command in SERVERS.items():
            try:
                commands[name] = command(options, at)
            except Missing as why:
                print(f"{name} is missing: {why}")
        print(f"load {os.getloadavg()[0]:.1f} before")
        tables = [(n, measure(options, commands, n))
                  for n in map(int, options.connections.split(","))]
    print("connections server     median        min        max  x Go   CPU us     p99 us")
    for connections, results in tables:
        report(results, connections)


if __name__ == "__main__":
    main()

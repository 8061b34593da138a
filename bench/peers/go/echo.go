package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// listenAndServe calls serve with each connection in turn, until the listener is closed.
func listenAndServe(serve func(net.Conn)) net.Listener {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fail("%v", err)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	}()
	return listener
}

// serveEcho serves one connection.
func serveEcho(c net.Conn) {
	defer c.Close()
	bytes := make([]byte, 1024)
	for {
		n, err := c.Read(bytes)
		if err != nil {
			return
		}
		if _, err := c.Write(bytes[:n]); err != nil {
			return
		}
	}
}

// loadPath is $ECHO_LOAD, or where the build puts echo-load.
func loadPath() string {
	if path := os.Getenv("ECHO_LOAD"); path != "" {
		return path
	}
	self, err := os.Executable()
	if err != nil {
		fail("%v", err)
	}
	return filepath.Join(filepath.Dir(self), "echo", "echo-load")
}

// runEcho serves connections while echo-load measures. It also measures its own process.
func runEcho(connections, n int, r *result) {
	listener := listenAndServe(func(c net.Conn) { go serveEcho(c) })
	port := listener.Addr().(*net.TCPAddr).Port
	before := readMemory()
	load := exec.Command(loadPath(), fmt.Sprint(port), fmt.Sprint(connections), fmt.Sprint(n))
	load.Stderr = os.Stderr
	say, err1 := load.StdinPipe()
	pipe, err2 := load.StdoutPipe()
	if err := load.Start(); err != nil || err1 != nil || err2 != nil {
		fail("cannot start echo-load: %v", err)
	}
	said := bufio.NewReader(pipe)
	if line, _ := said.ReadString('\n'); line != "ready\n" {
		fail("echo-load is not ready")
	}
	after, idle := readMemory(), cpuMs()
	time.Sleep(time.Second)
	cpu := cpuMs()
	r.extra["idle_cpu_ms"] = cpu - idle
	fmt.Fprintln(say)
	var p50, p99 float64
	if _, err := fmt.Fscan(said, &r.value, &p50, &p99); err != nil {
		fail("echo-load: %v", err)
	}
	r.extra["cpu_us_per_request"] = (cpuMs() - cpu) * 1e3 / float64(n)
	r.extra["p50_us"], r.extra["p99_us"] = p50, p99
	kib := after.rss + after.tables - before.rss - before.tables
	r.extra["idle_bytes"] = float64(kib) * 1024 / float64(connections)
	if err := load.Wait(); err != nil {
		fail("echo-load: %v", err)
	}
}

func runEcho100(n int, r *result) { runEcho(100, n, r) }
func runEcho1k(n int, r *result)  { runEcho(1000, n, r) }
func runEcho10k(n int, r *result) { runEcho(10000, n, r) }

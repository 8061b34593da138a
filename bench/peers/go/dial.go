package main

import (
	"net"
	"os/exec"
	"runtime"
	"time"
)

// runDial connects to a server in the same program while all CPUs are busy.
func runDial(n int, r *result) {
	listener := listenAndServe(func(c net.Conn) { c.Close() })
	busy := make([]*exec.Cmd, runtime.NumCPU())
	for i := range busy {
		busy[i] = exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := busy[i].Start(); err != nil {
			fail("%v", err)
		}
	}
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		c, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			fail("%v", err)
		}
		took[i] = time.Since(start)
		c.Close()
		time.Sleep(time.Millisecond)
	}
	for _, b := range busy {
		b.Process.Kill()
		b.Wait()
	}
	listener.Close()
	p50, p99, most := spreadUs(took)
	r.value = p99
	r.extra["p50_us"], r.extra["max_us"] = p50, most
}

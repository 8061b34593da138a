package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// memory is what the kernel says about this process, in KiB.
type memory struct {
	rss, peak, tables int64
}

func readMemory() memory {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		fail("%v", err)
	}
	defer file.Close()
	m := memory{-1, -1, -1}
	fields := map[string]*int64{"VmRSS:": &m.rss, "VmHWM:": &m.peak, "VmPTE:": &m.tables}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || fields[words[0]] == nil {
			continue
		}
		if _, err := fmt.Sscan(words[1], fields[words[0]]); err != nil {
			fail("/proc/self/status: %q: %v", lines.Text(), err)
		}
	}
	if m.rss < 0 || m.peak < 0 || m.tables < 0 {
		fail("/proc/self/status lacks VmRSS, VmHWM or VmPTE")
	}
	return m
}

// cpuMs is the CPU time of the whole process.
func cpuMs() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail("getrusage: %v", err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}

// noteProcess adds what every row reports: memory at the end and CPU time of the whole process.
func noteProcess(r *result) {
	m := readMemory()
	r.extra["rss_kib"] = m.rss
	r.extra["peak_rss_kib"] = m.peak
	r.extra["page_table_kib"] = m.tables
	r.extra["cpu_ms"] = cpuMs()
}

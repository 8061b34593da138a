// Command go-bench runs one benchmark workload on the Go runtime and prints one line of JSON.
//
// The same program for weft is in bench/weft: the same names, parameters, work and units.
// bench/run.py calls both in turn and compares them.
//
// SPDX-License-Identifier: MIT
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
)

// workload is one row. n is what the unit counts: switches, goroutines, or fib's argument.
type workload struct {
	name     string
	unit     string
	n        int // default
	min, max int // the allowed range of -n
	run      func(n int, r *result)
}

// result is what a workload measured: the row's figure, and further figures.
type result struct {
	value float64
	extra map[string]any
}

var workloads = []workload{
	{"yield", "ns per switch", 10_000_000, 2, 1_000_000_000, runYield},
	{"spawn", "ns per goroutine", 1_000_000, 1, 1_000_000_000, runSpawn},
	{"fib", "ms", 30, 0, 40, runFib},
	{"fib-waitgroup", "ms", 30, 0, 40, runFibWaitGroup},
	{"mutex", "ns per operation", 800_000, 8, 1_000_000_000, runMutex},
	{"mutex-4", "ns per operation", 400_000, 4, 1_000_000_000, runMutex4},
	{"parked", "bytes each", 100_000, 1, 10_000_000, runParked},
	{"pingpong", "ns per round trip", 2_000_000, 1, 1_000_000_000, runPingpong},
	{"pipe", "ns per item", 5_000_000, 1, 1_000_000_000, runPipe},
	{"pipe-4x4", "ns per item", 5_000_000, 4, 1_000_000_000, runPipe4x4},
	{"select", "ns per select", 2_000_000, 4, 1_000_000_000, runSelect},
	{"sleep", "ms of CPU", 100_000, 1, 1_000_000, runSleep},
	{"timer-churn", "ns per arm and stop", 1_000_000, 1, 1_000_000_000, runTimerChurn},
	{"block", "share of one P", 1000, 2, 60_000, runBlock},
	{"hog", "us late, p99", 1000, 1, 60_000, runHog},
	{"resize", "us per change", 2000, 2, 1_000_000, runResize},
	{"echo-100", "requests/s", 200_000, 1, 1_000_000_000, runEcho100},
	{"echo-1k", "requests/s", 200_000, 1, 1_000_000_000, runEcho1k},
	{"echo-10k", "requests/s", 200_000, 1, 1_000_000_000, runEcho10k},
	{"dial", "us, p99", 2000, 1, 100_000, runDial},
	{"skynet", "ms", 1_000_000, 1, 10_000_000, runSkynet},
}

var (
	procs = flag.Int("procs", 1, "number of Ps, 1 to 1024")
	count = flag.Int("n", 0, "size of the workload (default: its own)")
	list  = flag.Bool("list", false, "name the workloads and stop")
)

func usage() {
	fmt.Fprintln(os.Stderr, "usage: go-bench [-procs N] [-n N] WORKLOAD | -list")
	flag.PrintDefaults()
}

func refuse(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "go-bench: "+format+"\n", args...)
	os.Exit(2)
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "go-bench: "+format+"\n", args...)
	os.Exit(1)
}

// parseName accepts flags before and after the workload's name.
func parseName() string {
	flag.Usage = usage
	flag.Parse()
	name := flag.Arg(0)
	if flag.NArg() > 1 {
		if err := flag.CommandLine.Parse(flag.Args()[1:]); err != nil || flag.NArg() > 0 {
			refuse("one workload at a time")
		}
	}
	return name
}

func find(name string) *workload {
	for i := range workloads {
		if workloads[i].name == name {
			return &workloads[i]
		}
	}
	refuse("no workload %q; -list names them", name)
	return nil
}

func report(w *workload, n int, r *result) {
	line := map[string]any{
		"runtime": "go", "version": runtime.Version(), "workload": w.name,
		"procs": *procs, "n": n, "value": r.value, "unit": w.unit,
	}
	for name, value := range r.extra {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		fail("%v", err)
	}
	fmt.Println(string(text))
}

func main() {
	name := parseName()
	if *list {
		for _, w := range workloads {
			fmt.Println(w.name)
		}
		return
	}
	w := find(name)
	n := w.n
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "n" {
			n = *count
		}
	})
	if n < w.min || n > w.max {
		refuse("-n of %s is %d; it may be %d to %d", name, n, w.min, w.max)
	}
	if *procs < 1 || *procs > 1024 {
		refuse("-procs is %d; it may be 1 to 1024", *procs)
	}
	runtime.GOMAXPROCS(*procs)
	r := &result{extra: map[string]any{}}
	w.run(n, r)
	noteProcess(r)
	report(w, n, r)
}

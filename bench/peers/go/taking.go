package main

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	blockers     = 8
	regionLength = 100 * time.Microsecond
	stepsAPiece  = 4000
	pingers      = 100
	pingEvery    = time.Millisecond
)

// spreadUs: median, 99th percentile and maximum of many times.
func spreadUs(times []time.Duration) (p50, p99, max float64) {
	sort.Slice(times, func(i, k int) bool { return times[i] < times[k] })
	us := func(i int) float64 { return float64(times[i].Nanoseconds()) / 1e3 }
	return us(len(times) / 2), us(len(times) * 99 / 100), us(len(times) - 1)
}

// computed is the result, so that the compiler keeps the loop.
var computed uint64

// compute: pieces of work per second.
func compute(length time.Duration) float64 {
	x, pieces := computed, 0
	start := time.Now()
	took := time.Duration(0)
	for ; took < length; took = time.Since(start) {
		for i := 0; i < stepsAPiece; i++ {
			x = x*6364136223846793005 + 1442695040888963407
		}
		pieces++
	}
	computed = x
	return float64(pieces) / took.Seconds()
}

// runBlock: the work of a goroutine that computes, beside goroutines that sleep in system calls.
func runBlock(n int, r *result) {
	var group sync.WaitGroup
	var enough atomic.Bool
	var regions atomic.Int64
	length := time.Duration(n) * time.Millisecond
	before := compute(length / 2)
	group.Add(blockers)
	for i := 0; i < blockers; i++ {
		go func() {
			pause := syscall.NsecToTimespec(regionLength.Nanoseconds())
			for !enough.Load() {
				syscall.Nanosleep(&pause, nil)
				regions.Add(1)
			}
			group.Done()
		}()
	}
	together := compute(length)
	r.extra["regions_per_s"] = float64(regions.Load()) / length.Seconds()
	enough.Store(true)
	group.Wait()
	r.value = together * 2 / (before + compute(length/2))
}

// runHog: how late goroutines ping every millisecond beside an endless loop.
func runHog(n int, r *result) {
	var group, loop sync.WaitGroup
	var over atomic.Bool
	late := make([]time.Duration, n*pingers)
	group.Add(pingers)
	for i := 0; i < pingers; i++ {
		go func(late []time.Duration) {
			due := time.Now()
			for k := range late {
				due = due.Add(pingEvery)
				time.Sleep(time.Until(due))
				late[k] = time.Since(due)
			}
			group.Done()
		}(late[i*n : (i+1)*n])
	}
	runtime.Gosched()
	loop.Add(1)
	go func() {
		for !over.Load() {
		}
		loop.Done()
	}()
	group.Wait()
	over.Store(true)
	loop.Wait()
	r.extra["p50_us"], r.value, r.extra["max_us"] = spreadUs(late)
}

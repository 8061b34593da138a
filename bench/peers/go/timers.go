package main

import (
	"sort"
	"sync"
	"time"
)

const (
	singleSleeps = 300
	sleepsEach   = 10
	maxMs        = 100
)

// lateness: how late single sleeps end on an idle runtime.
func lateness(d time.Duration, p50, p99 string, r *result) {
	late := make([]float64, singleSleeps)
	for i := range late {
		start := time.Now()
		time.Sleep(d)
		late[i] = float64((time.Since(start) - d).Nanoseconds()) / 1e3
	}
	sort.Float64s(late)
	r.extra[p50] = late[singleSleeps/2]
	r.extra[p99] = late[singleSleeps*99/100]
}

// nextMs: the same numbers as in bench/weft.
func nextMs(state *uint64) int {
	*state = *state*6364136223846793005 + 1442695040888963407
	return 1 + int((*state>>33)%maxMs)
}

// longestMs: how long the goroutine that sleeps longest would take alone.
func longestMs(n int) int {
	longest := 0
	for i := 0; i < n; i++ {
		state, sum := uint64(i), 0
		for k := 0; k < sleepsEach; k++ {
			sum += nextMs(&state)
		}
		if sum > longest {
			longest = sum
		}
	}
	return longest
}

// runSleep: lateness, then n goroutines that each sleep ten times for 1 to 100 ms.
func runSleep(n int, r *result) {
	lateness(50*time.Microsecond, "late_50us_p50_us", "late_50us_p99_us", r)
	lateness(time.Millisecond, "late_1ms_p50_us", "late_1ms_p99_us", r)
	r.extra["ideal_ms"] = longestMs(n)
	var group sync.WaitGroup
	cpu := cpuMs()
	start := time.Now()
	group.Add(n)
	for i := 0; i < n; i++ {
		go func(state uint64) {
			for k := 0; k < sleepsEach; k++ {
				time.Sleep(time.Duration(nextMs(&state)) * time.Millisecond)
			}
			group.Done()
		}(uint64(i))
	}
	group.Wait()
	r.extra["elapsed_ms"] = float64(time.Since(start).Nanoseconds()) / 1e6
	r.value = cpuMs() - cpu
}

// runTimerChurn: timers that are stopped before they fire.
func runTimerChurn(n int, r *result) {
	start := time.Now()
	for i := 0; i < n; i++ {
		t := time.AfterFunc(time.Hour, func() { fail("a timer has fired") })
		if !t.Stop() {
			fail("a timer could not be stopped")
		}
	}
	r.value = float64(time.Since(start).Nanoseconds()) / float64(n)
}

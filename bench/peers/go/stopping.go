package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	stopWorkers = 8
	stopSteps   = 2000
	manyPs      = 4
)

// work: goroutines beside which the world is stopped.
type work struct {
	group  sync.WaitGroup
	enough atomic.Bool
	number atomic.Uint64 // the result, so that the compiler keeps the loop
}

func (w *work) compute() {
	x := w.number.Load()
	for i := 0; i < stopSteps; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	w.number.Store(x)
}

func (w *work) start(n int, step func()) {
	w.group.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			for !w.enough.Load() {
				step()
			}
			w.group.Done()
		}()
	}
}

func (w *work) finish() {
	w.enough.Store(true)
	w.group.Wait()
}

// runResize: the number of Ps goes from 1 to 4 and back under load.
func runResize(n int, r *result) {
	var w work
	times := make([]time.Duration, n)
	sum := time.Duration(0)
	runtime.GOMAXPROCS(1)
	w.start(stopWorkers, func() { w.compute(); runtime.Gosched() })
	for i := range times {
		procs := manyPs
		if i%2 == 1 {
			procs = 1
		}
		begin := time.Now()
		runtime.GOMAXPROCS(procs)
		times[i] = time.Since(begin)
		sum += times[i]
		runtime.Gosched()
	}
	w.finish()
	r.value = float64(sum.Nanoseconds()) / 1e3 / float64(n)
	r.extra["p50_us"], r.extra["p99_us"], _ = spreadUs(times)
}

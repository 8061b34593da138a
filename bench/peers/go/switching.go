package main

import (
	"runtime"
	"sync"
	"time"
)

const spawnBatch = 1000

// runYield: two goroutines, this one and a partner, yield to each other, half of n each.
// With more than one P they may run in parallel. The figure is then the cost of a yield that finds
// no other goroutine, which is not the same measure.
func runYield(n int, r *result) {
	var partner sync.WaitGroup
	yield := func(rounds int) {
		for i := 0; i < rounds; i++ {
			runtime.Gosched()
		}
	}
	partner.Add(1)
	start := time.Now()
	go func() {
		yield(n / 2)
		partner.Done()
	}()
	yield(n - n/2)
	partner.Wait()
	r.value = float64(time.Since(start).Nanoseconds()) / float64(n)
}

// runSpawn: one closure for all goroutines, so that a spawn allocates nothing but the goroutine.
func runSpawn(n int, r *result) {
	var batch sync.WaitGroup
	empty := func() { batch.Done() }
	start := time.Now()
	for left := n; left > 0; {
		size := spawnBatch
		if left < size {
			size = left
		}
		batch.Add(size)
		for i := 0; i < size; i++ {
			go empty()
		}
		batch.Wait()
		left -= size
	}
	r.value = float64(time.Since(start).Nanoseconds()) / float64(n)
	r.extra["batch"] = spawnBatch
}

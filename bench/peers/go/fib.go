package main

import (
	"sync"
	"time"
)

func fib(n int, out chan<- int) {
	if n < 2 {
		out <- n
		return
	}
	parts := make(chan int, 2)
	go fib(n-1, parts)
	go fib(n-2, parts)
	out <- <-parts + <-parts
}

// runFib: one goroutine per call, no cut-off, results through a channel of two per call. This is
// the cheaper of the two usual ways in Go; fib-waitgroup is the other, for comparison.
func runFib(n int, r *result) {
	out := make(chan int, 1)
	start := time.Now()
	go fib(n, out)
	got := <-out
	noteFib(n, got, time.Since(start), r)
	r.extra["wait"] = "channel"
}

// call is one call of fib that waits for its two children. One allocation has everything that they
// share.
type call struct {
	wait sync.WaitGroup
	a, b int
}

func fibWaitGroup(n int, out *int, parent *sync.WaitGroup) {
	if n < 2 {
		*out = n
	} else {
		var c call
		c.wait.Add(2)
		go fibWaitGroup(n-1, &c.a, &c.wait)
		go fibWaitGroup(n-2, &c.b, &c.wait)
		c.wait.Wait()
		*out = c.a + c.b
	}
	parent.Done()
}

func runFibWaitGroup(n int, r *result) {
	var wait sync.WaitGroup
	var got int
	start := time.Now()
	wait.Add(1)
	go fibWaitGroup(n, &got, &wait)
	wait.Wait()
	noteFib(n, got, time.Since(start), r)
	r.extra["wait"] = "waitgroup"
}

// noteFib checks the sum against a plain loop. A wrong sum is a failure.
func noteFib(n, got int, took time.Duration, r *result) {
	a, b := 0, 1
	for i := 0; i < n; i++ {
		a, b = b, a+b
	}
	if got != a {
		fail("fib(%d) gave %d, not %d", n, got, a)
	}
	goroutines := 2*b - 1
	r.value = float64(took.Nanoseconds()) / 1e6
	r.extra["goroutines"] = goroutines
	r.extra["ns_each"] = float64(took.Nanoseconds()) / float64(goroutines)
}

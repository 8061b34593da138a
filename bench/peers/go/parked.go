package main

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// runParked: the memory that n goroutines that wait on one channel add to the process. The settings
// of the garbage collector are not changed: what it has not given back is memory in use.
func runParked(n int, r *result) {
	var reached int64
	never := make(chan struct{})
	waiter := func() {
		atomic.AddInt64(&reached, 1)
		<-never
	}
	debug.FreeOSMemory()
	before := readMemory()
	start := time.Now()
	for i := 0; i < n; i++ {
		go waiter()
	}
	for atomic.LoadInt64(&reached) < int64(n) {
		runtime.Gosched()
	}
	took := time.Since(start)
	after := readMemory()
	rss := float64(after.rss-before.rss) * 1024 / float64(n)
	tables := float64(after.tables-before.tables) * 1024 / float64(n)
	r.value = rss + tables
	r.extra["rss_bytes_each"] = rss
	r.extra["page_table_bytes_each"] = tables
	r.extra["ns_each"] = float64(took.Nanoseconds()) / float64(n)
	runtime.KeepAlive(never)
}

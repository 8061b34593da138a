package main

import (
	"sync"
	"time"
)

// addTogether: goroutines lock one mutex, add one and unlock it; n operations in all.
func addTogether(goroutines, n int, r *result) {
	var mutex sync.Mutex
	var group sync.WaitGroup
	sum := 0
	each := n / goroutines
	start := time.Now()
	group.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go func() {
			for k := 0; k < each; k++ {
				mutex.Lock()
				sum++
				mutex.Unlock()
			}
			group.Done()
		}()
	}
	group.Wait()
	r.value = float64(time.Since(start).Nanoseconds()) / float64(n)
	if sum != each*goroutines {
		fail("a section was lost: the sum is %d", sum)
	}
}

func runMutex(n int, r *result) { addTogether(8, n, r) }

func runMutex4(n int, r *result) { addTogether(4, n, r) }

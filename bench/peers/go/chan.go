package main

import (
	"sync"
	"time"
)

const (
	pipeCapacity = 128
	pipeMany     = 4
)

// runPingpong: two goroutines, two channels without buffers.
func runPingpong(n int, r *result) {
	there, back := make(chan int), make(chan int)
	start := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			back <- <-there
		}
	}()
	for i := 0; i < n; i++ {
		there <- i
		if got := <-back; got != i {
			fail("%d came back as %d", i, got)
		}
	}
	r.value = float64(time.Since(start).Nanoseconds()) / float64(n)
}

func produce(c chan<- int, n int) {
	for i := 1; i <= n; i++ {
		c <- i
	}
}

// pipe: producers and consumers at the ends of one channel.
func pipe(ends, n int, r *result) {
	c := make(chan int, pipeCapacity)
	var producers, consumers sync.WaitGroup
	sums := make([]int, ends)
	each := n / ends
	start := time.Now()
	for i := 0; i < ends; i++ {
		i := i
		producers.Add(1)
		consumers.Add(1)
		go func() {
			sum := 0
			for number := range c {
				sum += number
			}
			sums[i] = sum
			consumers.Done()
		}()
		go func() {
			produce(c, each)
			producers.Done()
		}()
	}
	producers.Wait()
	close(c)
	consumers.Wait()
	took := time.Since(start)
	sum := 0
	for _, part := range sums {
		sum += part
	}
	if sum != ends*(each*(each+1)/2) {
		fail("the sum of what came out is %d", sum)
	}
	r.value = float64(took.Nanoseconds()) / float64(each*ends)
}

func runPipe(n int, r *result)    { pipe(1, n, r) }
func runPipe4x4(n int, r *result) { pipe(pipeMany, n, r) }

// runSelect: one goroutine receives from four channels without buffers, with a producer on each.
func runSelect(n int, r *result) {
	a, b, c, d := make(chan int), make(chan int), make(chan int), make(chan int)
	each := n / 4
	sum, number := 0, 0
	start := time.Now()
	for _, ch := range []chan int{a, b, c, d} {
		go produce(ch, each)
	}
	for i := 0; i < 4*each; i++ {
		select {
		case number = <-a:
		case number = <-b:
		case number = <-c:
		case number = <-d:
		}
		sum += number
	}
	r.value = float64(time.Since(start).Nanoseconds()) / float64(4*each)
	if sum != 4*(each*(each+1)/2) {
		fail("the sum of what was selected is %d", sum)
	}
}

const fanOut = 10

func skynetNode(up chan<- int, first, leaves int) {
	if leaves == 1 {
		up <- first
		return
	}
	c := make(chan int)
	share := leaves / fanOut
	for i := 0; i < fanOut; i++ {
		go skynetNode(c, first+i*share, share)
	}
	sum := 0
	for i := 0; i < fanOut; i++ {
		sum += <-c
	}
	up <- sum
}

// runSkynet: leaves in a 10-ary tree of goroutines, sums passed up through channels.
func runSkynet(n int, r *result) {
	leaves := 1
	for leaves*fanOut <= n {
		leaves *= fanOut
	}
	up := make(chan int)
	start := time.Now()
	go skynetNode(up, 0, leaves)
	sum := <-up
	r.value = float64(time.Since(start).Nanoseconds()) / 1e6
	r.extra["leaves"] = leaves
	if sum != leaves*(leaves-1)/2 {
		fail("the sum of the leaves is %d", sum)
	}
}

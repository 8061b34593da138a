package main

// The rows that need cgo: threads that are not Go's, and calls of C. Without cgo this file is left
// out, and these rows are missing.

/*
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void empty(void) {}

static _Atomic int64_t sent_at, seen;

static int64_t now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int wake_fd;

static void *waker(void *n)
{
        static const struct timespec pause = { .tv_nsec = 1000000 };

        for (int64_t i = 0; i < (intptr_t)n; i++) {
                do
                        nanosleep(&pause, NULL);
                while (atomic_load(&seen) < i);
                atomic_store(&sent_at, now_ns());
                if (write(wake_fd, "", 1) != 1)
                        abort();
        }
        return NULL;
}

static int start_waker(int64_t n, int fd)
{
        pthread_t thread;

        wake_fd = fd;
        return pthread_create(&thread, NULL, waker, (void *)(intptr_t)n);
}

static int64_t note_wake(void)
{
        int64_t took = now_ns() - atomic_load(&sent_at);

        atomic_fetch_add(&seen, 1);
        return took;
}
*/
import "C"

import (
	"os"
	"runtime"
	"time"
)

func init() {
	workloads = append(workloads,
		workload{"wake", "us, p50", 2000, 1, 100_000, runWake},
		workload{"region", "ns per region", 10_000_000, 1, 1_000_000_000, runRegion})
}

// runRegion: a call of C that does nothing.
func runRegion(n int, r *result) {
	start := time.Now()
	for i := 0; i < n; i++ {
		C.empty()
	}
	r.value = float64(time.Since(start).Nanoseconds()) / float64(n)
}

// runWake: a C thread wakes a goroutine while everything else is idle. It uses a pipe: with one P
// this costs Go less than a call from C into Go that sends on a channel.
func runWake(n int, r *result) {
	in, out, err := os.Pipe()
	if err != nil {
		fail("%v", err)
	}
	if rc := C.start_waker(C.int64_t(n), C.int(out.Fd())); rc != 0 {
		fail("pthread_create: %d", rc)
	}
	took := make([]time.Duration, n)
	text := make([]byte, 1)
	for i := range took {
		if _, err := in.Read(text); err != nil {
			fail("%v", err)
		}
		took[i] = time.Duration(C.note_wake())
	}
	runtime.KeepAlive(out)
	r.value, r.extra["p99_us"], r.extra["max_us"] = spreadUs(took)
}

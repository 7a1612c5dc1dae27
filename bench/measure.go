package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// figures are the name=value pairs of one line, in order.
type figures []string

func (f *figures) add(name string, value any) {
	switch v := value.(type) {
	case float64:
		*f = append(*f, fmt.Sprintf("%s=%.2f", name, v))
	default:
		*f = append(*f, fmt.Sprintf("%s=%v", name, v))
	}
}

func report(bench, name string, f figures) {
	fmt.Printf("bench=%s case=%s %s\n", bench, name, strings.Join(f, " "))
}

// load is what a run of several callers found.
type load struct {
	ops     int
	elapsed time.Duration
	cpu     time.Duration   // of the whole process, where callers ran
	lat     []time.Duration // of every op, sorted
}

func (l load) perSecond() float64 { return float64(l.ops) / l.elapsed.Seconds() }

func (l *load) sort() { slices.Sort(l.lat) }

func (l load) cpuMicros() float64 { return float64(l.cpu.Nanoseconds()) / 1e3 / float64(max(1, l.ops)) }

func (l load) percentile(p float64) float64 {
	return float64(percentileOf(l.lat, p).Nanoseconds()) / 1e3
}

// percentileOf is of durations that are sorted.
func percentileOf(ds []time.Duration, p float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	return ds[int(p*float64(len(ds)-1))]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func (l load) figures() figures {
	var f figures
	f.add("ops_per_s", int(l.perSecond()))
	f.add("p50_us", l.percentile(0.5))
	f.add("p99_us", l.percentile(0.99))
	return f
}

// addCPU says what an op took of the processors, of the limit too, and the ratio, which holds
// better than that of time where others want them.
func addCPU(f *figures, l, limit load) {
	f.add("cpu_ns_per_op", 1e3*l.cpuMicros())
	f.add("limit_cpu_ns_per_op", 1e3*limit.cpuMicros())
	f.add("cpu_ratio", limit.cpuMicros()/l.cpuMicros())
}

// callers runs op from n goroutines for d, each op timed, and stops at the first error.
func callers(n int, d time.Duration, op func(caller, i int) error) (load, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total load
		first error
	)
	cpu, start := cpuTime(), time.Now()
	end := start.Add(d)
	for c := range n {
		wg.Go(func() {
			var lat []time.Duration
			for i, t := 0, time.Now(); t.Before(end); i++ {
				if err := op(c, i); err != nil {
					mu.Lock()
					first = cmp.Or(first, err)
					mu.Unlock()
					return
				}
				now := time.Now()
				lat = append(lat, now.Sub(t))
				t = now
			}
			mu.Lock()
			total.lat = append(total.lat, lat...)
			mu.Unlock()
		})
	}
	wg.Wait()
	total.elapsed, total.cpu, total.ops = time.Since(start), cpuTime()-cpu, len(total.lat)
	total.sort()
	return total, first
}

// spin runs op in batches of one goroutine for d without timing each, for what is too short to
// time.
func spin(d time.Duration, op func(i int)) load {
	const batch = 1024
	start := time.Now()
	n := 0
	for time.Since(start) < d {
		for range batch {
			op(n)
			n++
		}
	}
	return load{ops: n, elapsed: time.Since(start)}
}

func nsPerOp(l load) float64 { return float64(l.elapsed.Nanoseconds()) / float64(l.ops) }

// cost adds up what operations took, in time that went by and in processor time of the whole
// process, collecting garbage included.
type cost struct {
	ops       int
	wall, cpu time.Duration
}

// measure runs fn, which does ops operations.
func (c *cost) measure(ops int, fn func() error) error {
	cpu, start := cpuTime(), time.Now()
	err := fn()
	c.wall += time.Since(start)
	c.cpu += cpuTime() - cpu
	c.ops += ops
	return err
}

func (c *cost) ns() float64    { return float64(c.wall.Nanoseconds()) / float64(max(1, c.ops)) }
func (c *cost) cpuNs() float64 { return float64(c.cpu.Nanoseconds()) / float64(max(1, c.ops)) }

func (c *cost) figures() figures {
	var f figures
	f.add("ns_per_op", c.ns())
	f.add("cpu_ns_per_op", c.cpuNs())
	return f
}

// heapBytes is what lives on the heap after collecting garbage.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package measure

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Figures are the name=value pairs of one line, in order.
type Figures []string

// Add appends one. A float is printed with two digits behind the point.
func (f *Figures) Add(name string, value any) {
	switch v := value.(type) {
	case float64:
		*f = append(*f, fmt.Sprintf("%s=%.2f", name, v))
	default:
		*f = append(*f, fmt.Sprintf("%s=%v", name, v))
	}
}

// Report prints the line of one case.
func Report(bench, name string, f Figures) {
	fmt.Printf("bench=%s case=%s %s\n", bench, name, strings.Join(f, " "))
}

// Load is what a run of several callers found.
type Load struct {
	Ops     int
	Elapsed time.Duration
	CPU     time.Duration   // of the whole process, where callers ran
	Lat     []time.Duration // of every op, sorted
}

// PerSecond is how many operations there were in a second.
func (l Load) PerSecond() float64 { return float64(l.Ops) / l.Elapsed.Seconds() }

// Sort puts the times in order, as Percentile needs them.
func (l *Load) Sort() { slices.Sort(l.Lat) }

// CPUMicros is the processor time of an operation, in microseconds.
func (l Load) CPUMicros() float64 { return float64(l.CPU.Nanoseconds()) / 1e3 / float64(max(1, l.Ops)) }

// Percentile is the time within which a part p of the operations was done, in microseconds.
func (l Load) Percentile(p float64) float64 {
	return float64(PercentileOf(l.Lat, p).Nanoseconds()) / 1e3
}

// PercentileOf is of durations that are sorted.
func PercentileOf(ds []time.Duration, p float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	return ds[int(p*float64(len(ds)-1))]
}

// Millis is a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// Figures are the rate of the operations, and their times.
func (l Load) Figures() Figures {
	var f Figures
	f.Add("ops_per_s", int(l.PerSecond()))
	f.Add("p50_us", l.Percentile(0.5))
	f.Add("p99_us", l.Percentile(0.99))
	return f
}

// AddCPU says what an op took of the processors, of the limit too, and the ratio, which holds
// better than that of time where others want them.
func AddCPU(f *Figures, l, limit Load) {
	f.Add("cpu_ns_per_op", 1e3*l.CPUMicros())
	f.Add("limit_cpu_ns_per_op", 1e3*limit.CPUMicros())
	f.Add("cpu_ratio", limit.CPUMicros()/l.CPUMicros())
}

// Callers runs op from n goroutines for d, each op timed, and stops at the first error.
func Callers(n int, d time.Duration, op func(caller, i int) error) (Load, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total Load
		first error
	)
	cpu, start := CPUTime(), time.Now()
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
			total.Lat = append(total.Lat, lat...)
			mu.Unlock()
		})
	}
	wg.Wait()
	total.Elapsed, total.CPU, total.Ops = time.Since(start), CPUTime()-cpu, len(total.Lat)
	total.Sort()
	return total, first
}

// Spin runs op in batches of one goroutine for d without timing each, for what is too short to
// time.
func Spin(d time.Duration, op func(i int)) Load {
	const batch = 1024
	start := time.Now()
	n := 0
	for time.Since(start) < d {
		for range batch {
			op(n)
			n++
		}
	}
	return Load{Ops: n, Elapsed: time.Since(start)}
}

// NsPerOp is the time of an operation of one caller, in nanoseconds.
func NsPerOp(l Load) float64 { return float64(l.Elapsed.Nanoseconds()) / float64(l.Ops) }

// Cost adds up what operations took, in time that went by and in processor time of the whole
// process, collecting garbage included.
type Cost struct {
	Ops       int
	Wall, CPU time.Duration
}

// Measure runs fn, which does ops operations.
func (c *Cost) Measure(ops int, fn func() error) error {
	cpu, start := CPUTime(), time.Now()
	err := fn()
	c.Wall += time.Since(start)
	c.CPU += CPUTime() - cpu
	c.Ops += ops
	return err
}

// Ns is the time that went by for an operation, in nanoseconds.
func (c *Cost) Ns() float64 { return float64(c.Wall.Nanoseconds()) / float64(max(1, c.Ops)) }

// CPUNs is the processor time of an operation, in nanoseconds.
func (c *Cost) CPUNs() float64 { return float64(c.CPU.Nanoseconds()) / float64(max(1, c.Ops)) }

// Figures are the two of them.
func (c *Cost) Figures() Figures {
	var f Figures
	f.Add("ns_per_op", c.Ns())
	f.Add("cpu_ns_per_op", c.CPUNs())
	return f
}

// Scattered is 16 bytes that differ from those of every other number, in no order.
func Scattered(n uint64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], n*0x9E3779B97F4A7C15)
	binary.BigEndian.PutUint64(b[8:], n)
	return string(b[:])
}

// HeapBytes is what lives on the heap after collecting garbage.
func HeapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// More adds what another run of callers finds.
func (l *Load) More(n int, d time.Duration, op func(caller, i int) error) error {
	m, err := Callers(n, d, op)
	l.Ops, l.Elapsed, l.CPU, l.Lat = l.Ops+m.Ops, l.Elapsed+m.Elapsed, l.CPU+m.CPU, append(l.Lat, m.Lat...)
	slices.Sort(l.Lat)
	return err
}

// Pass lets time go by.
func Pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

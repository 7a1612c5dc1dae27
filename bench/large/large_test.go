package large

import (
	"math"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A part of the pauses ended within the upper end of a bucket; the last bucket has none.
func TestPausesAreCountedInBuckets(t *testing.T) {
	h := &metrics.Float64Histogram{
		Buckets: []float64{0, 1e-6, 1e-5, 1e-4, math.Inf(1)}, Counts: []uint64{0, 90, 9, 1},
	}
	for part, want := range map[float64]float64{.5: 10, .9: 10, .99: 100} {
		if got := within(h, part); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v of the pauses ended within %v µs, want %v", part, got, want)
		}
	}
	if got := within(h, 1); got < 1e12 {
		t.Errorf("the longest pause ended within %v µs", got)
	}
	if got := within(&metrics.Float64Histogram{Buckets: h.Buckets, Counts: make([]uint64, 4)}, 1); got != 0 {
		t.Errorf("of no pauses the longest has %v µs", got)
	}
}

// Collecting is counted, and ends when it is told to.
func TestCollectingIsCounted(t *testing.T) {
	kept := make([]byte, 1<<20)
	said := startCollecting(0).end()
	runtime.KeepAlive(kept)
	if said[0] < 1 || said[1] < float64(len(kept)) || said[4] <= 0 {
		t.Errorf("%v cycles, %v bytes in use, a pause of %v µs", said[0], said[1], said[4])
	}
}

// What is filled is what is scanned: a row for each element, and the clock.
func TestFilledStoreHasARowForEachElement(t *testing.T) {
	const size = 25_000
	dir := filepath.Join(t.TempDir(), "store")
	if err := fillStore(dir, size); err != nil {
		t.Fatal(err)
	}
	perSecond, file, err := scanStore(dir)
	if err != nil || perSecond <= 0 || file < size*30 {
		t.Fatalf("%v rows in a second, a file of %d bytes: %v", perSecond, file, err)
	}
}

// A hundred million elements are in a thousand sets, and few in ten.
func TestSets(t *testing.T) {
	for size, want := range map[int]int{0: setsMin, 1000: setsMin, 2_000_000: 20, 100_000_000: 1000} {
		if got := sets(size); got != want {
			t.Errorf("%d elements are in %d sets, want %d", size, got, want)
		}
	}
}

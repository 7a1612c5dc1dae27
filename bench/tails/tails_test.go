package tails

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/bench/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The ratio is that of the slowest thousandth: one pause that few see does not hide behind a median.
func TestSpread(t *testing.T) {
	load := func(slow time.Duration) (l measure.Load) {
		for i := range 10_000 {
			took := time.Millisecond
			if i < 20 {
				took = slow
			}
			l.Lat = append(l.Lat, took)
		}
		l.Sort()
		return l
	}
	var f measure.Figures
	spread(&f, load(30*time.Millisecond), load(10*time.Millisecond))
	for _, want := range []string{"ratio=3.00", "p50_us=1000.00", "p99_9_us=30000.00", "limit_p99_9_us=10000.00"} {
		if !slices.Contains(f, want) {
			t.Errorf("no %s in %v", want, f)
		}
	}
}

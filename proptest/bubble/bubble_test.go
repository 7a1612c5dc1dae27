package bubble

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestTimersFireTogether dies under the race detector, in one run of a few, when goroutines of a
// bubble run on several processors.
func TestTimersFireTogether(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	Test(t, func(*testing.T) {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				one, two := time.NewTicker(time.Millisecond), time.NewTicker(time.Millisecond)
				defer one.Stop()
				defer two.Stop()
				for range 300 {
					select {
					case <-one.C:
					case <-two.C:
					case <-time.After(time.Duration(i%3) * time.Millisecond):
					}
					time.AfterFunc(0, func() {})
				}
			})
		}
		all.Wait()
	})
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("%d processors before, %d after", before, after)
	}
}

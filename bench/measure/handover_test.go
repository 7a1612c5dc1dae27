package measure

import (
	"runtime"
	"testing"
)

// A hand-over takes its time, also where one processor has to do for both threads.
func TestHandover(t *testing.T) {
	for _, n := range []int{1, 2} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		if took := Handover(); took <= 0 {
			t.Errorf("on %d processors: %v", n, took)
		}
	}
}

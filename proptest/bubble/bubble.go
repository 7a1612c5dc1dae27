package bubble

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Test is synctest.Test. Under the race detector all goroutines of the process share one processor
// while it runs: what the detector looks for, an order that nothing guarantees, it finds there too.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if raceDetector {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, f)
}

// Inside reports whether its caller runs in a bubble, for which testing/synctest has no function. It waits
// as synctest.Wait does.
func Inside() (is bool) {
	defer func() { is = recover() == nil }()
	synctest.Wait()
	return true
}

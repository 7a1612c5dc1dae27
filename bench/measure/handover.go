package measure

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A round of handovers is long enough that what starts and ends it does not count, and short enough that most are not
// interrupted.
const (
	handoverRounds = 8
	handovers      = 2000
)

// Handover is how long a word takes from one thread to another one and back: a cache line goes from processor to
// processor, twice. A virtual machine has its processors now here and now there, so it may be four times as long at
// one moment as at another, and whatever one thread says to another takes longer then. It is the least of a few rounds,
// which take some milliseconds.
func Handover() time.Duration {
	least := handoverRound()
	for range handoverRounds - 1 {
		least = min(least, handoverRound())
	}
	return least
}

func handoverRound() time.Duration {
	var word atomic.Uint32
	over := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(over)
		for i := range uint32(handovers) {
			await(&word, 2*i+1)
			word.Store(2*i + 2)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for i := range uint32(handovers) {
		word.Store(2*i + 1)
		await(&word, 2*i+2)
	}
	took := time.Since(start) / handovers
	<-over
	return took
}

// await looks until a word is there. On one processor the other thread has to run for that.
func await(word *atomic.Uint32, value uint32) {
	for n := 0; word.Load() != value; n++ {
		if n > 10_000 {
			runtime.Gosched()
		}
	}
}

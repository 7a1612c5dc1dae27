package simtest

import (
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// stuckAfter is for how long, by the clock of the machine, a world may take for one second of its own.
const stuckAfter = time.Minute

// guard ends the process with a text when a world is stuck. What waits in it for something that is not of
// the world cannot be ended, and the test would not say a word.
type guard struct {
	after time.Duration
	beats atomic.Int64 // how often the world has gone on by a second
	done  chan struct{}
}

// newGuard guards a world that begins now, and is stuck when it has not gone on for so long.
func newGuard(after time.Duration) *guard {
	g := &guard{after: after, done: make(chan struct{})}
	go g.watch()
	return g
}

// beat goes on with a world.
func (g *guard) beat(w workload.World) {
	g.beats.Add(1)
	w.After(time.Second, nil, func() { g.beat(w) })
}

// end ends the guard: the world has ended.
func (g *guard) end() { close(g.done) }

func (g *guard) watch() {
	tick := time.NewTicker(g.after)
	defer tick.Stop()
	for seen := int64(0); ; {
		select {
		case <-g.done:
			return
		case <-tick.C:
		}
		now := g.beats.Load()
		if now == seen {
			panic("simtest: the world is stuck for " + g.after.String() + ": a handler, or what else runs in " +
				"it, computes without end, or waits for a channel, a lock, a goroutine, or the clock of the " +
				"machine. Node.Sleep and Node.Call wait in the time of the world. It is here:\n\n" + waiting())
		}
		seen = now
	}
}

// waiting is the stacks of the routines that have not given the world back; all, if there is none.
func waiting() string {
	const most = 1 << 20
	all := make([]byte, most)
	all = all[:runtime.Stack(all, true)]
	var out []string
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		state, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(stack, "routine.(*routine).call") && !strings.Contains(state, "[coroutine") {
			out = append(out, stack)
		}
	}
	if len(out) == 0 {
		return string(all)
	}
	return strings.Join(out, "\n\n")
}

package console

import (
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/timeline"
)

// wordMax bounds a word of a caller that may not act, in bytes.
const wordMax = 100

// refusals bounds the events of refused attempts. It may be used from any goroutine.
type refusals struct {
	most  int // events in a time
	every time.Duration

	mu     sync.Mutex
	began  time.Time // of the interval in which told counts
	told   int
	untold uint64 // attempts since the last event
}

// next reports whether a refused attempt is told of, and how many before it were not.
func (r *refusals) next(now time.Time) (ok bool, untold uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.began) >= r.every {
		r.began, r.told = now, 0
	}
	if r.told == r.most {
		r.untold++
		return false, 0
	}
	r.told++
	untold, r.untold = r.untold, 0
	return true, untold
}

// refused tells of an attempt to act that is refused. What the caller has written of the action is cut.
func (s *station) refused(bound *refusals, a api.Action, by string, err error) {
	ok, untold := bound.next(s.host.Scheduler.Now())
	if !ok {
		return
	}
	if !slices.Contains(api.Actions, a.Do) {
		a.Do = "unknown"
	}
	for _, word := range []*string{&a.Node, &a.Type, &a.Entity} {
		*word = timeline.Clip(*word, wordMax)
	}
	s.host.Emit(Acted{Action: a, By: by, Err: err, Untold: untold})
}

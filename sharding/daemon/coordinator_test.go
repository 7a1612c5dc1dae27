package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// stage is a coordinator over a store and workers that do what the test says.
type stage struct {
	mu      sync.Mutex
	written []State // every put
	wanted  wish
	wakes   chan struct{}
	log     []string // "time run 0|5|3"
	began   time.Time
	stuck   int // how many halts fail
	failPut error
	failRun error
	figures figures
}

func newStage() *stage { return &stage{wakes: make(chan struct{}, 1), began: time.Now()} }

func (s *stage) state(context.Context) (State, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.written) == 0 {
		return State{}, false, nil
	}
	return s.written[len(s.written)-1], true, nil
}
func (s *stage) put(_ context.Context, x State) error {
	if s.failPut != nil {
		return s.failPut
	}
	s.write(x)
	return nil
}

func (s *stage) write(x State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, x)
}

func (s *stage) wish(context.Context) (wish, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted, s.wanted.ID != 0, nil
}
func (s *stage) changed() <-chan struct{} { return s.wakes }
func (s *stage) run(_ context.Context, id string) error {
	_ = s.note("run", id)
	return s.failRun
}
func (s *stage) halt(_ context.Context, id string) error {
	if s.stuck > 0 {
		s.stuck--
		return errors.New("stuck")
	}
	return s.note("halt", id)
}

func (s *stage) empty(_ context.Context, numbers []int) error {
	s.log = append(s.log, fmt.Sprintf("%v empty %v", time.Since(s.began), numbers))
	return nil
}

func (s *stage) note(what, id string) error {
	s.log = append(s.log, fmt.Sprintf("%v %s %s", time.Since(s.began), what, id[:strings.LastIndex(id, "|")]))
	return nil
}

func (s *stage) ask(id uint64, count int) {
	s.mu.Lock()
	s.wanted = wish{ID: id, Count: count}
	s.mu.Unlock()
	s.wakes <- struct{}{}
}

// play runs a coordinator for so long.
func (s *stage) play(t *testing.T, count int, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	cfg := Config{Name: "w", Role: "r", Count: count, WorkersMax: 20}.WithDefaults()
	return (&coordinator{cfg: cfg, store: s, workers: s, figures: &s.figures}).loop(ctx)
}

func (s *stage) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(s.log, lines) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(s.log, "\n  "), strings.Join(lines, "\n  "))
	}
	s.log = nil
}

// The spacing is kept from worker to worker, and the interval from round to round (pekko#2734: the
// throttle was not honoured).
func TestKeepAliveIsSpaced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage()
		if err := s.play(t, 3, 10450*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		s.want(t, "0s run 0|3|0", "100ms run 0|3|1", "200ms run 0|3|2", "10.3s run 0|3|0", "10.4s run 0|3|1")
	})
}

// Old workers stop before new ones start, the state is written before and after, and one that does
// not stop is told again.
func TestStatePrintsItself(t *testing.T) {
	for want, s := range map[string]State{ // order: each is looked at by itself
		"3 workers (revision 2)":                           {Revision: 2, Count: 3, Previous: 5, Completed: true},
		"3 workers instead of 5 (revision 2, in progress)": {Revision: 2, Count: 3, Previous: 5},
	} {
		if got := fmt.Sprint(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRescale(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage()
		s.stuck = 2
		time.AfterFunc(time.Second, func() { s.ask(7, 3) })
		time.AfterFunc(3*time.Second, func() { s.ask(8, 3) }) // as it is
		demand := func(when string, want map[*events.Metric]float64) {
			s.figures.report("w", func(m *events.Metric, v float64, _ ...string) {
				if is, ok := want[m]; ok && v != is {
					t.Errorf("%s: %s is %v, want %v", when, m.Name, v, is)
				}
			})
		}
		time.AfterFunc(1500*time.Millisecond, func() {
			demand("while the old ones stop", map[*events.Metric]float64{
				mWanted: 3, mRescaling: 1, mRescales: 0, mKeepAlives: 2, mUnreached: 0,
			})
			s.failRun = errors.New("no room")
		})
		time.AfterFunc(3500*time.Millisecond, func() {
			demand("after", map[*events.Metric]float64{
				mWanted: 3, mRescaling: 0, mRescales: 1, mKeepAlives: 8, mUnreached: 6,
			})
		})
		_ = s.play(t, 2, 4*time.Second)
		demand("when another node follows", map[*events.Metric]float64{mWanted: 0, mRescaling: 0, mRescales: 1})
		s.want(t, "0s run 0|2|0", "100ms run 0|2|1", "2s halt 0|2|0", "2s halt 0|2|1", "2s run 1|3|0",
			"2.1s run 1|3|1", "2.2s run 1|3|2",
			"3s run 1|3|0", "3.1s run 1|3|1", "3.2s run 1|3|2")
		var got []string
		for _, x := range s.written {
			got = append(got, fmt.Sprintf("%d/%d %v wish %d", x.Revision, x.Count, x.Completed, x.Wish))
		}
		want := []string{"0/2 true wish 0", "1/3 false wish 7", "1/3 true wish 7", "1/3 true wish 8"}
		if !slices.Equal(got, want) {
			t.Errorf("written %v", got)
		}
	})
}

// A coordinator that takes over follows what was written, not its Config (A17), and finishes a
// rescale that was begun.
func TestTakeover(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage()
		s.written = []State{{Revision: 4, Count: 1, Previous: 2, Wish: 9}}
		s.wanted = wish{ID: 9, Count: 1}
		_ = s.play(t, 5, time.Second)
		s.want(t, "0s halt 3|2|0", "0s halt 3|2|1", "0s empty [1]", "0s run 4|1|0")
	})
}

// A late write of an earlier coordinator is seen after the round, and a store that fails ends the
// loop, to be begun anew.
func TestLoopEndsToBeginAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage()
		time.AfterFunc(50*time.Millisecond, func() { s.write(State{Revision: 1, Count: 2, Previous: 1}) })
		if err := s.play(t, 1, time.Minute); !errors.Is(err, errTorn) {
			t.Error(err)
		}
		s.failPut = errors.New("no majority")
		if err := s.play(t, 1, time.Minute); !errors.Is(err, s.failPut) {
			t.Error(err)
		}
	})
}

package singletons

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/routine"
)

// world has one node in virtual time, and what its singleton does.
type world struct {
	*routine.World
	p      *routine.Process
	n      *hosttest.Node
	tokens []FencingToken
	causes []error // with which the contexts of runs have ended
	told   []events.Event
	over   bool // the world is: routines that are unwound look like broken machines
}

func newWorld(t *testing.T) *world {
	w := &world{World: routine.NewWorld(1)}
	t.Cleanup(func() {
		w.over = true
		w.End()
	})
	w.p = w.NewProcess()
	w.n = hosttest.NewNode(hosttest.Config{
		Scheduler: w.p, Roles: []string{"a"}, Emit: func(e events.Event) { w.told = append(w.told, e) },
		Broken: func(text string) {
			if !w.over {
				t.Error(text)
			}
		},
	})
	return w
}

// run notes a run, which ends with its context.
func (w *world) run(ctx context.Context, token FencingToken) error {
	w.tokens = append(w.tokens, token)
	w.p.Await(ctx.Done(), nil, nil)
	w.causes = append(w.causes, context.Cause(ctx))
	return nil
}

// start starts a singleton.
func (w *world) start(t *testing.T, cfg Config) (s *Singleton) {
	t.Helper()
	w.p.Enter(func() {
		var err error
		if s, err = Of(w.n.Host()).Run(cfg); err != nil {
			t.Error(err)
		}
	})
	w.Run(time.Second)
	return s
}

// A run ends with the lease, the next one begins with it, and all ends with the node; in virtual time.
func TestRunsUnderTheLease(t *testing.T) {
	w := newWorld(t)
	s := w.start(t, Config{Name: "one", Run: w.run})
	if s.State() != singleton.Running || s.Role() != "a" {
		t.Fatalf("it does not run: %v", s)
	}
	w.n.HoldLease(false)
	w.Run(time.Second)
	w.n.HoldLease(true)
	w.Run(time.Minute)
	w.p.Enter(w.n.End)
	w.Run(time.Minute)
	if len(w.tokens) != 2 || !w.tokens[0].Less(w.tokens[1]) {
		t.Errorf("the runs have the tokens %v", w.tokens)
	}
	if !slices.Equal(w.causes, []error{ErrNoLease, hosttest.ErrEnded}) || s.State() != singleton.HandedOver {
		t.Errorf("they have ended with %v; %v", w.causes, s)
	}
	if _, err := Of(w.n.Host()).Run(Config{Name: "late", Run: w.run}); !errors.Is(err, hosttest.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// A run that ends by itself is followed by another one after a while.
func TestRunsAgain(t *testing.T) {
	w := newWorld(t)
	var begun []time.Time
	fails := errors.New("enough")
	w.start(t, Config{Name: "one", RestartAfter: time.Minute, Run: func(context.Context, FencingToken) error {
		begun = append(begun, w.Now())
		return fails
	}})
	w.Run(90 * time.Second)
	if len(begun) != 2 || begun[1].Sub(begun[0]).Truncate(time.Second) != time.Minute {
		t.Errorf("it has begun at %v", begun)
	}
	failed := events.SingletonFailed{Name: "one", Role: "a", Err: fails, Again: time.Minute}
	if !slices.Contains(w.told, events.Event(failed)) {
		t.Errorf("want %v among %v", failed, w.told)
	}
}

// A run that goes on after the end of its node is told of, and the node waits a while for it.
func TestOutlivesItsNode(t *testing.T) {
	w := newWorld(t)
	w.start(t, Config{Name: "one", Run: func(context.Context, FencingToken) error {
		w.p.Await(make(chan struct{}), nil, nil)
		return nil
	}})
	begun, waited := w.Now(), time.Duration(0)
	w.p.Enter(func() {
		w.n.End()
		waited = w.Now().Sub(begun)
	})
	w.Run(time.Minute)
	if !slices.Contains(w.told, events.Event(events.SingletonOutlived{Name: "one", Role: "a"})) {
		t.Errorf("no event tells of it: %v", w.told)
	}
	if waited.Truncate(time.Millisecond) != endTimeout {
		t.Errorf("the node has waited %v", waited)
	}
}

// dropping counts what was given up.
type dropping struct {
	hosttest.NoChannels
	dropped int
}

// CountDrop implements host.Channels.
func (d *dropping) CountDrop(why transport.Drop, n int) {
	if why == transport.DropInbox {
		d.dropped += n
	}
}

// What another node has waiting in front of a singleton is bounded, what is above it is counted, and
// what was taken makes room.
func TestInboxIsBounded(t *testing.T) {
	w := newWorld(t)
	h, d := w.n.Host(), &dropping{}
	h.Channels = d
	ss := Of(h)
	s := newSingleton(h, Config{Name: "one", Role: "a", Run: w.run}, ss.newAdmission())
	if err := ss.add(s); err != nil {
		t.Fatal(err)
	}
	const stranger, crowd = transport.NodeID(4711), 10_000
	var lost []int
	for range 2 {
		was := d.dropped
		for range crowd {
			ss.hear(stranger, appendWord(nil, "one", singleton.Done))
		}
		lost = append(lost, d.dropped-was)
		for _, in := range s.loop.Rest() {
			driver{s}.Step(w.Now(), in)
		}
	}
	if lost[0] == 0 || lost[0] >= crowd || lost[1] != lost[0] {
		t.Errorf("of twice %d messages that waited, %v were given up", crowd, lost)
	}
}

// A malformed word is told of, and one for a singleton that is not here is not.
func TestHears(t *testing.T) {
	w := newWorld(t)
	ss := Of(w.n.Host())
	ss.hear(1, appendWord(nil, "absent", singleton.Request))
	if len(w.told) > 0 {
		t.Errorf("told %v", w.told)
	}
	ss.hear(1, []byte("junk"))
	if len(w.told) != 1 {
		t.Fatalf("told %v", w.told)
	}
	if e, is := w.told[0].(events.MessageMalformed); !is || !errors.Is(e.Err, errWord) {
		t.Errorf("told %v", w.told)
	}
}

// All lists those of a node by name.
func TestAll(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"two", "one"} {
		w.start(t, Config{Name: name, Run: w.run})
	}
	var names []string
	for _, s := range Of(w.n.Host()).All() {
		names = append(names, s.Name())
	}
	if !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("they are %v", names)
	}
}

package routine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/routine"
)

// line is a Timeline that calls nothing by itself, and counts instead of drawing.
type line struct {
	now   time.Time
	drawn uint64
	soon  []func()
	at    []func()
}

func (l *line) Now() time.Time           { return l.now }
func (l *line) At(_ time.Time, f func()) { l.at = append(l.at, f) }
func (l *line) Soon(f func())            { l.soon = append(l.soon, f) }
func (l *line) Uint64() uint64           { l.drawn++; return l.drawn }

// TestLooksOweNumbers: each look at a routine that waits for several channels takes a number, whether it finds
// something or not, so that the numbers of a story do not depend on how a look is made.
func TestLooksOweNumbers(t *testing.T) {
	l := &line{}
	p := routine.NewProcess(l)
	defer p.Kill()
	token, got := make(chan struct{}, 1), -1
	p.Enter(func() { got = p.Await(make(chan struct{}), token, nil) }) // two numbers: when it begins to wait, and then
	p.Look()
	p.Look()
	if l.drawn != 0 {
		t.Errorf("%d numbers were drawn that nothing needs yet", l.drawn)
	}
	if n := p.Uint64(); n != 5 {
		t.Errorf("after four looks comes number %d", n)
	}
	token <- struct{}{}
	if p.Look(); l.drawn != 6 || len(l.soon) != 1 {
		t.Errorf("a look that finds something has drawn %d numbers, and has %d routines go on", l.drawn-5, len(l.soon))
	}
	if l.soon[0](); got != 1 {
		t.Errorf("it went on because of channel %d", got)
	}
}

// TestAwaitTakesAnyOfSeveral: which of several channels that have something is the one follows from the number.
func TestAwaitTakesAnyOfSeveral(t *testing.T) {
	closed, token := make(chan struct{}), make(chan struct{}, 1)
	close(closed)
	token <- struct{}{}
	l, got := &line{drawn: 3}, []int{} // the next numbers are 4, 5 and 6
	p := routine.NewProcess(l)
	defer p.Kill()
	p.Enter(func() {
		for range 3 {
			got = append(got, p.Await(nil, token, closed))
		}
	})
	if !slices.Equal(got, []int{1, 2, 2}) {
		t.Errorf("taken from %v", got)
	}
}

// TestWhoSleepsGoesOnInTurn: the routines that can go on do so in the order in which they began to wait, also one that
// has slept.
func TestWhoSleepsGoesOnInTurn(t *testing.T) {
	l := &line{now: time.Unix(1_800_000_000, 0)}
	p := routine.NewProcess(l)
	defer p.Kill()
	a, b, order := make(chan struct{}, 1), make(chan struct{}, 1), ""
	p.Enter(func() { p.Await(a, nil, nil); order += "a" })
	p.Enter(func() { p.Sleep(time.Second); order += "s" })
	p.Enter(func() { p.Await(b, nil, nil); order += "b" })
	a <- struct{}{}
	b <- struct{}{}
	l.now = l.now.Add(time.Second)
	l.at[0]()
	for _, goOn := range l.soon {
		goOn()
	}
	if order != "asb" {
		t.Errorf("they went on in the order %q", order)
	}
}

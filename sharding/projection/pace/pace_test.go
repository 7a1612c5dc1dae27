package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var settings = Settings{SaveEvery: 3, SaveInterval: time.Second, BackoffMin: 1, BackoffMax: 8}

// Each slice is in one part and each part has one worker, whatever their numbers.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.IntRange(1, 1024).Draw(t, "parts")
		next := 0
		for part := range parts {
			first, end := Slices(part, parts, 1024)
			if first != next || end <= first {
				t.Fatalf("part %d of %d has %d up to %d, want it to begin with %d", part, parts, first, end, next)
			}
			next = end
		}
		if next != 1024 {
			t.Fatalf("the slices of %d parts end with %d", parts, next-1)
		}
		workers := rapid.IntRange(1, 2000).Draw(t, "workers")
		next = 0
		for w := range workers {
			from, to := Parts(w, workers, parts)
			if from != next || to < from {
				t.Fatalf("worker %d of %d has %d to %d, want it to begin with %d", w, workers, from, to, next)
			}
			next = to
		}
		if next != parts {
			t.Fatalf("the parts of %d workers end with %d of %d", workers, next, parts)
		}
	})
}

// A save is due after a number of events, or some time after the first of them.
func TestSaveDue(t *testing.T) {
	p, at := New(settings), time.Unix(10, 0)
	if p.SaveDue(at) || p.Unsaved() || !p.Deadline().IsZero() {
		t.Error("due with nothing to save")
	}
	p.Handled(at, 0)
	if p.Unsaved() {
		t.Error("no event leaves something to save")
	}
	p.Handled(at, 1)
	p.Handled(at.Add(time.Second/2), 1)
	if p.SaveDue(at.Add(time.Second - 1)) {
		t.Error("due too early")
	}
	if want := at.Add(time.Second); !p.SaveDue(want) || !p.Deadline().Equal(want) {
		t.Errorf("not due after the interval: %v", p.Deadline())
	}
	p.Handled(at, 1)
	if !p.SaveDue(at) {
		t.Error("not due after the number of events")
	}
	p.Saved()
	if p.SaveDue(at.Add(time.Hour)) || !p.Deadline().IsZero() {
		t.Error("due when it is saved")
	}
	p.Handled(at, 1)
	p.Begin()
	if p.Unsaved() {
		t.Error("a part that begins has something to save")
	}
}

// The pauses grow until something is saved. The tries are those of one event in succession.
func TestFailed(t *testing.T) {
	p, a, b := New(settings), Event{"a", 1}, Event{"b", 1}
	for i, c := range []struct {
		event Event
		saved bool
		tries int
		pause time.Duration
	}{
		{a, false, 1, 1}, {a, false, 2, 2}, {Event{}, false, 0, 4}, {a, false, 3, 8}, {a, false, 4, 8},
		{a, true, 5, 1}, {b, false, 1, 2}, {a, false, 1, 4},
	} {
		if c.saved {
			p.Saved()
		}
		if tries, pause := p.Failed(c.event); tries != c.tries || pause != c.pause {
			t.Errorf("%d: %d tries, pause %d, want %d, %d", i, tries, pause, c.tries, c.pause)
		}
	}
}

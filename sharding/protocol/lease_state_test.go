package protocol

import (
	"testing"
	"time"
)

// Answers about an earlier acquisition say nothing: a grant that was given back in the meantime is
// no grant.
func TestClaimKnowsItsAnswers(t *testing.T) {
	now := time.Unix(0, 0)
	var c LeaseState
	first := c.Acquire(now, time.Second)
	if op, ok := c.Release(); !ok || op.Acquire || op.Gen != first.Gen {
		t.Errorf("what may be granted is not given back: %v %v", op, ok)
	}
	second := c.Acquire(now, time.Second)
	if c.granted(first.Gen) || c.refused(first.Gen, now, time.Second) || c.lost(first.Gen) {
		t.Error("an answer to the first acquisition counts for the second")
	}
	if !c.granted(second.Gen) || c.granted(second.Gen) {
		t.Error("the grant counts once")
	}
	if c.refused(second.Gen, now, time.Second) || c.lost(first.Gen) || !c.lost(second.Gen) || c.lost(second.Gen) {
		t.Error("what is held is lost once, and not refused")
	}
	if op, ok := c.Release(); ok {
		t.Errorf("nothing is held, and yet %v", op)
	}
}

// The pauses between two tries are short at first, and begin anew after a grant.
func TestClaimTriesAgainSoonAtFirst(t *testing.T) {
	now := time.Unix(0, 0)
	var c LeaseState
	for range 2 {
		for _, eighths := range []time.Duration{1, 2, 4, 8, 8} {
			c.Acquire(now, 8*time.Second)
			if !c.refused(c.gen, now, 8*time.Second) || c.due.Sub(now) != eighths*time.Second {
				t.Errorf("the pause is %v, want %v", c.due.Sub(now), eighths*time.Second)
			}
		}
		c.Acquire(now, 8*time.Second)
		c.granted(c.gen)
	}
}

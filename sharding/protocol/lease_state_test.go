package protocol

import (
	"testing"
	"time"
)

// Answers about an earlier acquisition say nothing: a grant that was given back in the meantime is
// no grant.
func TestClaimKnowsItsAnswers(t *testing.T) {
	now := time.Unix(0, 0)
	var c leaseState
	first := c.acquire(now, time.Second)
	if op, ok := c.release(); !ok || op.Acquire || op.Gen != first.Gen {
		t.Errorf("what may be granted is not given back: %v %v", op, ok)
	}
	second := c.acquire(now, time.Second)
	if c.granted(first.Gen) || c.refused(first.Gen, now, time.Second) || c.lost(first.Gen) {
		t.Error("an answer to the first acquisition counts for the second")
	}
	if !c.granted(second.Gen) || c.granted(second.Gen) {
		t.Error("the grant counts once")
	}
	if c.refused(second.Gen, now, time.Second) || c.lost(first.Gen) || !c.lost(second.Gen) || c.lost(second.Gen) {
		t.Error("what is held is lost once, and not refused")
	}
	if op, ok := c.release(); ok {
		t.Errorf("nothing is held, and yet %v", op)
	}
}

// The pauses between two tries are short at first, and begin anew after a grant.
func TestClaimTriesAgainSoonAtFirst(t *testing.T) {
	now := time.Unix(0, 0)
	var c leaseState
	for range 2 {
		for _, eighths := range []time.Duration{1, 2, 4, 8, 8} {
			c.acquire(now, 8*time.Second)
			if !c.refused(c.gen, now, 8*time.Second) || c.due.Sub(now) != eighths*time.Second {
				t.Errorf("the pause is %v, want %v", c.due.Sub(now), eighths*time.Second)
			}
		}
		c.acquire(now, 8*time.Second)
		c.granted(c.gen)
	}
}

// TestA6HandOffWhileWaiting: a shard that waits for its lease, or for what it remembers, answers a
// stop at once.
func TestA6HandOffWhileWaiting(t *testing.T) {
	for name, loading := range map[string]bool{"lease": false, "remembered ids": true} {
		sh, err := NewShard(Config{Type: "t", Self: 1, Shards: 4, Remember: true, Lease: !loading}, newRand(), 2)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(0, 0)
		fx := sh.Step(now, Open{})
		if len(fx.Read) == 1 != loading || len(fx.Lease) == 1 == loading {
			t.Fatalf("%s: it does not wait for that:\n%v", name, fx)
		}
		fx = sh.Step(now, Stop{HandOff: Token{1, 1, 1}})
		if len(fx.Region) != 1 || fx.Region[0] != (ShardStopped{Shard: 2, HandOff: Token{1, 1, 1}}) {
			t.Errorf("%s: no answer at once:\n%v", name, fx)
		}
	}
}

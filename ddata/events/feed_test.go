package events

import (
	"context"
	"errors"
	"testing"
)

// Each loop sees every event from its Watch on, in order, and is told how many found no room.
func TestFeed(t *testing.T) {
	f := NewFeed(2)
	f.Tell(Waiting{"before"})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	quick, slow, left := f.Watch(ctx), f.Watch(ctx), f.Watch(ctx)
	f.Tell(Waiting{"a"})
	for e, err := range left {
		if e != (Waiting{"a"}) || err != nil {
			t.Errorf("%v, %v", e, err)
		}
		break
	}
	var got []any
	for e, err := range quick {
		if err == nil {
			got = append(got, e)
			if e == (Waiting{"a"}) {
				f.Tell(Waiting{"b"})
				f.Tell(Waiting{"c"})
			}
			if e != (Waiting{"c"}) {
				continue
			}
		}
		break
	}
	var missed MissedError
	over := errors.New("over")
	for e, err := range slow {
		switch {
		case err == nil:
			got = append(got, e)
		case errors.As(err, &missed):
			cancel(over)
		default:
			got = append(got, err)
		}
	}
	want := []any{Waiting{"a"}, Waiting{"b"}, Waiting{"c"}, Waiting{"a"}, Waiting{"b"}, over}
	if len(got) != len(want) || missed.Events != 1 || missed.Error() != "events: 1 were missed" {
		t.Fatalf("%v, and %v", got, missed)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d is %v, want %v", i, got[i], want[i])
		}
	}
	f.Tell(Waiting{"late"})
	f.mu.Lock() // what forgets the loops at the end of ctx may run beside
	defer f.mu.Unlock()
	if len(f.loops) != 0 {
		t.Errorf("%d loops are left", len(f.loops))
	}
}

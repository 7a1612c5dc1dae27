package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// What a call waits for a lock is what its context leaves, and at least a millisecond: 0 is no limit.
func TestEntryWaits(t *testing.T) {
	wait := func(ctx context.Context) int32 { return entry(ctx, persistence.Hosting{})[3].(int32) }
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	past, cancelPast := context.WithTimeout(t.Context(), -time.Second)
	defer cancelPast()
	if ms := wait(soon); ms < 1000 || ms > 60_000 {
		t.Errorf("with a minute left: %d ms", ms)
	}
	if a, b := wait(past), wait(t.Context()); a != 1 || b != 0 {
		t.Errorf("with no time left: %d ms; with no limit: %d ms", a, b)
	}
}

// A query that has found the server again waits for it as long the next time.
func TestOutageBeginsAnew(t *testing.T) {
	var w waiting
	gone := context.DeadlineExceeded // a net.Error
	w.since = time.Now().Add(-outageMax)
	if w.outage(gone) {
		t.Error("the wait has no end")
	}
	w.wellAgain(false)
	if !w.outage(gone) {
		t.Error("the next outage ends the query at once")
	}
}

// A read whose last events do not come fails.
func TestLoadingFinish(t *testing.T) {
	l := loading{reads: []persistence.Read{{Entity: "a"}}, ends: []persistence.End{{Last: 3}}, next: 3}
	if err := l.finish(); !errors.Is(err, persistence.ErrDamaged) {
		t.Errorf("event 3 did not come: %v", err)
	}
	l.next++
	if err := l.finish(); err != nil {
		t.Error(err)
	}
}

// Parts are as large as a statement may be. What is above a limit is in none.
func TestSplit(t *testing.T) {
	sizes := []int{statementBytes, 1, statementBytes - 1, 1, -1, 2 * statementBytes, 0}
	parts, refused := split(sizes, func(size int) (int, error) {
		if size < 0 {
			return 0, persistence.ErrTooLarge
		}
		return size, nil
	})
	if fmt.Sprint(parts) != "[[0] [1 2] [3] [5] [6]]" || len(refused) != 1 || refused[0].Index != 4 {
		t.Error(parts, refused)
	}
	if parts, _ := split(nil, func(int) (int, error) { return 0, nil }); fmt.Sprint(parts) != "[[]]" {
		t.Errorf("of nothing: %v", parts)
	}
}

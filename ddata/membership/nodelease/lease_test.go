package nodelease

import (
	"testing"
	"time"
)

// TestHoldsNeedsBothClocks: a suspend stops monotonic time, not wall time; a stepped wall clock
// does not lengthen it.
func TestHoldsNeedsBothClocks(t *testing.T) {
	now := time.Now() // carries a monotonic reading
	l := Lease{until: now.Add(6 * time.Second), wall: now.Add(6 * time.Second).UnixNano()}
	for _, c := range []struct {
		what string
		l    Lease
		now  time.Time
		want bool
	}{
		{"inside", l, now.Add(5 * time.Second), true},
		{"after", l, now.Add(6 * time.Second), false},
		{"suspended: wall ran ahead", Lease{until: l.until, wall: l.wall - int64(time.Minute)}, now, false},
		{"wall set back", Lease{until: l.until, wall: l.wall + int64(time.Minute)}, now.Add(7 * time.Second), false},
		{"none", Lease{}, now, false},
		{"alone", Lease{forever: true}, now.Add(time.Hour), true},
	} {
		if got := c.l.Holds(c.now); got != c.want {
			t.Errorf("%s: holds %t", c.what, got)
		}
	}
}

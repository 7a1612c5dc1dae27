package view

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// UIDs rise with time, are not below the bound that the node was told, and differ by what is random.
func TestDrawUID(t *testing.T) {
	at := func(d time.Duration, least UID, random uint64) UID { return DrawUID(noon.Add(d), least, random) }
	for _, c := range []struct {
		what string
		u    UID
		from UID
	}{
		{"now", at(0, 0, 1<<63+5), UIDsFrom(noon)},
		{"a later one", at(2*UIDUnit, 0, 0), UIDsFrom(noon.Add(UIDUnit))},
		{"a clock that is behind", at(-1e6*time.Hour, UIDsFrom(noon), 3), UIDsFrom(noon)},
		{"a clock that is before 1970", DrawUID(time.Time{}, 0, 3), 0xf << 60},
		{"a bound within a unit", at(0, UIDsFrom(noon)+7, 0), UIDsFrom(noon) + 7},
		{"a bound that builds before drew", at(0, 1<<63+7, 0), UIDsFrom(noon)},
		{"the last unit", at(0, uidLast+7, 9), uidLast},
		{"the end of time", DrawUID(time.Unix(1<<40, 0), 0, 3), uidLast},
	} {
		if c.u < c.from || c.u-c.from > 2*uidStep {
			t.Errorf("%s: %x, not just above %x", c.what, uint64(c.u), uint64(c.from))
		}
	}
	if a, b := at(0, 0, 1), at(0, 0, 2); a == b || a.String() == b.String() || len(a.String()) != 8 {
		t.Errorf("%v and %v", a, b)
	}
	if UID(0xab).String() != "ab" || UID(1<<60+0xab).String() != "000000ab" {
		t.Error(UID(0xab), UID(1<<60+0xab))
	}
}

package remind_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding/remind"
)

func TestReminderCheck(t *testing.T) {
	good := remind.Reminder{Entity: "e", Name: "n", Due: time.Now(), At: time.Now(), Every: remind.EveryMin}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for why, edit := range map[string]func(*remind.Reminder){
		"name has 0 bytes":       func(r *remind.Reminder) { r.Name = "" },
		"name has 256 bytes":     func(r *remind.Reminder) { r.Name = strings.Repeat("n", remind.NameMax+1) },
		"is not UTF-8":           func(r *remind.Reminder) { r.Name = "\xff" },
		"message has 65537":      func(r *remind.Reminder) { r.Body = make([]byte, remind.BodyMax+1) },
		"period is -1ns":         func(r *remind.Reminder) { r.Every = -1 },
		"period is 9.999999ms":   func(r *remind.Reminder) { r.Every = remind.EveryMin - 1 },
		"due at 0001-01-01":      func(r *remind.Reminder) { r.Due = time.Time{} },
		"between the years 1678": func(r *remind.Reminder) { r.At = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		r := good
		edit(&r)
		if err := r.Check(); !errors.Is(err, remind.ErrInvalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is not the reason of %v", why, err)
		}
	}
}

// The next turn is the first one after now, and a multiple of the period away from the one before,
// however long nothing was handled.
func TestNextTurn(t *testing.T) {
	if _, ok := (remind.Reminder{Due: time.Now()}).Next(time.Now()); ok {
		t.Error("what comes once comes again")
	}
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(math.MinInt64+1, math.MaxInt64-1)
		r := remind.Reminder{Due: time.Unix(0, at.Draw(t, "due")), Version: 7, Tries: 3}
		r.Every = time.Duration(rapid.Int64Range(int64(remind.EveryMin), math.MaxInt64).Draw(t, "every"))
		now := time.Unix(0, at.Draw(t, "now"))
		next, ok := r.Next(now)
		if !ok {
			if uint64(r.Every) < uint64(math.MaxInt64-max(now.UnixNano(), r.Due.UnixNano())) {
				t.Fatalf("none, though there is room for one")
			}
			return
		}
		span := uint64(next.Due.UnixNano()) - uint64(r.Due.UnixNano())
		switch {
		case !next.Due.After(now) || !next.Due.After(r.Due):
			t.Fatalf("%v is not after %v and %v", next.Due, now, r.Due)
		case span%uint64(r.Every) != 0:
			t.Fatalf("%v is no multiple of the period away", next.Due)
		case !now.Before(r.Due) && next.Due.Add(-r.Every).After(now):
			t.Fatalf("%v is not the first one after %v", next.Due, now)
		case now.Before(r.Due) && span != uint64(r.Every):
			t.Fatalf("handled early, and %v is not the second turn", next.Due)
		case r.Missed(now) != 0 && r.Missed(now) != span/uint64(r.Every)-1:
			t.Fatalf("%d missed, and the next one is %d periods away", r.Missed(now), span/uint64(r.Every))
		case !next.At.Equal(next.Due) || next.Version != 8 || next.Tries != 0:
			t.Fatalf("%+v", next)
		}
	})
}

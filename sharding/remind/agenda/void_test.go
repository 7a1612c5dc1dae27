package agenda

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/remind"
)

// What an entity has taken away, or set anew, does not come in its former form when the entity has heard of
// that: not by a read that began before, and not after a wait for room.
func TestWhatWasTakenAwayDoesNotCome(t *testing.T) {
	now := time.Unix(1e9, 0)
	old := remind.Reminder{Entity: "a", Name: "n", Due: now, At: now, Version: 5}
	later := old
	later.Version, later.Due, later.At = 7, now.Add(time.Hour), now.Add(time.Hour)
	for what, c := range map[string]remind.Change{
		"taken away": {Reminder: remind.Reminder{Entity: "a", Name: "n"}, Remove: true}, "set anew": {Reminder: later},
	} {
		t.Run(what+", a read is under way", func(t *testing.T) {
			a := New(Settings{}, defect.Set{})
			a.Step(now, Tick{})
			a.Step(now, Set{1, c})
			a.Step(now, DidWrite{})
			fx := a.Step(now, DidRead{Due: []remind.Reminder{old}})
			if len(fx.Fire) > 0 || fx.Read == nil {
				t.Errorf("%v comes; it reads again: %t", fx.Fire, fx.Read != nil)
			}
			if c.Remove {
				return
			}
			now := later.At
			if fx = a.Step(now, DidRead{Due: []remind.Reminder{later}}); len(fx.Fire) != 1 {
				t.Errorf("%v comes, of what was set", fx.Fire)
			}
		})
		for _, first := range []string{"Busy", "Set"} {
			t.Run(fmt.Sprintf("%s, no room, %s comes first", what, first), func(t *testing.T) {
				a := New(Settings{}, defect.Set{})
				a.Step(now, Tick{})
				a.Step(now, DidRead{Due: []remind.Reminder{old}})
				set := func() {
					a.Step(now, Set{1, c})
					a.Step(now, DidWrite{})
				}
				if first == "Set" {
					set()
				}
				a.Step(now, Busy{old.Key(), old.Version})
				if first == "Busy" {
					set()
				}
				if fx := a.Step(now.Add(time.Second), Tick{}); len(fx.Fire) > 0 {
					t.Errorf("%v comes", fx.Fire)
				}
				a.checkInvariants()
			})
		}
	}
}

// A damaged reminder that stays due is told of once, and again when it was gone.
func TestDamageIsToldOnce(t *testing.T) {
	now, alarms := time.Unix(1e9, 0), 0
	a := New(Settings{}, defect.Set{})
	for _, err := range []error{remind.ErrDamaged, remind.ErrDamaged, nil, remind.ErrDamaged} {
		now = now.Add(time.Minute)
		if fx := a.Step(now, Changed{}); fx.Read == nil {
			t.Fatal("it does not look")
		}
		if fx := a.Step(now, DidRead{Err: err}); fx.Alarm != nil {
			alarms++
		}
	}
	if alarms != 2 {
		t.Errorf("told %d times", alarms)
	}
}

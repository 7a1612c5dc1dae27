package memory_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
	"github.com/coterie-go/coterie/sharding/remind/remindtest"
)

func TestLaws(t *testing.T) {
	open := func(testing.TB) (a, b remind.Store) {
		m := &memory.Store{}
		return m, m
	}
	remindtest.Run(t, open)
	remindtest.RunFenced(t, open)
}

// What is due at one time comes in the order of its keys: a world of the simulator runs the same way each time.
func TestDueAtOneTimeHasAnOrder(t *testing.T) {
	m, at := &memory.Store{}, time.Unix(1000, 0)
	var changes []remind.Change
	for i := range 20 {
		changes = append(changes, remind.Change{Reminder: remind.Reminder{
			Entity: protocol.EntityID(fmt.Sprint(i % 3)), Name: fmt.Sprint(i), Due: at, At: at, Version: 1,
		}})
	}
	if err := m.Update(t.Context(), singleton.FencingToken{}, 1, 0, changes); err != nil {
		t.Fatal(err)
	}
	var first []remind.Reminder
	for range 20 {
		due, _, err := m.Due(t.Context(), singleton.FencingToken{}, 1, at, 10)
		if err != nil || len(due) != 10 {
			t.Fatalf("%d are due: %v", len(due), err)
		}
		if first == nil {
			first = due
		}
		if !reflect.DeepEqual(due, first) {
			t.Fatalf("%v and then %v", first, due)
		}
	}
}

package sharding

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remind"
	remindmemory "github.com/coterie-go/coterie/sharding/remind/memory"
)

// namedIDs and namedReminders are stores that have a name of their own.
type (
	namedIDs struct {
		remember.Memory
		id string
	}
	namedReminders struct {
		remind.Store
		id string
	}
)

func (s *namedIDs) ID() string { return s.id }

func (s namedReminders) ID() string { return s.id }

// rememberingIn is a type that remembers its ids and reminders in stores of those names.
func rememberingIn(idStore, reminderStore string) EntityType[message_] {
	typ := rememberingType(&cartLog{}, &namedIDs{id: idStore})
	typ.Reminders.Enabled, typ.Reminders.Store = true, namedReminders{&remindmemory.Store{}, reminderStore}
	return typ
}

// A node that has another store than the coordinator takes no part. Both are named.
func TestOtherStoreIsRefused(t *testing.T) {
	mine, other := locks.NewMemory(), locks.NewMemory()
	coordinator := func(s locks.Store) EntityType[message_] {
		typ := cartType(&cartLog{})
		typ.Leases.Coordinator = s
		return typ
	}
	noReminders := rememberingIn("ids", "reminders")
	noReminders.Reminders.Enabled, noReminders.Reminders.Store = false, nil
	for name, c := range map[string]struct { // order: each is a cluster of its own
		typ, wrong EntityType[message_]
		want       string
	}{
		"ids": {rememberingIn("ids", "reminders"), rememberingIn("ids-2", "reminders"),
			"Remember.Store is store ids-2 here and store ids with the coordinator"},
		"reminders": {rememberingIn("ids", "reminders"), rememberingIn("ids", "reminders-2"),
			"Reminders.Store is store reminders-2 here and store reminders with the coordinator"},
		"no reminders": {rememberingIn("ids", "reminders"), noReminders,
			"Reminders.Enabled is false here and true with the coordinator"},
		"coordinators": {coordinator(mine), coordinator(other),
			"Leases.Coordinator is store " + other.ID() + " here and store " + mine.ID() + " with the coordinator"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) { demandRefused(t, w, c.typ, c.wrong, c.want) })
		})
	}
}

// A second Start on one node with another store is refused, and the error names both.
func TestOtherStoreOnOneNodeIsRefused(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	if _, err := Start(n, rememberingIn("ids", "reminders")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ids, reminders, has, wants string }{
		{"ids-2", "reminders", `remember-store="ids"`, `remember-store="ids-2"`},
		{"ids", "reminders-2", `reminder-store="reminders"`, `reminder-store="reminders-2"`},
	} {
		_, err := Start(n, rememberingIn(c.ids, c.reminders))
		if !errors.Is(err, ErrAlreadyStarted) || !strings.Contains(err.Error(), c.has) ||
			!strings.Contains(err.Error(), c.wants) {
			t.Errorf("with %s and %s: %v", c.ids, c.reminders, err)
		}
	}
}

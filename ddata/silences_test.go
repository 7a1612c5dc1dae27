package ddata_test

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// A node knows which members it does not hear until they are removed. What listens to the node's
// events hears of that, until it is cancelled; and the replica's figures count what it holds.
func TestSilences(t *testing.T) {
	nodes := ddatatest.StartWith(t, 3, func(_ int, c *ddata.Config) { c.Downing = downing.Manual{} })
	if got := nodes[0].Unreachable(); len(got) > 0 {
		t.Errorf("%v", got)
	}
	silent, removed := make(chan view.UID, 9), make(chan view.UID, 9)
	listen := func(told chan view.UID) func() {
		return nodes[0].Host().OnEvent(func(e events.Event) {
			switch e := e.(type) {
			case events.MemberUnreachable:
				told <- e.Member.UID
			case events.MemberRemoved:
				removed <- e.Member.UID
			}
		})
	}
	deaf := make(chan view.UID, 9)
	listen(deaf)() // cancelled
	listen(silent)
	for _, set := range keyspace.Datasets(nodes[0].Roles()) {
		if f, err := ddata.Figures(t.Context(), nodes[0], set); err != nil || !f.CaughtUp ||
			len(f.Spaces[keyspace.Volatile].Peers) != 2 {
			t.Errorf("%v: %+v %v", set, f, err)
		}
	}
	if _, err := ddata.Figures(t.Context(), nodes[0], keyspace.Dataset{Role: "none"}); !errors.Is(err,
		ddata.ErrUnknownRole) {
		t.Errorf("of a role that it does not have: %v", err)
	}
	gone := nodes[2].UID()
	_ = nodes[2].Close()
	wait := func(told chan view.UID) {
		t.Helper()
		select {
		case u := <-told:
			if u != gone {
				t.Errorf("%v, want %v", u, gone)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing is told")
		}
	}
	wait(silent)
	if since, ok := nodes[0].Unreachable()[gone]; !ok || time.Since(since) > time.Minute {
		t.Errorf("%v", nodes[0].Unreachable())
	}
	if err := nodes[0].Down(gone); err != nil {
		t.Fatal(err)
	}
	wait(removed)
	for deadline := time.Now().Add(time.Minute); len(nodes[0].Unreachable()) > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%v", nodes[0].Unreachable())
		}
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	if len(deaf) > 0 {
		t.Error("a cancelled listener was told")
	}
}

package ddata

import (
	"io"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Each thing that a step of a Replicator shows is told.
func TestEffectsAreTold(t *testing.T) {
	n, err := Start(t.Context(), Config{
		Name: "test", Bind: "127.0.0.1:0",
		BootstrapExpect: 1, Preset: Local, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = n.Close() // only this test calls the host from now on
	fx := &effect.Effects{
		Settled:   []effect.Settlement{{Epoch: 1}, {Epoch: 2, Lost: true}},
		Large:     []effect.LargeKey{{Key: "k", Bytes: 9}},
		Diverged:  []effect.Divergence{{Key: "k", Peer: 7, Dots: 2, Dot: crdt.Dot{Origin: 3, Seq: 4}}},
		Malformed: []effect.Malformed{{Peer: 7, Count: 5}},
		Repairs: []effect.Repair{
			{Space: keyspace.Durable, Peer: 7}, {Peer: 7, State: effect.RepairDone, Items: 3, Took: time.Second},
			{Peer: 7, State: effect.RepairBroken},
		},
		Holding:  []effect.Holding{{Peer: 7, Held: 4}},
		CaughtUp: true,
	}
	// are not told: the driver does as they say
	carried := []string{"Persist", "Send", "Whole", "Reply", "Notify", "Changed", "Moved", "Retirable", "Outdated"}
	for f, v := range reflect.ValueOf(*fx).Fields() {
		if v.IsZero() != slices.Contains(carried, f.Name) {
			t.Errorf("Effects.%s: is it told? Then it belongs into this test, and into (*replicaHost).Tell", f.Name)
		}
	}
	var got []events.Event
	n.reports.listeners = []events.Listener{func(e events.Event) { got = append(got, e) }}
	h := n.replicas[keyspace.Dataset{Role: DefaultRole}].h
	h.Tell(fx)
	h.Send(effect.Envelope{To: 12345, Msg: &wire.Done{}}, nil)
	h.Commit(storage.Batch{})
	var all []events.Event
	for _, e := range got {
		if u, ok := e.(events.MessageUnsent); ok {
			if u.What != "replicator" || u.Err == nil {
				t.Errorf("%+v", u)
			}
			u.Err, u.To = nil, ""
			e = u
		}
		if f, ok := e.(events.StoreFailed); ok {
			if f.Err == nil {
				t.Errorf("%+v", f)
			}
			f.Err = nil
			e = f
		}
		all = append(all, e)
	}
	r, peer := keyspace.Dataset{Role: DefaultRole}, view.UID(7)
	want := []events.Event{
		events.MajorityLost{Dataset: r, Settled: fx.Settled[1]},
		events.KeyLarge{Dataset: r, Key: "k", Bytes: 9},
		events.Diverged{Dataset: r, Key: "k", Dot: crdt.Dot{Origin: 3, Seq: 4}, Peer: peer, Dots: 2},
		events.PeerMalformed{Dataset: r, Peer: peer, Count: 5},
		events.RepairBegan{Dataset: r, Space: keyspace.Durable, Peer: peer},
		events.RepairEnded{Dataset: r, Peer: peer, State: effect.RepairDone, Items: 3, Took: time.Second},
		events.RepairEnded{Dataset: r, Peer: peer, State: effect.RepairBroken},
		events.WritersHeld{Dataset: r, Peer: peer, Held: 4},
		events.CaughtUp{Dataset: r},
		events.MessageUnsent{What: "replicator"},
		events.StoreFailed{Dataset: r},
	}
	if !slices.Equal(all, want) {
		t.Errorf("told\n%v\nwant\n%v", all, want)
	}
}

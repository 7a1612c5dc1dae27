package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/events/prom"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// What a type reports is what has happened, and what the table in design.md lists; a
// region that was closed reports nothing.
func TestMetrics(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Allocation.Strategy = allocation.LoadAware{}
		typ.Rebalance.Interval = time.Hour
		typ.Passivation.Strategy.ActiveEntityLimit = 1000
		typ.Reminders.Enabled = true
		var nodes []*fakeNode
		var meters []*eventstest.Meter
		var regions []*Region[message_]
		for range 2 {
			n, m := w.join("backend"), eventstest.NewMeter("coterie_sharding_", "type")
			p := n.ports()
			p.Meter = m
			g, err := StartOn(p, typ)
			if err != nil {
				t.Fatal(err)
			}
			nodes, meters, regions = append(nodes, n), append(meters, m), append(regions, g)
		}
		w.install()
		ctx := within(t, time.Minute)
		tell := func(n int) {
			for i := range n {
				if _, err := Ask(ctx, regions[1].Ref(fmt.Sprint("e", i)), total{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		tell(50)
		synctest.Wait()
		coordinator, other := meters[0].Values(), meters[1].Values()
		if n := coordinator["entities"] + other["entities"]; n != 50 ||
			coordinator["active_entities"]+other["active_entities"] != 50 {
			t.Errorf("%d entities", n)
		}
		if n := coordinator["handled_total"] + other["handled_total"]; n < 50 || n > 150 {
			t.Errorf("%d messages, starts and stops of 50 were handled", n)
		}
		shards := coordinator["shards"] + other["shards"]
		if n := other["home_lookups_total"]; n < shards || shards == 0 {
			t.Errorf("%d lookups for %d shards", n, shards)
		}
		if coordinator["slice_duration_seconds"] == 0 || other["slice_duration_seconds"] == 0 {
			t.Error("no slice was measured")
		}
		meters[0].Want(t, map[string]int{
			"coordinating": 1, "registered": 1, "buffered_messages": 0, "asks": 0,
			"events_total event=coordinator-started": 1,
			"active_entity_limit":                    1000, "dropped_total reason=mailbox-full": 0,
			"machine_total machine=coordinator count=state-errors": 0,
		})
		meters[1].Want(t, map[string]int{
			"coordinating": 0, "registered": 1, "hand_offs_begun_total": 0, "asks_timed_out_total": 0,
		})
		if err := regions[1].Passivate(ctx, "e1"); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		g, here := newGate(), ""
		for i := range 50 {
			if home, ok := homeOf(regions[1], fmt.Sprint("e", i)); ok && home == nodes[1].UID() && i != 1 {
				here = fmt.Sprint("e", i)
			}
		}
		if err := regions[1].Tell(ctx, here, block{g}); err != nil {
			t.Fatal(err)
		}
		<-g.entered
		if _, err := Ask(short, regions[1].Ref(here), total{}); !errors.Is(err, ErrTimeout) {
			t.Errorf("an answer of an entity that is busy: %v", err)
		}
		close(g.open)
		synctest.Wait()
		const passivated = "passivated_total cause=request"
		if n := meters[0].Values()[passivated] + meters[1].Values()[passivated]; n != 1 {
			t.Errorf("%d were passivated", n)
		}
		meters[1].Want(t, map[string]int{"asks_timed_out_total": 1, "asks": 0})
		eventstest.CheckTable(t, meters...)
		<-time.After(2 * time.Second)

		moves := meters[1].Values()["shards"]
		g = newGate()
		if err := regions[1].Tell(ctx, here, block{g}); err != nil {
			t.Fatal(err)
		}
		<-g.entered
		time.AfterFunc(time.Second, func() { close(g.open) }) // one hand-off takes a second
		if err := w.handsOver(nodes[1], time.Minute); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		meters[0].Want(t, map[string]int{
			"hand_offs_begun_total": moves, "hand_offs_done_total": moves, "hand_offs_aborted_total": 0,
			"events_total event=shard-moved": moves, "shards": shards,
		})
		if meters[0].Values()["move_duration_seconds"] == 0 {
			t.Error("no move was measured")
		}
		for i, g := range regions {
			if err := g.Close(ctx); err != nil {
				t.Error(err)
			}
			if n := meters[i].Readers(); n > 0 {
				t.Errorf("%d readers of a closed region", n)
			}
		}
	})
}

// What was started because it is remembered is counted, and how long shards had no home.
func TestMetricsOfALostNode(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Remember.Entities = true
		gone, left := w.join("backend"), w.join("backend")
		m := eventstest.NewMeter("coterie_sharding_", "type")
		p := left.ports()
		p.Meter = m
		lost := start(gone, typ)
		g, err := StartOn(p, typ)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		w.install()
		for i := range 40 {
			if err := lost.Tell(t.Context(), fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		before := m.Values()
		if before["entities"] == 0 || before["entities"] == 40 || before["remembered_starts_total"] != 0 {
			t.Fatalf("%v", before)
		}
		w.kill(gone)
		<-time.After(time.Minute)
		m.Want(t, map[string]int{"entities": 40, "remembered_starts_total": 40 - before["entities"], "coordinating": 1})
	})
}

// The Meter of a node gets the metrics of the types that run on it, until they end.
func TestMetricsOfANode(t *testing.T) {
	meter, reg := prom.New(prom.Config{Labels: map[string]string{"at": "here"}}), prometheus.NewRegistry()
	reg.MustRegister(meter)
	n, err := ddata.Start(t.Context(), ddata.Config{
		Name: "test", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler), Meter: meter,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	carts, err := Start(n, cartType(&cartLog{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(within(t, time.Minute), carts.Ref("cart-1"), total{}); err != nil {
		t.Fatal(err)
	}
	gather := func() (shards float64, there bool) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "coterie_sharding_shards" {
				return f.GetMetric()[0].GetGauge().GetValue(), true
			}
		}
		return 0, false
	}
	if shards, there := gather(); !there || shards != 1 {
		t.Errorf("%v shards (%t)", shards, there)
	}
	if err := carts.Close(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, there := gather(); there {
		t.Error("a type that was closed is read")
	}
}

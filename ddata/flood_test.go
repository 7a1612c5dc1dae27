package ddata_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// A node that cannot be taken and asks without a pause is told of once, and what it may have
// waiting is bounded.
func TestAFloodOfProbesIsNotRepeatedInTheLog(t *testing.T) {
	addrs := freeAddrs(t, 1)
	var told atomic.Int64
	c := config(addrs[0], addrs, 1)
	c.OnEvent = eventstest.On(func(events.NodeRefused) { told.Add(1) })
	n := startAll(t, c)[0]
	enemy, err := transport.Listen(t.Context(), transport.Config{Cluster: "test", Self: 666, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer enemy.Close()
	probe := message.Append(nil, bootstrap.Probe{
		Name: "test",
		Self: view.Member{UID: 666, Addr: enemy.Addr(), Status: view.Joining, Formats: format.Build()},
	})
	const probes = 50_000
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for sent := 0; sent < probes; {
		if enemy.SendAddr(n.Addr(), transport.ChannelOf("membership"), probe) == nil {
			sent++
		} else {
			<-pause.C
		}
	}
	for limit := time.After(10 * time.Second); n.TransportStats().FramesIn < probes; {
		select {
		case <-pause.C:
		case <-limit:
			t.Fatalf("%v", n.TransportStats())
		}
	}
	if err := ddata.Update(testContext(t), replica(t, n), names, ddata.WriteAll, add("x")); err != nil {
		t.Error(err)
	}
	if got := told.Load(); got != 1 {
		t.Errorf("told %d times", got)
	}
}

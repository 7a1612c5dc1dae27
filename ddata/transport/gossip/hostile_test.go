package gossip

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// besieged is a node, and another one that opens streams to it.
func besieged(t *testing.T) (g *Gossip, open func(says []byte) net.Conn) {
	t.Helper()
	listen := func(id transport.NodeID) *transport.Mesh {
		m, err := transport.Listen(t.Context(), transport.Config{Cluster: "test", Self: id, Bind: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	m, enemy := listen(1), listen(2)
	g, err := New(m, Config{Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Shutdown() })
	return g, func(says []byte) net.Conn {
		t.Helper()
		c, err := enemy.DialStream(t.Context(), m.Addr(), channel)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write(says); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(10 * time.Second); !cond(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("still not: %s", what)
		}
	}
}

// A few bytes that claim a million nodes, or 20 MiB, cost a few bytes.
func TestClaimsCostNothing(t *testing.T) {
	g, open := besieged(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const each = 20
	for i := range uint64(each) {
		open(labelled("test", of(typeSync, fields("Nodes", uint32(1<<20), "UserStateLen", 0, "Join", false))))
		open(labelled("test", of(typeSync, fields("Nodes", 0, "UserStateLen", uint32(20<<20), "Join", false))))
		open(labelled("test", of(8, fields("UserMsgLen", uint32(20<<20)))))
		open(labelled("test", of(9, fields("Algo", 0, "Buf", "x"))))
		eventually(t, "four more refused", func() bool { // more at a time might be a crowd
			s := g.Stats().Refused
			return s[RefusedSize] == 2*(i+1) && s[RefusedType] == 2*(i+1)
		})
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes were allocated for %d streams", grown, 4*each)
	}
}

// Silent streams keep no other stream out, and there are never more than a few.
func TestSilentStreamsHaveToGo(t *testing.T) {
	g, open := besieged(t)
	const more = 10
	for range streamsMax + more {
		open([]byte{typeLabel})
	}
	eventually(t, "the oldest gone", func() bool { return g.Stats().Refused[RefusedCrowd] == more })
	c := open(labelled("test", of(typeSync, fields("Nodes", 0, "UserStateLen", 0, "Join", false))))
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := c.Read(answer); err != nil || answer[0] != typeSync {
		t.Errorf("no answer to a sync: %v, %v", answer, err)
	}
}

package ddata_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/transport"
)

// A peer that knows the cluster's name sends what it likes to every subsystem, and a crowd that
// knows nothing stands before the port: the nodes stay together and serve, with a bounded number of
// goroutines and bytes.
func TestHostilePeer(t *testing.T) {
	addrs := freeAddrs(t, 3)
	var configs []ddata.Config
	for _, a := range addrs {
		c := config(a, addrs, 3)
		c.Preset = ddata.LAN // leases that a busy machine does not lose
		configs = append(configs, c)
	}
	nodes := startAll(t, configs...)
	target := nodes[0]
	write := func(round int) {
		t.Helper()
		if err := ddata.Update(testContext(t), replica(t, nodes[round%3]), names, ddata.WriteAll,
			add(fmt.Sprint(round))); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	measure := func() (heap uint64, goroutines int) {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc, runtime.NumGoroutine()
	}
	write(0)
	heap, goroutines := measure()

	enemy, err := transport.Listen(t.Context(), transport.Config{Cluster: "test", Self: 666, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer enemy.Close()
	if err := enemy.AddPeer(transport.NodeID(target.UID()), target.Addr()); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	v := target.View()
	real := [][]byte{ // messages that are well formed, and lies
		message.Append(nil, bootstrap.Locked{View: v}), message.Append(nil, message.Commit{View: v}),
		message.Append(nil, message.Heartbeat{Epoch: v.Epoch + 1}),
		message.Append(nil, bootstrap.Refuse{Reason: bootstrap.ReasonGone, Text: "gone"}),
	}
	sent := 0
	for round := 1; round <= 20; round++ {
		for range 500 {
			junk := make([]byte, rng.IntN(300))
			if rng.IntN(2) == 0 {
				junk = append(junk[:0], real[rng.IntN(len(real))]...)
			}
			for range rng.IntN(4) {
				if len(junk) > 0 {
					junk[rng.IntN(len(junk))] ^= byte(1 << rng.IntN(8))
				}
			}
			for _, name := range []string{"membership", "replicator/backend", "gossip/memberlist", "absent"} {
				lane := transport.Lane(rng.IntN(3))
				if err := enemy.Send(transport.NodeID(target.UID()), lane, 0,
					transport.ChannelOf(name), junk); err == nil {
					sent++
				} else if !errors.Is(err, transport.ErrQueueFull) {
					t.Fatal(err)
				}
			}
		}
		if c, err := enemy.DialStream(t.Context(), target.Addr(),
			transport.ChannelOf("gossip/memberlist")); err == nil {
			defer c.Close()
			_, _ = c.Write(append([]byte{244, byte(round)}, make([]byte, round*100)...))
		}
		write(round)
	}
	var crowd []net.Conn
	for i := range 2000 {
		c, err := net.Dial("tcp", target.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte("\xc0TRY\x01\x01\xff\x00GET / HTTP/1.1")[:i%20])
		crowd = append(crowd, c)
	}
	write(21)
	h, g := measure() // the gate closes what is too much; on a busy machine that takes a moment
	for until := time.Now().Add(limit); g > goroutines+700 && time.Now().Before(until); h, g = measure() {
		<-time.After(10 * time.Millisecond)
	}
	if h > heap+32<<20 || g > goroutines+700 {
		t.Errorf("%d bytes and %d goroutines more, for %d connections and %d frames",
			int64(h)-int64(heap), g-goroutines, len(crowd), sent)
	}
	for _, n := range nodes {
		if got := n.View(); len(got.Members) != 3 || n.Err() != nil {
			t.Errorf("%v: %v", got, n.Err())
		}
	}
	if sent < 10_000 {
		t.Errorf("only %d frames were sent", sent)
	}
	received := target.TransportStats()
	if received.Dropped[transport.DropNoHandler] == 0 || received.FramesIn < 5_000 {
		t.Errorf("the enemy was hardly heard: %v", received)
	}
	late := time.Now()
	write(22)
	if d := time.Since(late); d > 5*time.Second {
		t.Errorf("a write took %v", d)
	}
}

package faulty_test

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// A crowd that says nothing comes from one host, faster than the handshakes of a node on a slow
// line get on: it does not end them.
func TestACrowdDoesNotEndSlowHandshakes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := wires(t, 1, faulty.Weather{})
		hub := memory.NewHub()
		start := func(id transport.NodeID, addr string) *transport.Mesh {
			m, err := transport.Listen(t.Context(), transport.Config{
				Cluster: "c", Self: id, Bind: addr, Network: w.At(addr, hub.At(addr)),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			return m
		}
		a, b := start(1, addrA), start(2, addrB)
		w.Set(addrA, addrB, faulty.Weather{Delay: 500 * time.Millisecond}) // its hello takes so long
		stop, stopped := make(chan struct{}), make(chan struct{})
		crowd := hub.At("10.0.0.3:1")
		go func() {
			defer close(stopped)
			for again := true; again; {
				for range 600 { // more than have a place, in less time than a hello takes
					if c, err := crowd.Dial(t.Context(), addrB); err == nil {
						defer c.Close()
					}
				}
				select {
				case <-stop:
					again = false
				case <-time.After(100 * time.Millisecond):
				}
			}
		}()
		if err := a.AddPeer(b.Self(), addrB); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Second)
		if !a.Connected(b.Self(), transport.Control, 0).Up {
			t.Errorf("the crowd keeps it out: %v", b.Stats())
		}
		close(stop)
		<-stopped
	})
}

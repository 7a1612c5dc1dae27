package transport_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/ddata/transport/transporttest"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// TestMain checks that nothing outlives the tests; bubbles check themselves.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type loopback struct{}

func (loopback) Site() (transport.Network, string) { return transport.TCP(), "127.0.0.1:0" }

func TestTCP(t *testing.T) {
	transporttest.Run(t, transporttest.World{Start: func(*testing.T) transporttest.Universe { return loopback{} }})
}

type inMemory struct {
	hub  *memory.Hub
	next int
}

func (u *inMemory) Site() (transport.Network, string) {
	u.next++
	addr := memory.Addr(u.next)
	return u.hub.At(addr), addr
}

func TestMemory(t *testing.T) {
	transporttest.Run(t, transporttest.World{
		Bubble: bubble.Test,
		Start:  func(*testing.T) transporttest.Universe { return &inMemory{hub: memory.NewHub()} },
	})
}

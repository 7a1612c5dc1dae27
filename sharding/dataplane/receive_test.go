package dataplane

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
)

// fullLane is a way to other nodes on which there is no room.
type fullLane struct{ host.Channels }

func (fullLane) Append(
	transport.NodeID, transport.Lane, uint32, transport.Channel, func([]byte) []byte, func() error,
) error {
	return transport.ErrQueueFull
}

// steered is a control plane that hears of shards.
type steered struct {
	Controller
	flushes []uint32
}

func (s *steered) Wanted(uint32)            {}
func (s *steered) Misrouted(uint64, uint32) {}
func (s *steered) FlushLater(shard uint32)  { s.flushes = append(s.flushes, shard) }

// A message of another node that is passed on and finds no room waits, and goes along the same route
// when there is some.
func TestWhatIsPassedOnWaitsForRoom(t *testing.T) {
	ctl := &steered{}
	r := &Plane{Ctl: ctl, Routes: routes.New(routes.Settings{Self: 1, Shards: 4, CountMax: 9, BytesMax: 1 << 20})}
	r.Routes.SteeredBy(ctl)
	r.Out.Net = fullLane{}
	home := &routes.Route{Remote: 7}
	r.Routes.Slots[2].Store(home)
	m := &codec.Message{Shard: 2, ID: []byte("a"), Origin: 9}
	if r.PassOn(9, m, nil) {
		t.Fatal("it is gone, and there was no room")
	}
	if m.Hops = 0; !r.PassOn(9, m, nil) {
		t.Fatal("it does not wait")
	}
	b := r.Routes.Slots[2].Load().Buffer
	if b == nil || !b.Waits() || b.Target != home || len(ctl.flushes) != 1 {
		t.Errorf("it does not wait for node 7, flushed %v later", ctl.flushes)
	}
}

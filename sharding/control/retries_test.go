package control

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// lane is the way to another node. err is why it takes nothing.
type lane struct {
	host.Channels
	err  error
	sent int
}

func (l *lane) Append(
	transport.NodeID, transport.Lane, uint32, transport.Channel, func([]byte) []byte, func() error,
) error {
	if l.err == nil {
		l.sent++
	}
	return l.err
}

// A fence that finds no room is sent when there is some, once. Until then a region that leaves has
// not left.
func TestAFenceWaitsForRoomAndGoesOnce(t *testing.T) {
	net := &lane{err: transport.ErrQueueFull}
	p := &dataplane.Plane{Routes: routes.New(routes.Settings{Shards: 4})}
	p.Out.Net = net
	r, now := NewRetries(p), time.Unix(1000, 0)
	d := Departure{wanted: true, Left: make(chan struct{})}
	r.Fence(now, nil, protocol.SendFence{To: 2, Shard: 3, HandOff: protocol.Token{Seq: 1}})
	for range 3 {
		if d.MaybeEnd(r.Empty()); r.Empty() || dataplane.IsDone(d.Left) || !r.at.After(now) {
			t.Fatalf("the fence is lost, or not tried again: %v", r.at)
		}
		now = r.at
		r.Retry(now, nil)
	}
	net.err, now = nil, r.at
	r.Retry(now, nil)
	if d.MaybeEnd(r.Empty()); net.sent != 1 || !r.at.IsZero() || !dataplane.IsDone(d.Left) {
		t.Errorf("sent %d times, next try at %v, left: %v", net.sent, r.at, dataplane.IsDone(d.Left))
	}
	r.Retry(now, nil)
	if net.sent != 1 {
		t.Errorf("sent %d times", net.sent)
	}
}

// full is a carrier that takes as many messages as it has room for.
type full struct {
	routes.Carrier
	room int
}

func (c *full) Forward(uint32, uint64, *codec.Message, func() error) error {
	if c.room == 0 {
		return failure.ErrBufferFull
	}
	c.room--
	return nil
}

// wanted hears of what waits.
type wanted struct{ routes.Control }

func (wanted) Wanted(uint32) {}

// Messages for which there is no room are sent when there is, however often that has to be tried.
func TestMessagesWaitForRoom(t *testing.T) {
	c := &full{}
	p := &dataplane.Plane{Routes: routes.New(routes.Settings{Shards: 4, CountMax: 9, BytesMax: 1 << 20, Carrier: c})}
	p.Routes.SteeredBy(wanted{})
	r, now := NewRetries(p), time.Unix(1000, 0)
	b := p.Routes.Buffering(3)
	if err := p.Routes.Hold(3, routes.CopyOf(&codec.Message{Shard: 3, ID: []byte("a")}, nil)); err != nil {
		t.Fatal(err)
	}
	r.Open(now, 3, &routes.Route{Remote: 7})
	for range 3 {
		if r.Empty() || !r.at.After(now) || !b.Waits() {
			t.Fatalf("the message is lost, or not tried again: %v", r.at)
		}
		now = r.at
		r.Retry(now, nil)
	}
	c.room, now = 1, r.at
	if r.Retry(now, nil); !r.Empty() || !r.at.IsZero() || b.Waits() {
		t.Errorf("with room it is not sent, or tried again at %v", r.at)
	}
}

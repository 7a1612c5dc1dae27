package sharding

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// endingNode closes a node, and holds that up where all that stood on the node has ended and its
// transport has not.
func endingNode(t *testing.T, n *ddata.Node, meanwhile func()) {
	t.Helper()
	ending, release, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	n.OnShutdown(shutdown.BeforeTerminate, "a test", func(context.Context) error {
		close(ending)
		<-release
		return nil
	})
	go func() { closed <- n.Close() }()
	defer func() {
		close(release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}()
	<-ending
	meanwhile()
}

func noHandler(n *ddata.Node) uint64 { return n.TransportStats().Dropped[transport.DropNoHandler] }

// sendRaw puts a frame of a node's own on its way, past its machines.
func sendRaw(from, to *ddata.Node, ch transport.Channel, frame []byte) error {
	return from.Host().Channels.Append(transport.NodeID(to.UID()), transport.Data, 0, ch,
		func(dst []byte) []byte { return append(dst, frame...) }, nil)
}

// What comes for a region that has ended with its node, while the node's transport still takes it,
// is dropped with a reason: messages to entities by the region, whose asker is told, what machines
// say by the transport.
func TestLateMessagesAreDroppedWithAReason(t *testing.T) {
	nodes := byAge(t, 2)
	typ := cartType(&cartLog{})
	typ.Shards = 1 // and it is on the node that ends
	drops := make(chan Drop, 16)
	typ.OnEvent = onEvent(func(d Drop) { drops <- d })
	begin(t, nodes[0], typ)
	typ = cartType(&cartLog{})
	typ.Shards = 1
	asker := begin(t, nodes[1], typ)
	ctx := within(t, time.Minute)
	if _, err := Ask(ctx, asker.Ref("a"), total{}); err != nil {
		t.Fatal(err)
	}
	before := noHandler(nodes[0])
	endingNode(t, nodes[0], func() {
		if err := asker.Tell(ctx, "a", addItem{"x", 1}); err != nil {
			t.Error(err)
		}
		if _, err := Ask(ctx, asker.Ref("a"), total{}); !errors.Is(err, ErrStopped) {
			t.Errorf("the asker is told %v", err)
		}
		msg := codec.AppendControl(nil, protocol.AppendMessage(nil, protocol.Fence{Shard: 0}))
		if err := sendRaw(nodes[1], nodes[0], asker.plane.Out.Channel, msg); err != nil {
			t.Error(err)
		}
		eventually(t, "the machine's message is counted", func() bool { return noHandler(nodes[0]) > before })
	})
	close(drops)
	var got []Drop
	for d := range drops {
		got = append(got, d)
	}
	if len(got) != 2 || got[0].Reason != DropStopped || got[0].ID != "a" || got[1].Reason != DropStopped {
		t.Errorf("drops: %v", got)
	}
}

// Messages for a type that was never started on a node are counted, as long as the node's transport
// takes them.
func TestMessagesForAnAbsentTypeAreCounted(t *testing.T) {
	nodes := byAge(t, 2)
	msg := codec.Message{Kind: codec.Tell}
	send := func() {
		err := sendRaw(nodes[1], nodes[0], dataplane.ChannelOf("Other"), codec.AppendMessageHead(nil, &msg, "a"))
		if err != nil {
			t.Error(err)
		}
	}
	before := noHandler(nodes[0])
	send()
	eventually(t, "counted", func() bool { return noHandler(nodes[0]) == before+1 })
	endingNode(t, nodes[0], func() {
		send()
		eventually(t, "counted at the end", func() bool { return noHandler(nodes[0]) == before+2 })
	})
}

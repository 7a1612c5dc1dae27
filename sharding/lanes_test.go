package sharding

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// lane is a region whose only shard starts no entity, so that what is delivered stays in the
// mailboxes, and node 7, which sends to it.
type lane struct {
	t *testing.T
	g *Region[message_]
	s *entities.Shard
}

func newLane(t *testing.T, mailboxMax int) *lane {
	typ := cartType(&cartLog{})
	typ.Shards, typ.Limits.MailboxMax = 1, mailboxMax
	g := &Region[message_]{plane: dataplane.New(settingsOf(fakePorts(1, hosttest.NoChannels{}, &fakeLease{}), typ))}
	g.plane.SteeredBy(sleepyControl{&fakeControl{r: g.plane}})
	l := &lane{t, g, entities.NewShard(g.plane.Entities, 0, protocol.Token{Epoch: 1})}
	closing(t, g, []*entities.Shard{l.s})
	return l
}

// sleepyControl starts no entity.
type sleepyControl struct{ *fakeControl }

func (sleepyControl) Wake(*entities.Shard, string) {}

// brings delivers what node 7 told an entity.
func (l *lane) brings(id string, n int) {
	l.t.Helper()
	mt, err := l.g.plane.Registry.Of(addItem{})
	if err != nil {
		l.t.Fatal(err)
	}
	body, err := mt.Append(nil, addItem{"x", n})
	if err != nil {
		l.t.Fatal(err)
	}
	m := codec.Message{Kind: codec.Tell, Type: mt.ID}
	l.g.plane.Receive(7, append(codec.AppendMessageHead(nil, &m, id), body...))
}

// took empties the mailbox of an entity.
func (l *lane) took(id string, want ...int) {
	l.t.Helper()
	var got []int
	if e := l.s.Find(id); e != nil {
		var turn mailbox.Turn
		if ok, _ := e.Refill(&turn, 1<<20); ok {
			for env, _, ok := turn.Next(); ok; env, _, ok = turn.Next() {
				got = append(got, env.Msg.(addItem).N)
			}
			e.Hold(mailbox.ForBackoff)
		} else {
			e.HoldNew() // an idle mailbox would call a worker for the next message
		}
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("%s has %v, want %v", id, got, want)
	}
}

// H2: what another node sent before the shard was here waits, and what it sends while that is being
// delivered does not overtake it.
func TestLanesOpenWhenTheBufferIsEmpty(t *testing.T) {
	l := newLane(t, 1)
	for n := range 3 {
		l.brings("a", n)
	}
	l.brings("b", 0)
	if l.g.plane.Routes.SetRoute(0, &routes.Route{Local: l.s}) {
		t.Fatal("flushed into a full mailbox")
	}
	l.took("a", 0)
	l.took("b", 0) // a's full mailbox does not hold it up
	l.brings("a", 3)
	l.took("a")
	for n := 1; n <= 3; n++ {
		if l.g.plane.Routes.Flush(0) != (n == 3) {
			t.Errorf("message %d: open too early or too late", n)
		}
		l.took("a", n)
	}
	l.brings("a", 4)
	l.took("a", 4)
	if c := l.g.plane.Routes.Limit.Count.Load(); c != 0 {
		t.Errorf("%d messages are still counted as waiting", c)
	}
}

// A shard that moves before its route ever opened handles what waited of other nodes before what
// they send next; messages of this node wait for the next home.
func TestLanesOpenForAShardThatMovesAtOnce(t *testing.T) {
	l := newLane(t, 2)
	l.brings("a", 0)
	l.brings("a", 1)
	if err := l.g.Tell(t.Context(), "a", addItem{"x", 100}); err != nil {
		t.Fatal(err)
	}
	l.g.plane.Routes.OpenLanes(0, l.s)
	l.took("a", 0, 1)
	l.brings("a", 2)
	l.took("a", 2)
	if b := l.g.plane.Routes.Slots[0].Load().Buffer; b == nil || len(b.Messages) != 1 || b.Messages[0].Raw != nil {
		t.Errorf("not just the own message waits: %+v", b)
	}
}

// laneNet notes where frames go.
type laneNet struct {
	hosttest.NoChannels
	lanes []string
}

func (n *laneNet) Append(to transport.NodeID, l transport.Lane, stripe uint32, _ transport.Channel,
	_ func([]byte) []byte, _ func() error) error {
	n.lanes = append(n.lanes, fmt.Sprint(to, l, stripe))
	return nil
}

func (n *laneNet) AppendWait(_ context.Context, to transport.NodeID, l transport.Lane,
	stripe uint32, c transport.Channel,
	fill func([]byte) []byte, check func() error) error {
	return n.Append(to, l, stripe, c, fill, check)
}

// H2: the fence of a shard goes the way of its messages, or it would overtake them.
func TestFencesGoTheWayOfTheMessages(t *testing.T) {
	g, _ := scripted(t)
	n := &laneNet{}
	g.plane.Out.Net = n
	again := control.NewRetries(g.plane)
	for _, id := range []string{"a", "b", "c"} {
		n.lanes = nil
		if err := g.Tell(t.Context(), id, addItem{}); err != nil {
			t.Fatal(err)
		}
		again.Fence(time.Now(), nil, protocol.SendFence{To: 2, Shard: protocol.ShardID(g.plane.Routes.ShardOf(id))})
		if len(n.lanes) != 2 || n.lanes[0] != n.lanes[1] {
			t.Errorf("a message and its fence: %v", n.lanes)
		}
	}
}

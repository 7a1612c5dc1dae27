package sharding

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// waitingFor lists what waits in the buffer of a shard.
func waitingFor(r *dataplane.Plane, number uint32) (ns []int) {
	b := r.Routes.Slots[number].Load().Buffer
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for _, p := range append(slices.Clone(b.Returned), b.Messages...) {
		ns = append(ns, p.Env.Msg.(addItem).N)
	}
	return ns
}

// What the mailboxes of a closed shard held was told before what waits for its next home, and goes
// before it.
func TestMailboxesOfAClosedShardGoFirst(t *testing.T) {
	l := newLane(t, 10)
	r := l.g.plane
	l.s = entities.NewShard(r.Entities, 0, protocol.Token{Epoch: 1})
	r.Routes.SetRoute(0, &routes.Route{Local: l.s})
	tell := func(n int) {
		t.Helper()
		if err := l.g.Tell(t.Context(), "a", addItem{N: n}); err != nil {
			t.Fatal(err)
		}
	}
	tell(1)
	tell(2)
	l.s.Drain(func() {})
	tell(3) // waits: the shard moves
	c := &control.Plane{R: r, Hosted: control.Hostings{ByShard: map[uint32]*control.Hosting{0: {S: l.s}}}}
	c.CloseShard(c.Hosted.Of(0))
	if got := waitingFor(r, 0); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("for the next home wait %v, want 1, 2 and 3", got)
	}
}

// loses has node 2 lose a message of this node that was never sent.
func loses(t *testing.T, r *dataplane.Plane, number uint32, n int) {
	t.Helper()
	mt, err := r.Registry.Of(addItem{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := mt.Append(nil, addItem{N: n})
	if err != nil {
		t.Fatal(err)
	}
	m := codec.Message{Kind: codec.Tell, Shard: number, Type: mt.ID}
	r.Lost(2, append(codec.AppendMessageHead(nil, &m, "a"), body...), false)
}

// A message that never left for a node that is gone waits for the next home as long as nothing that
// was told later has gone there: after that it would come late, and is dropped.
func TestUnsentMessageAfterLaterOnes(t *testing.T) {
	g, n := scripted(t)
	r := g.plane
	number := r.Routes.ShardOf("a")
	r.Routes.Buffering(number) // node 2 was the home, and is gone
	loses(t, r, number, 1)
	if got := counted(r); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	r.Routes.SetRoute(number, &routes.Route{Remote: 3})
	if err := g.Tell(t.Context(), "a", addItem{N: 3}); err != nil {
		t.Fatal(err)
	}
	r.Routes.Buffering(number) // node 3 is gone, too
	loses(t, r, number, 2)
	if got := counted(r); !slices.Equal(got, []string{"unsent 1"}) || len(n.frames) != 2 {
		t.Errorf("%v were dropped and %d sent, want 1 unsent and 2", got, len(n.frames))
	}
}

// The same while the flush to the next home is only half done: what has gone there came after what
// comes back now.
func TestUnsentMessageDuringAFlush(t *testing.T) {
	g, n := scripted(t)
	r := g.plane
	number := r.Routes.ShardOf("a")
	r.Routes.Buffering(number)
	for k := range 2 {
		if err := g.Tell(t.Context(), "a", addItem{N: k + 1}); err != nil {
			t.Fatal(err)
		}
	}
	n.before = func() { n.full = true } // room for one
	if r.Routes.SetRoute(number, &routes.Route{Remote: 3}) {
		t.Fatal("everything was flushed")
	}
	loses(t, r, number, 0)
	if got := counted(r); !slices.Equal(got, []string{"unsent 1"}) {
		t.Errorf("%v", got)
	}
}

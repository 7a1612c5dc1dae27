package eventsourced

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The messages and events of the tests.
type (
	command interface{ command() }

	add struct { // answered with the sum after it
		sharding.Returns[command, int]
		N int
	}
	get  struct{ sharding.Returns[command, int] }
	seen struct { // the numbers that were added, in order
		sharding.Returns[command, []int]
	}
	leave struct{}
	spoil struct { // persists an event at which Apply panics
		sharding.Returns[command, int]
	}

	event interface{ event() }
	added struct{ N int }
	evil  struct{}
)

func (add) command()   {}
func (get) command()   {}
func (seen) command()  {}
func (leave) command() {}
func (spoil) command() {}

func (added) event() {}
func (evil) event()  {}

// sum is the state of the tests.
type sum struct{ All []int }

// total is what was added.
func (s sum) total() (n int) {
	for _, x := range s.All {
		n += x
	}
	return n
}

type effect = Effect[command, event, sum]

func handle(c *sharding.Context[command], s sum, m command) (effect, error) {
	switch m := m.(type) {
	case add:
		if m.N == 0 {
			return effect{}, errors.New("nothing to add")
		}
		return effect{}.Persist(added{m.N}).ThenReply(func(s sum) any { return s.total() }), nil
	case get:
		return effect{}, c.Reply(s.total())
	case seen:
		return effect{}, c.Reply(s.All)
	case leave:
		return effect{}, c.Passivate()
	case spoil:
		return effect{}.Persist(added{1}, evil{}), nil
	}
	return effect{}, fmt.Errorf("what is %T", m)
}

func apply(s sum, e event) sum {
	switch e := e.(type) {
	case added:
		s.All = append(s.All[:len(s.All):len(s.All)], e.N)
	case evil:
		panic("an evil event")
	}
	return s
}

func sums() Behavior[command, event, sum] {
	return Behavior[command, event, sum]{
		Events: schema.CBOR(schema.Type[event]("added", added{}), schema.Type[event]("evil", evil{})),
		Handle: handle, Apply: apply, Calls: batch.Settings{CallTimeout: time.Second, GiveUpAfter: time.Second},
	}
}

func sumType() sharding.EntityType[command] {
	return sharding.EntityType[command]{
		Identity: sharding.Identity{Name: "sum", Role: "backend", Shards: 4},
		Messages: sharding.CBOR[command](add{}, get{}, seen{}, leave{}, spoil{}),
	}
}

// on makes the type of the tests over a shelf.
func (s *shelf) on(typ sharding.EntityType[command], b Behavior[command, event, sum]) sharding.EntityType[command] {
	b.Journal = s
	typ, err := Persist(typ, b)
	if err != nil {
		panic(err)
	}
	return typ
}

// cluster is some nodes in a bubble.
func cluster(t *testing.T, n int, more ...func(*ddata.Config)) (*ddatatest.Cluster, []*ddata.Node) {
	t.Helper()
	c := ddatatest.NewCluster(t, n, func(_ int, c *ddata.Config) {
		c.Roles = []string{"backend"}
		for _, set := range more {
			set(c)
		}
	})
	return c, c.Nodes()
}

// start starts the type on nodes.
func start(t *testing.T, typ sharding.EntityType[command], nodes ...*ddata.Node) []*sharding.Region[command] {
	t.Helper()
	var all []*sharding.Region[command]
	for _, n := range nodes {
		g, err := sharding.Start(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

// elsewhere is an id of another shard: what is asked of the store for one shard waits for each other.
func elsewhere(g *sharding.Region[command], id string) string {
	for i := 0; ; i++ {
		if other := fmt.Sprint("other-", i); g.ShardOf(other) != g.ShardOf(id) {
			return other
		}
	}
}

// single is a region of one node over a shelf.
func single(t *testing.T, s *shelf, b Behavior[command, event, sum]) *sharding.Region[command] {
	t.Helper()
	_, nodes := cluster(t, 1)
	return start(t, s.on(sumType(), b), nodes...)[0]
}

// answer is what a question came to.
type answer struct {
	n   int
	err error
}

// asks asks on a goroutine of its own.
func asks(t *testing.T, g *sharding.Region[command], id string, req sharding.Request[command, int]) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		n, err := sharding.Ask(t.Context(), g.Ref(id), req)
		out <- answer{n, err}
	}()
	return out
}

// wants asks until the answer comes, and compares it.
func wants(t *testing.T, g *sharding.Region[command], id string, req sharding.Request[command, int], want int) {
	t.Helper()
	if got := <-asks(t, g, id, req); got.err != nil || got.n != want {
		t.Errorf("%s: %T is answered with %d, %v, want %d", id, req, got.n, got.err, want)
	}
}

// passivate has an entity end.
func passivate(t *testing.T, g *sharding.Region[command], id string) {
	t.Helper()
	if err := g.Tell(t.Context(), id, leave{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// within is a context for calls that must end.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

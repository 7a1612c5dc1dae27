package doc_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// remembered carts start again wherever their shard goes, also after a stop of all nodes.
var remembered = sharding.EntityType[Command]{
	Identity: sharding.Identity{Name: "Cart", Role: "backend"},
	Messages: sharding.CBOR[Command](AddItem{}, Total{}),
	Remember: sharding.Remember{
		Entities: true, Recovery: sharding.Recovery{Number: 5, Interval: 100 * time.Millisecond},
	},
	New: func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
}

func TestRemembered(t *testing.T) {
	k := shardingtest.New(t, remembered)
	if err := k.Tell("cart-42", AddItem{"apple", 1}); err != nil {
		t.Fatal(err)
	}
	k.Restart()
	k.Advance(time.Minute)
	if !k.Active("cart-42") {
		t.Error("it needs a message to start")
	}
	if err := k.Passivate("cart-42"); err != nil {
		t.Fatal(err)
	}
	k.Restart()
	k.Advance(time.Minute)
	if k.Active("cart-42") {
		t.Error("it is remembered still")
	}
}

// Offer ends after a time, and can be prolonged.
type Offer struct {
	end  *sharding.Timer
	over bool
}

type (
	// Prolong gives the offer another hour.
	Prolong struct{}
	// IsOver is a question.
	IsOver struct {
		sharding.Returns[Command, bool]
	}
	// end is what the timer brings.
	end struct{}
)

func (Prolong) command() {}
func (IsOver) command()  {}
func (end) command()     {}

// Receive implements sharding.Entity.
func (o *Offer) Receive(c *sharding.Context[Command], msg Command) (err error) {
	switch msg.(type) {
	case Prolong:
		if o.end != nil {
			o.end.Stop() // false: it is here already
		}
		o.end, err = c.After(time.Hour, end{})
	case end:
		o.over = true
	case IsOver:
		err = c.Reply(o.over)
	}
	return err
}

func TestOffer(t *testing.T) {
	typ := carts
	typ.Messages = sharding.CBOR[Command](Prolong{}, IsOver{}, end{})
	typ.Passivation.Strategy.None = true
	typ.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return &Offer{} }
	k := shardingtest.New(t, typ)
	for range 3 {
		if err := k.Tell("offer", Prolong{}); err != nil {
			t.Fatal(err)
		}
		k.Advance(50 * time.Minute)
	}
	if over, err := shardingtest.Ask(k, "offer", IsOver{}); over || err != nil {
		t.Error(over, err)
	}
	k.Advance(20 * time.Minute)
	if over, err := shardingtest.Ask(k, "offer", IsOver{}); !over || err != nil {
		t.Error(over, err)
	}
}

// Door is open or closed. What it does with a message depends on that.
type Door struct {
	receive func(*sharding.Context[Command], Command) error
}

// Receive hands the message to the behavior at hand.
func (d *Door) Receive(c *sharding.Context[Command], msg Command) error { return d.receive(c, msg) }

func (d *Door) open(c *sharding.Context[Command], msg Command) error {
	if _, is := msg.(Total); is {
		return c.Reply(1)
	}
	d.receive = d.closed // become
	return nil
}

func (d *Door) closed(c *sharding.Context[Command], msg Command) error {
	if _, is := msg.(Total); is {
		return c.Reply(0)
	}
	d.receive = d.open
	return nil
}

func TestDoor(t *testing.T) {
	typ := carts
	typ.New = func(*sharding.Context[Command]) sharding.Entity[Command] {
		d := &Door{}
		d.receive = d.closed
		return d
	}
	k := shardingtest.New(t, typ)
	for want := range 4 {
		if n, err := shardingtest.Ask(k, "door", Total{}); n != want%2 || err != nil {
			t.Error(n, err)
		}
		if err := k.Tell("door", AddItem{}); err != nil {
			t.Fatal(err)
		}
	}
}

// online is a set that all nodes of the role have.
var online = ddata.NewKey[crdt.ORSet[string]]("online")

// login changes the set.
func login(ctx context.Context, data *ddata.Replicator, user string) error {
	return ddata.Update(ctx, data, online, ddata.WriteMajority, func(s *crdt.ORSetTx[string]) error {
		return s.Add(user)
	})
}

// isOnline reads it.
func isOnline(ctx context.Context, data *ddata.Replicator, user string) (bool, error) {
	users, err := ddata.Get(ctx, data, online, ddata.ReadMajority)
	return err == nil && users.Contains(user), err
}

// follow hears of each change, until ctx ends.
func follow(ctx context.Context, data *ddata.Replicator, changed func(users []string)) error {
	for c, err := range ddata.Watch(ctx, data, online) {
		if err != nil {
			return err
		}
		changed(slices.Sorted(c.Value.All()))
	}
	return nil
}

func TestOnline(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, backends)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan []string, 10)
		var following sync.WaitGroup
		following.Go(func() {
			if err := follow(ctx, c.Replicator(2, "backend"), func(u []string) { seen <- u }); ctx.Err() == nil {
				t.Error(err)
			}
		})
		if err := login(ctx, c.Replicator(0, "backend"), "alice"); err != nil {
			t.Fatal(err)
		}
		if is, err := isOnline(ctx, c.Replicator(1, "backend"), "alice"); !is || err != nil {
			t.Error(is, err)
		}
		if u := <-seen; !slices.Equal(u, []string{"alice"}) {
			t.Error(u)
		}
		cancel()
		following.Wait()
	})
}

// runReports has one node of the role write reports, the oldest.
func runReports(node *ddata.Node, write func(token ddata.FencingToken) error) (*ddata.Singleton, error) {
	return node.RunSingleton(ddata.SingletonConfig{
		Name: "reports", Role: "backend",
		Run: func(ctx context.Context, token ddata.FencingToken) error {
			every := time.NewTicker(time.Minute)
			defer every.Stop()
			for {
				select {
				case <-ctx.Done(): // the lease is lost, or the node leaves
					return nil
				case <-every.C:
					if err := write(token); err != nil { // the store refuses a token below the highest
						return err // it runs again, a second later
					}
				}
			}
		},
	})
}

func TestReports(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, backends)
		tokens := make(chan ddata.FencingToken, 10)
		for _, n := range c.Nodes() {
			if _, err := runReports(n, func(k ddata.FencingToken) error { tokens <- k; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		first := <-tokens
		oldest, _ := c.Node(0).View().Oldest("backend")
		c.Kill(slices.IndexFunc(c.Nodes(), func(n *ddata.Node) bool { return n.UID() == oldest.UID }))
		if next := <-tokens; !first.Less(next) {
			t.Error(first, next)
		}
	})
}

// members tells of each view of the cluster, until ctx ends.
func members(ctx context.Context, node *ddata.Node, tell func(up, silent []string)) error {
	for v, err := range node.Watch(ctx) {
		if err != nil {
			return err // how the node has ended
		}
		var up, silent []string
		missed := node.Unreachable()
		for _, m := range v.Members {
			if _, is := missed[m.UID]; is {
				silent = append(silent, m.Addr)
			} else if m.Full() {
				up = append(up, m.Addr)
			}
		}
		tell(up, silent)
	}
	return nil
}

func TestMembers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, backends)
		ctx, cancel := context.WithCancel(t.Context())
		sizes := make(chan int, 100)
		var watching sync.WaitGroup
		watching.Go(func() { _ = members(ctx, c.Node(0), func(up, _ []string) { sizes <- len(up) }) })
		await := func(want int) {
			t.Helper()
			for n := range sizes {
				if n == want {
					return
				}
			}
		}
		await(3)
		c.Kill(2)
		await(2)
		cancel()
		watching.Wait()
	})
}

// keepsOldest has the side of the oldest member go on when a split lasts for 15 s.
func keepsOldest(c ddata.Config) ddata.Config {
	c.Downing = downing.KeepOldest{DownIfAlone: true}
	c.Timing = membership.Timing{StableAfter: 15 * time.Second}
	return c
}

func TestKeepsOldest(t *testing.T) {
	c := ddata.Config{Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1}
	if err := keepsOldest(c).Validate(); err != nil {
		t.Error(err)
	}
}

// endInPhases has the service end in order, whatever ends it: Leave, SIGTERM, or removal by the others.
func endInPhases(node *ddata.Node, unbind, flush func(context.Context) error) {
	node.OnShutdown(shutdown.ServiceUnbind, "http", unbind)        // while entities work
	node.OnShutdown(shutdown.BeforeTerminate, "statistics", flush) // when nothing runs any more
}

func TestEndInPhases(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 1, backends)
		var told []string
		endInPhases(c.Node(0), func(context.Context) error {
			told = append(told, fmt.Sprint("http, lease held: ", c.Node(0).HoldsLease()))
			return nil
		}, func(context.Context) error {
			told = append(told, fmt.Sprint("statistics, lease held: ", c.Node(0).HoldsLease()))
			return nil
		})
		c.Leave(0)
		if got := strings.Join(told, "; "); got != "http, lease held: true; statistics, lease held: false" {
			t.Error(got)
		}
	})
}

// runFeeds keeps four workers running, spread over the nodes of the role.
func runFeeds(node *ddata.Node, read func(ctx context.Context, feed, of int) error) (*daemon.Process, error) {
	return daemon.Start(node, daemon.Config{
		Name: "feeds", Role: "backend", Count: 4,
		Run: func(ctx context.Context, w daemon.Worker) error { return read(ctx, w.Number, w.Total) },
	})
}

func TestFeeds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 2, backends)
		begun := make(chan int, 100)
		for _, n := range c.Nodes() {
			_, err := runFeeds(n, func(ctx context.Context, feed, of int) error {
				begun <- feed + 10*of
				<-ctx.Done()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		seen := map[int]bool{}
		for len(seen) < 4 {
			seen[<-begun] = true
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []int{40, 41, 42, 43}) {
			t.Error(got)
		}
	})
}

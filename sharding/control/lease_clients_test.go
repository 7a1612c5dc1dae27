package control

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// always is a lease that a node never loses.
type always struct{ host.Lease }

func (always) Holds() bool { return true }

// What the handlers of a shard wait for ends when its lease is lost, at once: another node may have
// the shard by now.
func TestTheLossOfAShardsLeaseEndsItsContexts(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	run := entities.New(entities.Settings{
		Scheduler: scheduler.Goroutines{}, Log: log, Lease: always{}, ShardLeases: true,
		Held: mailbox.NewHeldBytes(1<<20, nil),
	}, func() []*entities.Shard { return nil })
	s := entities.NewShard(run, 2, protocol.Token{})
	l := &leaseClients{
		ctx: t.Context(), typ: "t", log: log, scheduler: scheduler.Goroutines{}, shards: map[uint32]*leaseClient{},
		stores: &lease.Stores{Shards: locks.NewMemory(), Cluster: "c", Owner: "one"},
	}
	told := make(chan protocol.ShardInput, 2)
	var hold *lease.Hold
	l.acquire(s, 5, func(g *lease.Hold, in protocol.ShardInput) {
		if g != nil {
			hold = g
		}
		told <- in
	})
	if in, ok := (<-told).(protocol.LeaseGranted); !ok || in.Gen != 5 {
		t.Fatalf("told %v", in)
	}
	s.Lease.Grant(hold)
	h := &entities.Handler{Entity: s.AddLocked("a")}
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	hold.Lose(errors.New("taken away"))
	if in, ok := (<-told).(protocol.LeaseLost); !ok || in.Gen != 5 {
		t.Errorf("told %v", in)
	}
	if err := context.Cause(h); !errors.Is(err, failure.ErrNoLease) {
		t.Errorf("the context of its handlers: %v", err)
	}
	released := make(chan struct{})
	l.release(s, func() { close(released) })
	<-released
	if err := l.Settled(t.Context()); err != nil {
		t.Error(err)
	}
}

package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// leaseClients are the clients of the leases of one region: of its shards, and of the coordinator.
// That of a shard outlives hostings, so that what one gives back the next can acquire.
type leaseClients struct {
	ctx       context.Context // ends with the region: nothing is acquired any more
	typ       string          // the entity type's name
	log       *slog.Logger
	stores    *lease.Stores
	scheduler scheduler.Scheduler

	shards      map[uint32]*leaseClient
	Coordinator *leaseClient // nil: it needs none
}

func newLeaseClients(ctx context.Context, r *dataplane.Plane) *leaseClients {
	return &leaseClients{
		ctx: ctx, scheduler: r.Scheduler, typ: r.Name, log: r.Log, stores: &r.Leases, shards: map[uint32]*leaseClient{},
	}
}

func (l *leaseClients) open(store locks.Store, name string) *leaseClient {
	return &leaseClient{ctx: l.ctx, store: store, name: name, owner: l.stores.Owner, log: l.log, scheduler: l.scheduler}
}

// ofCoordinator is the client of the coordinator's lease; nil: it needs none.
func (l *leaseClients) ofCoordinator() *leaseClient {
	if l.stores.Coordinator != nil && l.Coordinator == nil {
		l.Coordinator = l.open(l.stores.Coordinator, lease.CoordinatorName(l.stores.Cluster, l.typ))
	}
	return l.Coordinator
}

// of is the client of a shard's lease.
func (l *leaseClients) of(number uint32) *leaseClient {
	x := l.shards[number]
	if x == nil {
		x = l.open(l.stores.Shards, lease.ShardName(l.stores.Cluster, l.typ, number))
		l.shards[number] = x
	}
	return x
}

// acquire asks for the lease of a shard. tell gets what the machine must hear, with the hold if it
// was granted; the contexts of handlers end before.
func (l *leaseClients) acquire(s *entities.Shard, gen uint64, tell func(*lease.Hold, protocol.ShardInput)) {
	x := l.of(s.Number)
	s.Lease.Ask(x.waitsFor)
	x.acquire(gen, func(g *lease.Hold, in any) {
		switch in := in.(type) {
		case protocol.LeaseRefused:
			s.Lease.Refuse(cmp.Or(in.Text, "another holds it"))
		case protocol.LeaseLost:
			s.CancelContexts(fmt.Errorf("%w: %s", failure.ErrNoLease, in.Text))
		}
		tell(g, in.(protocol.ShardInput))
	})
}

// release gives back the lease of a shard in which nothing goes on any more.
func (l *leaseClients) release(s *entities.Shard, done func()) {
	s.Lease.Return()
	l.of(s.Number).release(nil, done)
}

// retire gives back the lease of a shard that was killed, when none of its handlers runs and none
// of its writes is under way. ends: what runs may come to its end under the lease.
func (l *leaseClients) retire(s *entities.Shard, ends bool) {
	t := s.Lease
	if t == nil {
		return
	}
	x := l.of(s.Number)
	if !ends {
		t.Close()
	}
	quiet := make(chan struct{})
	t.WhenQuiet(func() {
		t.Close()
		t.WhenQuiet(func() { close(quiet) }) // work may have begun in between
	})
	x.release(quiet, nil)
}

// all lists the clients, that of the coordinator last. The control loop must not run.
func (l *leaseClients) all() (all []*leaseClient) {
	for _, number := range slices.Sorted(maps.Keys(l.shards)) {
		all = append(all, l.shards[number])
	}
	if l.Coordinator != nil {
		all = append(all, l.Coordinator)
	}
	return all
}

// Settled waits until what was held is given back. The error names one that was not, and says how
// many there are. The control loop must not run.
func (l *leaseClients) Settled(ctx context.Context) error {
	var first error
	left := 0
	for _, x := range l.all() {
		if err := x.settled(ctx); err != nil {
			left++
			first = cmp.Or(first, err)
		}
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("sharding %q: %d leases were not given back, and may be held until their time has passed: %w",
		l.typ, left, first)
}

// Rest waits until no store of leases is at work. The control loop must not run.
func (l *leaseClients) Rest(ctx context.Context) (err error) {
	for _, x := range l.all() {
		err = errors.Join(err, x.rests(ctx))
	}
	return err
}

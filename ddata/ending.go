package ddata

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/disk"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/gossip"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// ending is how a node ends: in phases after Leave, or at once. Its methods are safe for concurrent
// use.
type ending struct {
	life    *life
	phases  *shutdown.Sequence
	reports *reports
	built   *parts      // what is released at the end
	cut     func()      // takes the lease, before anything that runs under it hears of the end
	tell    func(error) // tells the watchers, and waits for them
}

// The phases before and after those that hand over.
var (
	servicePhases = []shutdown.Phase{
		shutdown.BeforeServiceUnbind, shutdown.ServiceUnbind, shutdown.ServiceRequestsDone, shutdown.ServiceStop,
		shutdown.BeforeClusterShutdown,
	}
	handOverPhases = []shutdown.Phase{shutdown.ClusterLeave, shutdown.ShardingShutdownRegion, shutdown.ClusterExiting}
	lastPhases     = []shutdown.Phase{shutdown.ClusterShutdown, shutdown.BeforeTerminate}
)

// handOver says that the node leaves, and hands over what runs here, until ctx or the node itself
// ends.
func (e *ending) handOver(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-e.life.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	e.built.members.post(membership.Leave{})
	return e.phases.Run(ctx, handOverPhases...)
}

// flush waits until the others have received what this node has sent them: answers above all, and
// messages that it has passed on. From then on it may be dropped. A member that does not
// acknowledge anything, and may be dead, holds up nothing.
func (e *ending) flush(ctx context.Context) {
	began := time.Now()
	if err := e.built.net.Flush(ctx); err != nil {
		e.reports.emit(events.ShutdownPhase{Phase: "flush", Took: time.Since(began), Err: err})
	}
}

// departTimeout bounds how long a node that has left waits until the others send it nothing more.
const departTimeout = time.Second

// depart has the others end what they send to this node, which has left: what they have sent before
// is still passed on to where it belongs.
func (e *ending) depart() {
	ctx, cancel := context.WithTimeout(context.Background(), departTimeout)
	defer cancel()
	_ = e.built.net.Depart(ctx) // if not, they report as lost what they do not know of
}

// finish ends the node, once. It returns at once; done is closed when everything is released.
func (e *ending) finish(err error) {
	if !e.life.beginEnd(err, e.cut) { // the lease before anything that runs under it hears of the end
		return
	}
	go func() {
		e.reports.emit(events.NodeEnded{Err: err, Warn: unexpected(err)})
		<-e.life.built
		if errors.Is(err, ErrLeft) {
			e.depart()
		}
		e.tell(err)
		_ = e.phases.Run(context.Background(), servicePhases...) // those that have not been
		_ = e.phases.Run(context.Background(), lastPhases...)
		e.built.release(e.reports)
		e.life.becomeEnded()
	}()
}

// abandon ends a node that could not be built, unless it is ending already: a peer may have refused
// it meanwhile. It returns when everything that was built is released.
func (e *ending) abandon(err error) {
	if e.life.beginEnd(err, e.cut) {
		e.built.release(e.reports)
		e.life.becomeEnded()
	}
}

// parts are what a node is built of, from the port upwards. What has not been built yet is nil.
type parts struct {
	disk     *disk.Dir // nil without Config.Dir
	net      transport.Transport
	replicas map[keyspace.Dataset]*Replicator // fixed after start
	members  *members
	swim     swimmer
	find     *finder // nil without Config.Discovery

	started bool   // the loops run
	unmeter func() // ends what the Meter reads; nil without one
}

// swimmer is a *gossip.Gossip, of which memberlist is not to be seen, as with driverOf.
type swimmer interface {
	SetFound(addrs []string)
	SetWanted(nodes map[transport.NodeID]string)
	Stats() gossip.Stats
	Shutdown() error
}

func newSwimmer(net transport.Transport, cfg gossip.Config) (swimmer, error) {
	g, err := gossip.New(net, cfg)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// release stops what was started, from the top down, and waits for it.
func (p *parts) release(r *reports) {
	if p.unmeter != nil {
		p.unmeter()
	}
	p.find.stop()
	if p.swim != nil {
		_ = p.swim.Shutdown()
	}
	if p.started {
		p.members.loop.Stop()
	}
	if p.members != nil && p.members.records != nil {
		p.members.records.Stop()
	}
	if p.members != nil && p.members.arbiter != nil {
		if err := p.members.arbiter.close(); err != nil {
			r.emit(events.ArbiterFailing{Reason: fmt.Sprintf("it could not be given back: %v", err)})
		}
	}
	if p.net != nil {
		_ = p.net.Close()
	}
	if p.started {
		for _, replica := range p.replicas {
			replica.stop()
		}
	}
	if p.disk != nil {
		p.disk.Close()
	}
}

package control

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// observer tells the machines what happens around the region: to connections, to the node's lease,
// to other nodes, and to what is kept. Any goroutine may use it.
type observer struct {
	inbox   *inbox
	coord   *coordination // nil on a proxy
	state   *StateStore
	table   *tableFeed
	lease   *lease.Node
	removed func(*view.View) // ends what waits for nodes that the view does not list
}

// linkChanged tells the Region of a connection that is there again.
func (o *observer) linkChanged(e transport.LinkEvent) {
	if e.Up && e.Lane == transport.Data && e.Generation > 1 {
		o.inbox.ToRegion(protocol.LinkUp{Peer: protocol.UID(e.Peer)})
	}
}

// leaseChanged tells handlers and machines of the node's lease.
func (o *observer) leaseChanged(held bool) {
	o.lease.Changed(held)
	in := protocol.LeaseChanged{Held: held}
	o.inbox.ToRegion(in)
	if o.coord != nil {
		o.coord.post(in)
	}
}

// reachable tells the Coordinator of a node.
func (o *observer) reachable(uid view.UID, ok bool) {
	if o.coord != nil {
		o.coord.post(protocol.Reachable{UID: uid, OK: ok})
	}
}

// viewInstalled passes a view on; nil, or one without this node, ends everything that runs here.
func (o *observer) viewInstalled(v *view.View) {
	if v == nil {
		o.lease.End(failure.ErrStopped)
		o.inbox.ToRegion(protocol.Dropped{})
		return
	}
	in := protocol.Install{View: v}
	o.inbox.Do(func(c *Plane, _ time.Time) {
		c.View = v
		c.remotes.keep(v)
		c.toRegion(in)
	})
	if o.coord != nil {
		o.coord.post(in)
	}
	o.removed(v)
}

// follow passes changes of what is kept on to the machines.
func (o *observer) follow() (cancel func()) {
	return o.state.follow(stateChanges{
		homes: func(v crdt.Reader) {
			if o.table.put(v) {
				o.inbox.Do(func(c *Plane, _ time.Time) { c.table.look(c) })
			}
		},
		locations:  func(v crdt.Reader) { o.coord.locationsChanged(v) },
		remembered: func(v crdt.Reader) { o.coord.rememberedChanged(v) },
		ids: func(number uint32, v crdt.Reader) {
			o.inbox.Do(func(c *Plane, _ time.Time) {
				if h := c.Hosted.Of(protocol.ShardID(number)); h != nil {
					h.ids.changed(v)
					c.compareIDs(h)
				}
			})
		},
	})
}

// watch tells shards that are hosted here of changes of their sets in a remember.Store.
func (o *observer) watch() (cancel func()) {
	return o.state.watch(func(shard protocol.ShardID, in protocol.IDsChanged) {
		o.inbox.Do(func(c *Plane, _ time.Time) { c.toHosted(in, shard) })
	})
}

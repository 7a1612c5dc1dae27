package dataplane

import (
	"slices"
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// attachments are what protocols that stand on entities have attached to a region.
type attachments struct {
	drops  *failure.Drops
	panics *failure.Panics

	Boxes   sync.Map // by name: func(view.UID, []byte)
	Movers  Movers
	Reports sync.Map // of ReadMetrics: func(func(*events.Metric, float64, ...string))
	Kept    sync.Map // of Attach: what once made, by key
}

// Moved tells of a shard whose messages under way may be gone.
func (a *attachments) Moved(number uint32) {
	a.Movers.mu.Lock()
	all := slices.Clone(a.Movers.all)
	a.Movers.mu.Unlock()
	for _, fn := range all {
		(*fn)(protocol.ShardID(number))
	}
}

// Movers are the functions of Region.WatchMoves, in the order in which they came.
type Movers struct {
	mu  sync.Mutex
	all []*func(protocol.ShardID)
}

// Add has fn called for each shard that moves, until the result is called.
func (m *Movers) Add(fn func(protocol.ShardID)) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, &fn)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all = slices.DeleteFunc(m.all, func(x *func(protocol.ShardID)) bool { return x == &fn })
	}
}

// Posted hands bytes to a box of this node.
func (a *attachments) Posted(from view.UID, box string, body []byte) {
	fn, ok := a.Boxes.Load(box)
	if !ok {
		a.drops.Drop(failure.DropNoBox, failure.NoShard, "", nil)
		return
	}
	defer a.panics.Survive("a box")
	fn.(func(view.UID, []byte))(from, body)
}

func (r *Plane) receivePost(from uint64, rd *cbor.Reader) {
	box, body := rd.RawText(cbor.Any), rd.Bytes(cbor.Any)
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	r.Attached.Posted(view.UID(from), string(box), body)
}

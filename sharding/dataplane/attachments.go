package dataplane

import (
	"slices"
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// attachments are what protocols that stand on entities have attached to a region.
type attachments struct {
	drops  *failure.Drops
	panics *failure.Panics

	Boxes   sync.Map // by name: func(view.UID, []byte)
	Movers  Listeners[protocol.ShardID]
	Enders  Listeners[*entities.Shard]
	Meter   events.Meter // of the node; nil: there is none
	Reports sync.Map     // of ReadMetrics: func(func(*events.Metric, float64, ...string))
	Kept    sync.Map     // of Attach: what once made, by key
}

// Moved tells of a shard whose messages under way may be gone.
func (a *attachments) Moved(number uint32) { a.Movers.tell(a.panics, protocol.ShardID(number)) }

// Ended tells of a hosting that is over.
func (a *attachments) Ended(s *entities.Shard) { a.Enders.tell(a.panics, s) }

// Listeners are functions that are told of something, in the order in which they came.
type Listeners[T any] struct {
	mu  sync.Mutex
	all []*func(T)
}

// Add has fn called until the result is called.
func (l *Listeners[T]) Add(fn func(T)) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, &fn)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = slices.DeleteFunc(l.all, func(x *func(T)) bool { return x == &fn })
	}
}

func (l *Listeners[T]) tell(panics *failure.Panics, value T) {
	l.mu.Lock()
	all := slices.Clone(l.all)
	l.mu.Unlock()
	for _, fn := range all {
		func() {
			defer panics.Survive("a listener of the region")
			(*fn)(value)
		}()
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

package dataplane

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
)

// A region whose node leaves answers for every question that it has taken. When it has handed its
// shards over it waits for the answers that handlers still owe, then tells the other nodes so. The
// frame goes behind all answers on their connection, and the node says that it has stopped only
// when the others have received it. So another node that installs the view without this one knows
// what became of a question that went here: it was answered, or it was passed on to the next home,
// which will answer. Of a node that crashes no such word comes, and its questions fail with
// ErrNodeGone.

// Farewells are what nodes have said before they went.
type Farewells struct {
	cluster host.Cluster
	asks    *asks.Table

	Said sync.Map // uint64 of nodes that have said farewell and are members still: struct{}
}

// note notes that a node has answered, or passed on, all that it will ever take.
func (f *Farewells) note(from uint64) {
	if v := f.cluster.View(); v != nil && v.Has(view.UID(from)) {
		f.Said.Store(from, struct{}{})
	}
}

// Removed ends what waits for nodes that the view does not list: questions that one has passed on
// wait for their answer, the others fail.
func (f *Farewells) Removed(v *view.View) {
	f.Said.Range(func(node, _ any) bool {
		if u := node.(uint64); !v.Has(view.UID(u)) {
			f.asks.PassedOn(u)
			f.Said.Delete(u)
		}
		return true
	})
	f.asks.Sweep(func(n uint64) bool { return !v.Has(view.UID(n)) })
}

// Await waits until no reply waits for room, or none has got any for patience.
func (o *replyQueueOverflow) Await(ctx context.Context, s scheduler.Scheduler, patience time.Duration) {
	none := func() bool { return len(o.Peers) == 0 }
	_ = o.moved.Await(ctx, s, &o.Mu, patience, none) // what is left has no room
}

package region

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onInstall takes a view. Routes to nodes that are gone are forgotten, and their fences are not
// awaited any more. A coordinator that does not know this region is told of it at once.
func (r *Region) onInstall(v *view.View) {
	if r.view != nil && v.Epoch <= r.view.Epoch {
		r.counts[protocol.CountStale]++
		return
	}
	was := r.view
	r.view = v
	if was != nil && was.Has(r.self()) && !v.Has(r.self()) {
		r.onDropped()
		return
	}
	if r.registration.follow(was, v) {
		r.asker.asking = false
		r.tries = 0
		r.retryAt = time.Time{}
	}
	if r.departure.leaving && !r.departure.left && r.closing() {
		r.becomeAlone()
	}
	if r.registration.over() {
		for i := range r.places.shards {
			r.places.dropBuffer(protocol.ShardID(i), &r.places.shards[i], protocol.DropEnded)
		}
	}
	for i := range r.places.shards {
		r.places.maybeOpen(protocol.ShardID(i), &r.places.shards[i])
		r.places.publish(protocol.ShardID(i), &r.places.shards[i])
	}
	for _, s := range slices.Sorted(maps.Keys(r.places.moves)) {
		g := r.places.moves[s]
		g.need = slices.DeleteFunc(g.need, func(u protocol.UID) bool { return r.places.gone(u, g.id) })
		r.places.maybeDrain(s, &r.places.shards[s])
	}
	if r.registration.mayRegister(r.departure.left) && r.retryAt.IsZero() {
		r.retry()
	}
}

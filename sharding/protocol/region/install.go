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
		r.places.visitActive(func(s protocol.ShardID, p *place) { r.places.dropBuffer(s, p, protocol.DropEnded) })
	}
	r.places.onView(was)
	for _, s := range slices.Sorted(maps.Keys(r.places.moves)) {
		g := r.places.moves[s]
		g.need = slices.DeleteFunc(g.need, func(u protocol.UID) bool { return r.places.gone(u, g.id) })
		r.places.visit(s, r.places.maybeDrain)
	}
	if r.registration.mayRegister(r.departure.left) && r.retryAt.IsZero() {
		r.retry()
	}
}

// onView has routes follow a view. Beside the shards of which more is known than their entry, these are
// the ones whose homes are gone.
func (ps *places) onView(was *view.View) {
	follow := func(s protocol.ShardID, p *place) {
		ps.maybeOpen(s, p)
		ps.publish(s, p)
	}
	if was == nil || was.Closing != ps.view.Closing {
		ps.visitKnown(follow)
		return
	}
	all := slices.Collect(maps.Keys(ps.active)) // order: sorted below
	for _, m := range was.Members {
		if !ps.view.Has(m.UID) {
			all = append(all, ps.rows.shardsOf(m.UID)...)
		}
	}
	slices.Sort(all)
	for _, s := range all {
		ps.visit(s, follow)
	}
}

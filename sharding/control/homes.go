package control

import (
	"log/slog"
	"maps"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// homes are the nodes to which the route of each shard last led; 0: to none yet.
type homes []uint64

// note takes a new route. It reports whether the shard has moved: it has lost its home with a node,
// as gone says, or has one again.
func (h homes) note(number uint32, rt protocol.Route, self uint64, gone func(node uint64) bool) (moved bool) {
	was, now := h[number], uint64(0)
	switch rt.State {
	case protocol.RouteLocal:
		now = self
	case protocol.RouteRemote:
		now = uint64(rt.Home)
	}
	if now != 0 {
		h[number] = now
	}
	return was != 0 && (now != 0 || gone(was))
}

// remotes are the routes to the nodes of the view. One serves all shards of a node.
type remotes map[protocol.UID]*routes.Route

// to is the route to a node.
func (m remotes) to(home protocol.UID) *routes.Route {
	rt := m[home]
	if rt == nil {
		rt = &routes.Route{Remote: uint64(home)}
		m[home] = rt
	}
	return rt
}

// keep forgets the routes to nodes that a view does not list.
func (m remotes) keep(v *view.View) {
	maps.DeleteFunc(m, func(home protocol.UID, _ *routes.Route) bool { return !v.Has(home) })
}

// When messages wait and no member has the type's role, a warning says so: first after a time in
// which a host may well come up, then again and again.
const (
	NoHostFirst = time.Second
	NoHostAgain = 30 * time.Second
)

// unhostedWatch warns of messages that wait for a home that no node can give. Tell has accepted
// them, so their senders do not hear of it.
type unhostedWatch struct {
	typ, role string
	log       *slog.Logger
	limit     *routes.Limit
	standing  *dataplane.Standing

	at time.Time // of the next look; zero: there is none
}

// wanted notes that a message waits.
func (w *unhostedWatch) wanted(now time.Time) {
	if w.at.IsZero() {
		w.at = now.Add(NoHostFirst)
	}
}

// look warns if there is reason to.
func (w *unhostedWatch) look(now time.Time) {
	w.at = time.Time{}
	waiting := w.limit.Count.Load()
	if waiting == 0 {
		return
	}
	w.at = now.Add(NoHostAgain)
	if why := w.standing.Unhosted(); why != nil {
		w.log.Warn("sharding: messages wait, and no member can host the type: is its Role misspelt?",
			"type", w.typ, "role", w.role, "buffered", waiting, "error", why)
	}
}

package replicator

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/replicator/deadline"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// holding keeps the updates that are held back. They have not happened yet, and their callers wait.
//
// An update waits while a peer that answers is Config.BacklogMax bytes behind. So no replica
// outruns its peers without bound. A peer that is unreachable, or has not answered for
// RetryInterval, holds up no update: it is served from the log later, or repaired. An update also
// waits briefly while a linearizable read that was disturbed too often looks at its key.
//
// Invariants: held holds no operation that is done, except those that timed out in this step; of
// counts the operations in held of each key.
type holding struct {
	r      *replica.Replica
	ops    *inflight
	own    *push.Outbox // of the space
	held   []*op        // in order of arrival
	of     map[string]int
	frozen []freeze // by key
	thawAt time.Time
	sayAt  time.Time // nothing is told of them before this
}

// freeze keeps updates of a key back until a time, and admits no other freeze until twice as late:
// writers get at least half.
type freeze struct {
	key   string
	until time.Time
	again time.Time
}

// frozenMax bounds the keys that are frozen at a time.
const frozenMax = 64

func newHolding(r *replica.Replica, ops *inflight, own *push.Outbox) holding {
	return holding{r: r, ops: ops, own: own}
}

// hold reports whether an update has to wait. If so, it holds the update back.
func (h *holding) hold(o *op, timeout time.Duration) bool {
	if !h.crowded() && !h.isFrozen(o.key) && h.of[o.key] == 0 {
		return false
	}
	h.r.Counters.Held++
	h.ops.begin(o, timeout)
	h.keep(o)
	h.tell()
	return true
}

// keep enters an update among those that wait.
func (h *holding) keep(o *op) {
	h.held = append(h.held, o)
	if h.of == nil {
		h.of = map[string]int{}
	}
	h.of[o.key]++
}

// crowded reports whether updates have to wait for a peer.
func (h *holding) crowded() bool { return h.laggard() != nil }

// laggard returns a peer that answers and is as far behind as allowed, nil if there is none. After
// a silence, a peer may have fallen out of what is kept for pushing. Such a peer does not hold
// updates back: it gets what it needs from the log, or by a repair.
func (h *holding) laggard() *replica.Peer {
	if h.own.Bytes() < h.r.Cfg.BacklogMax {
		return nil
	}
	for _, p := range h.r.Peers {
		w := &p.Link(h.r.Id).Window
		if !p.Reachable || w.Tries() > 0 || !w.InReach() {
			continue
		}
		// Groups that go in parts are left out: no update waits for one large group.
		if bytes, kept := h.own.Backlog(w.Applied(), &p.Flows, uint8(h.r.Id), h.r.Cfg.Self); kept &&
			bytes >= h.r.Cfg.BacklogMax {
			return p
		}
	}
	return nil
}

// admit carries out the updates that need not wait any more, in order; those of a frozen key let
// others pass.
func (h *holding) admit(update func(o *op)) {
	if len(h.held) == 0 {
		return
	}
	all := h.held
	h.held = nil
	for i, o := range all {
		switch {
		case o.Done():
			h.unhold(o)
		case h.crowded():
			h.held = append(h.held, slices.DeleteFunc(all[i:], h.expired)...)
			return
		case h.isFrozen(o.key):
			h.held = append(h.held, o)
		default:
			h.unhold(o)
			update(o)
		}
	}
}

func (h *holding) expired(o *op) bool {
	if o.Done() {
		h.unhold(o)
	}
	return o.Done()
}

func (h *holding) unhold(o *op) {
	if h.of[o.key]--; h.of[o.key] == 0 {
		delete(h.of, o.key)
	}
}

// freeze holds updates of a key back for a while, unless they were held back for one just now.
func (h *holding) freeze(key string, d time.Duration) {
	now := h.r.Now
	d = min(d, h.r.Cfg.RetryInterval)
	h.thaw()
	if d <= 0 || len(h.frozen) == frozenMax ||
		slices.ContainsFunc(h.frozen, func(f freeze) bool { return f.key == key }) {
		return
	}
	h.frozen = append(h.frozen, freeze{key: key, until: now.Add(d), again: now.Add(2 * d)})
	h.thawAt = deadline.Earliest(h.thawAt, now.Add(d))
}

func (h *holding) isFrozen(key string) bool {
	return slices.ContainsFunc(h.frozen, func(f freeze) bool { return f.key == key && h.r.Now.Before(f.until) })
}

// thaw forgets the freezes that are over, and says when to look again.
func (h *holding) thaw() {
	h.thawAt = time.Time{}
	h.frozen = slices.DeleteFunc(h.frozen, func(f freeze) bool { return !h.r.Now.Before(f.again) })
	for _, f := range h.frozen {
		at := f.until
		if !h.r.Now.Before(at) {
			at = f.again
		}
		h.thawAt = deadline.Earliest(h.thawAt, at)
	}
}

// onTime thaws the keys whose time is up.
func (h *holding) onTime() {
	if h.r.Due(&h.thawAt) {
		h.thaw()
	}
}

// deadline is when to thaw a key; zero: never.
func (h *holding) deadline() time.Time { return h.thawAt }

// len returns how many updates are held back, some of which may have been answered.
func (h *holding) len() int { return len(h.held) }

// any reports whether some held update satisfies is.
func (h *holding) any(is func(*op) bool) bool { return slices.ContainsFunc(h.held, is) }

// check returns a broken invariant.
func (h *holding) check() error {
	if len(h.held) > 0 && !h.crowded() && len(h.frozen) == 0 {
		return fmt.Errorf("%d updates are held back for nothing", len(h.held))
	}
	if n := len(h.of); n > len(h.held) {
		return fmt.Errorf("%d updates of %d keys are held back", len(h.held), n)
	}
	return nil
}

// drop forgets everything that is held; the operations have been answered.
func (h *holding) drop() { h.held, h.of, h.frozen, h.thawAt = nil, nil, nil, time.Time{} }

// holdingEach spaces out what is told of updates that wait.
const holdingEach = time.Minute

// tell tells which peer updates wait for, unless it has just told so.
func (h *holding) tell() {
	if h.r.Now.Before(h.sayAt) {
		return
	}
	if p := h.laggard(); p != nil {
		h.sayAt = h.r.Now.Add(holdingEach)
		h.r.Eff.Holding = append(h.r.Eff.Holding, effect.Holding{Space: h.r.Id, Peer: p.Id, Held: len(h.held)})
	}
}

// take takes away the waiting updates that satisfy goes.
func (h *holding) take(goes func(*op) bool) (taken []*op) {
	h.held = slices.DeleteFunc(h.held, func(o *op) bool {
		is := goes(o)
		if is {
			h.unhold(o)
			taken = append(taken, o)
		}
		return is
	})
	return taken
}

// neverBegun tells why an update was held back until its time was up.
func (h *holding) neverBegun(o *op) error {
	if p := h.laggard(); p != nil {
		bytes, _ := h.own.Behind(p.Link(h.r.Id).Window.Applied())
		return fmt.Errorf("%w: write of %q at %v was held back, nothing happened: %s is %d bytes behind "+
			"(Config.BacklogMax)",
			ErrOverloaded, o.key, o.level, wire.Short(p.Id), bytes)
	}
	return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", ErrOverloaded, o.key, o.level)
}

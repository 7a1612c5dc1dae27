package write

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Holding keeps the updates that are held back. They have not happened yet, and their callers wait.
//
// An update waits while a peer that answers is Config.BacklogMax bytes behind, so that no replica
// outruns the others without bound. Some peers hold up no update; they are served from the log
// later, or repaired: one that is unreachable or has not answered for RetryInterval, and one that
// is much slower than a majority. If a majority keeps up with the writers, they are not too fast,
// and what is behind has too little of a processor, a disk or a line. A slow minority does not slow
// down Raft either (Ongaro and Ousterhout, 2014).
//
// An update also waits briefly while a linearizable read that was disturbed too often looks at its
// key.
//
// Invariants: held holds no operation that is done, except those that timed out in this step; of
// counts the operations in held of each key.
type Holding struct {
	r      *replica.Replica
	ops    *operation.Inflight
	sets   *quorum.Joint[*replica.Peer] // of whom a majority has to keep up
	own    *push.Outbox                 // of the space
	held   []*operation.Op              // in order of arrival
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

// NewHolding makes a Holding without updates. sets says of whom a majority has to keep up; own has
// the groups that a peer may still need.
func NewHolding(
	r *replica.Replica, ops *operation.Inflight, sets *quorum.Joint[*replica.Peer], own *push.Outbox,
) Holding {
	return Holding{r: r, ops: ops, sets: sets, own: own}
}

// Hold reports whether an update has to wait. If so, it holds the update back.
func (h *Holding) Hold(o *operation.Op, timeout time.Duration) bool {
	if !h.Crowded() && !h.isFrozen(o.Key) && h.of[o.Key] == 0 {
		return false
	}
	h.r.Counters.Held++
	h.ops.Begin(o, timeout)
	h.Keep(o)
	h.tell()
	return true
}

// Keep enters an update among those that wait.
func (h *Holding) Keep(o *operation.Op) {
	h.held = append(h.held, o)
	if h.of == nil {
		h.of = map[string]int{}
	}
	h.of[o.Key]++
}

// Crowded reports whether updates have to wait for a peer.
func (h *Holding) Crowded() bool { return h.laggard() != nil }

// nearPart is which part of BacklogMax a peer may be behind that keeps up.
const nearPart = 4

// laggard returns a peer for which updates have to wait, nil if there is none: one that is as far
// behind as allowed, unless a majority keeps up.
func (h *Holding) laggard() *replica.Peer {
	limit := h.r.Cfg.BacklogMax
	if h.own.Bytes() < limit {
		return nil
	}
	for _, p := range h.r.Peers {
		if bytes, ok := h.backlog(p); ok && bytes >= limit {
			if h.sets.Agreed(quorum.Majority, h.keepsUp) {
				return nil
			}
			return p
		}
	}
	return nil
}

// keepsUp reports whether a peer has nearly all that was written here; the own replica, as nil, has.
func (h *Holding) keepsUp(p *replica.Peer) bool {
	if p == nil {
		return true
	}
	bytes, ok := h.backlog(p)
	return ok && bytes < h.r.Cfg.BacklogMax/nearPart
}

// backlog returns how many bytes a peer is behind that answers; ok is false for one that does not.
// After a silence, a peer may have fallen out of what is kept for pushing: it is none of these
// either, and gets what it needs from the log, or by a repair.
func (h *Holding) backlog(p *replica.Peer) (bytes int, ok bool) {
	w := &p.Link(h.r.ID).Window
	if !p.Reachable || w.Tries() > 0 || !w.InReach() {
		return 0, false
	}
	// Groups that go in parts are left out: no update waits for one large group.
	return h.own.Backlog(w.Applied(), &p.Flows, uint8(h.r.ID), h.r.Cfg.Self)
}

// Admit carries out the updates that need not wait any more, in order; those of a frozen key let
// others pass.
func (h *Holding) Admit(update func(o *operation.Op)) {
	if len(h.held) == 0 {
		return
	}
	all := h.held
	h.held = nil
	for i, o := range all {
		switch {
		case o.Done():
			h.unhold(o)
		case h.Crowded():
			h.held = append(h.held, slices.DeleteFunc(all[i:], h.expired)...)
			return
		case h.isFrozen(o.Key):
			h.held = append(h.held, o)
		default:
			h.unhold(o)
			update(o)
		}
	}
}

func (h *Holding) expired(o *operation.Op) bool {
	if o.Done() {
		h.unhold(o)
	}
	return o.Done()
}

func (h *Holding) unhold(o *operation.Op) {
	if h.of[o.Key]--; h.of[o.Key] == 0 {
		delete(h.of, o.Key)
	}
}

// Freeze holds updates of a key back for a while, unless they were held back for one just now.
func (h *Holding) Freeze(key string, d time.Duration) {
	now := h.r.Now
	d = min(d, h.r.Cfg.RetryInterval)
	h.thaw()
	if d <= 0 || len(h.frozen) == frozenMax ||
		slices.ContainsFunc(h.frozen, func(f freeze) bool { return f.key == key }) {
		return
	}
	h.frozen = append(h.frozen, freeze{key: key, until: now.Add(d), again: now.Add(2 * d)})
	h.thawAt = timer.Earliest(h.thawAt, now.Add(d))
}

func (h *Holding) isFrozen(key string) bool {
	return slices.ContainsFunc(h.frozen, func(f freeze) bool { return f.key == key && h.r.Now.Before(f.until) })
}

// thaw forgets the freezes that are over, and says when to look again.
func (h *Holding) thaw() {
	h.thawAt = time.Time{}
	h.frozen = slices.DeleteFunc(h.frozen, func(f freeze) bool { return !h.r.Now.Before(f.again) })
	for _, f := range h.frozen {
		at := f.until
		if !h.r.Now.Before(at) {
			at = f.again
		}
		h.thawAt = timer.Earliest(h.thawAt, at)
	}
}

// OnTime thaws the keys whose time is up.
func (h *Holding) OnTime() {
	if h.r.Due(&h.thawAt) {
		h.thaw()
	}
}

// Deadline is when to thaw a key; zero: never.
func (h *Holding) Deadline() time.Time { return h.thawAt }

// Len returns how many updates are held back, some of which may have been answered.
func (h *Holding) Len() int { return len(h.held) }

// Any reports whether some held update satisfies is.
func (h *Holding) Any(is func(*operation.Op) bool) bool { return slices.ContainsFunc(h.held, is) }

// Check returns a broken invariant.
func (h *Holding) Check() error {
	if len(h.held) > 0 && !h.Crowded() && len(h.frozen) == 0 {
		return fmt.Errorf("%d updates are held back for nothing", len(h.held))
	}
	if n := len(h.of); n > len(h.held) {
		return fmt.Errorf("%d updates of %d keys are held back", len(h.held), n)
	}
	return nil
}

// Drop forgets everything that is held; the operations have been answered.
func (h *Holding) Drop() { h.held, h.of, h.frozen, h.thawAt = nil, nil, nil, time.Time{} }

// holdingEach spaces out what is told of updates that wait.
const holdingEach = time.Minute

// tell tells which peer updates wait for, unless it has just told so.
func (h *Holding) tell() {
	if h.r.Now.Before(h.sayAt) {
		return
	}
	if p := h.laggard(); p != nil {
		h.sayAt = h.r.Now.Add(holdingEach)
		h.r.Eff.Holding = append(h.r.Eff.Holding, effect.Holding{Space: h.r.ID, Peer: p.ID, Held: len(h.held)})
	}
}

// Take takes away the waiting updates that satisfy goes.
func (h *Holding) Take(goes func(*operation.Op) bool) (taken []*operation.Op) {
	h.held = slices.DeleteFunc(h.held, func(o *operation.Op) bool {
		is := goes(o)
		if is {
			h.unhold(o)
			taken = append(taken, o)
		}
		return is
	})
	return taken
}

// NeverBegun tells why an update was held back until its time was up.
func (h *Holding) NeverBegun(o *operation.Op) error {
	if p := h.laggard(); p != nil {
		bytes, _ := h.own.Behind(p.Link(h.r.ID).Window.Applied())
		return fmt.Errorf("%w: write of %q at %v was held back, nothing happened: %s is %d bytes behind "+
			"(Config.BacklogMax)",
			operation.ErrOverloaded, o.Key, o.Level, wire.Short(p.ID), bytes)
	}
	return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", operation.ErrOverloaded, o.Key, o.Level)
}

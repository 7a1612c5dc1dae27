package crdt

import (
	"cmp"
	"fmt"
	"iter"
)

// Replica is a store that makes events: what a space of a Replicator and a standalone value are
// made of. It belongs to one goroutine.
type Replica struct {
	st     *Store
	origin Origin
	seq    uint64 // of the last own event
	serial uint64 // of the last transaction
	tx     txCore // of the running transaction
	sweep  sweeping
}

// NewReplica returns an empty replica. The origin must never have been used before: each start of a
// process takes a new one.
func NewReplica(origin Origin, o StoreOptions) *Replica {
	return &Replica{st: NewStore(o), origin: origin}
}

// Origin returns the name of the own events.
func (r *Replica) Origin() Origin { return r.origin }

// Seq returns the seq of the last own event, 0 before the first.
func (r *Replica) Seq() uint64 { return r.seq }

// Store returns the store, for reading; change it through the Replica only.
func (r *Replica) Store() *Store { return r.st }

// Update runs fn on a transaction of the key and applies what it wrote as one group, which it
// returns for persisting and shipping. wall is the time in nanoseconds that timestamps may use, 0
// for logical time only. When fn returns an error, panics (ErrPanic), or a mutation failed, nothing
// has happened. A nil group without an error means that fn changed nothing.
//
// A key that DeleteForever has ended is ErrDeleted; fn does not run.
func (r *Replica) Update(key string, wall int64, fn func(*Tx) error, ch *Changes) (Group, error) {
	if r.st.live.keys.get(key).marks().isDeleted() {
		return nil, deletedError(key)
	}
	return r.update(key, wall, fn, ch)
}

// update is Update also for keys that are permanently deleted.
func (r *Replica) update(key string, wall int64, fn func(*Tx) error, ch *Changes) (Group, error) {
	ks := r.st.live.keys.get(key)
	if ks == (keyItems{}) {
		if err := CheckKey(key); err != nil {
			return nil, err
		}
	} else {
		key = ks.key()
	}
	if r.seq > SeqMax-2*EventsMax {
		return nil, fmt.Errorf("%w: origin %v has used up its events", ErrOverflow, r.origin)
	}
	c := &r.tx
	if c.serial != 0 {
		return nil, fmt.Errorf("%w: key %q: update within the update of %q", ErrMalformed, key, c.key)
	}
	r.serial++
	c.serial, c.st, c.key, c.origin, c.next, c.wall, c.ks = r.serial, r.st, key, r.origin, r.seq+1, wall, ks
	err := run(c.key, "update function", fn, &Tx{txCore: c, serial: c.serial})
	events, err := c.events, cmp.Or(err, c.err)
	c.serial, c.key, c.events, c.err, c.ks, c.synced = 0, "", nil, nil, keyItems{}, 0
	if err != nil || len(events) == 0 {
		return nil, err
	}
	r.st.apply(events, ch)
	r.seq = events.Last().Seq
	return events, nil
}

// Apply applies a group of another replica, see Store.Apply. A group of the own origin that is not
// known is ErrOwnFuture: two processes use one origin.
func (r *Replica) Apply(g Group, ch *Changes) (Outcome, error) {
	if err := r.checkOrigin(g); err != nil {
		return 0, err
	}
	return r.st.Apply(g, ch)
}

// Look returns what Apply would, and applies nothing.
func (r *Replica) Look(g Group, ch *Changes) (Outcome, error) {
	if err := r.checkOrigin(g); err != nil {
		return 0, err
	}
	return look(r.st.clock, g, ch)
}

// BeginApply is Apply in steps, for a large group of which Look has said Applied. Nothing has happened before Take of
// the Merging, which is in place of any other; nil: all events are known meanwhile. The group must not be modified. It
// does not come into the log: a replica that gets it from here gets it by a repair.
func (r *Replica) BeginApply(g Group) *Merging {
	if r.st.clock.Row(g[0].Dot.Origin).HasRange(g[0].Dot.Seq, g.Last().Seq) {
		return nil
	}
	return beginApply(r.st, g)
}

// Merges reports whether a merge in steps is under way.
func (r *Replica) Merges() bool { return r.st.merging != nil }

// checkOrigin finds a group that only another process of the same origin can have made.
func (r *Replica) checkOrigin(g Group) error {
	if len(g) > 0 && g[0].Dot.Origin == r.origin && g.Last().Seq > r.seq {
		return fmt.Errorf("%w: event %v, the last one made here is %d", ErrOwnFuture, g.Last(), r.seq)
	}
	return nil
}

// Merge joins the state of a donor, see Store.Merge.
func (r *Replica) Merge(donor *Clock, live func(Dot) bool, items []Item, ch *Changes) error {
	if err := r.checkDonor(donor); err != nil {
		return err
	}
	return r.st.Merge(donor, live, items, ch)
}

// MergeDiff joins the difference to a donor, see Store.MergeDiff.
func (r *Replica) MergeDiff(donor *Clock, absent []Dot, items []Item, ch *Changes) error {
	if err := r.checkDonor(donor); err != nil {
		return err
	}
	return r.st.MergeDiff(donor, absent, items, ch)
}

func (r *Replica) checkDonor(donor *Clock) error {
	if m := donor.LastEvent(r.origin); m > r.seq {
		return fmt.Errorf("%w: a donor knows event %d of %v, the last one made here is %d",
			ErrOwnFuture, m, r.origin, r.seq)
	}
	return nil
}

// Union adds what an equal clock's store has and this one lacks, see Store.Union.
func (r *Replica) Union(items []Item, ch *Changes) { r.st.Union(items, ch) }

// Load fills an empty replica from rows, see Store.Load. Rows that hold events of the own origin
// are ErrOwnFuture: a restart must take a new one.
func (r *Replica) Load(clock *Clock, digest Digest, items iter.Seq2[Item, error]) error {
	if err := r.checkDonor(clock); err != nil {
		return err
	}
	return r.st.Load(clock, digest, items)
}

// SetLiving says whose node-owned items readers are shown, see Store.SetLiving.
func (r *Replica) SetLiving(l *Living, ch *Changes) { r.st.SetLiving(l, ch) }

// Trim drops log entries that all of the clocks contain, see Store.Trim.
func (r *Replica) Trim(has ...*Clock) { r.st.Trim(has...) }

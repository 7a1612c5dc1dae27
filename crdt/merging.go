package crdt

import "github.com/coterie-go/coterie/proptest/defect"

// Difference is what a store lacks of a donor's moment, and has too much.
type Difference struct {
	Clock  *Clock         // of the donor's moment
	Items  [][]*Item      // alive there, and the store's own from now on; those that it has may be left out
	Absent [][]Dot        // alive in the store and not there
	Unsure *Clock         // what the store has alive among these dots of Clock is absent too, unless Live names it
	Live   func(Dot) bool // reports whether a dot of Unsure is alive there
}

// Merging is a merge, or the application of a large group, in bounded steps. A second state of the
// items grows beside the store's own, from which it began as a copy that shares everything (the trees
// are copied on write). Each event that the store applies meanwhile changes both. At the end the second
// state takes the place of the first, and the clock is joined, in one step that costs no more than the
// clocks do. Until then only the Merging sees any of it: readers, peers and the disk see the store as if
// there were no merge. So no clock says that it has what is not there yet.
//
// For a group, the donor's moment is that all events of the group are there.
//
// Invariants: made names each dot that is alive in one of both states only, some that are not, and
// the keys of them all. What next has is what the store would have, were the donation no larger than
// what Work has looked at. The dots of the donor's clock come and go in next by Work alone.
type Merging struct {
	store *Store
	diff  Difference
	group Group      // nil: the difference tells everything
	next  contents   // what the items will be
	was   itemIndex  // of the store when next was copied
	made  []*Changes // what next has more or less than the store, and may have; never an empty one
	batch int        // of diff.Items, or after these of diff.Absent
	at    int        // in the batch, or in the group
	walk  Dot        // own items up to here have been looked at for Unsure
	done  bool
	fresh bool // the last of made belongs to an earlier step
}

// sizePerWork is how many bytes of an item cost as much as coming to a key does.
const sizePerWork = 1 << 10

// BeginMerge begins a merge in steps, in place of any other. What it is told must not be modified,
// and comes from one moment of the donor. Nothing has happened before Take.
func (r *Replica) BeginMerge(d Difference) (*Merging, error) {
	if err := r.checkDonor(d.Clock); err != nil {
		return nil, err
	}
	s := r.st
	m := &Merging{store: s, diff: d}
	s.merging = m
	m.begin()
	if s.opt.Planted(defect.ClockBeforeItems) {
		s.changing()
		s.cover(d.Clock)
	}
	return m, nil
}

// beginApply begins to apply a group that look has checked.
func beginApply(s *Store, g Group) *Merging {
	m := &Merging{store: s, group: g, diff: Difference{Clock: &Clock{}}}
	m.diff.Clock.AddRange(g[0].Dot.Origin, g[0].Dot.Seq, g.Last().Seq)
	s.merging = m
	m.begin()
	return m
}

// begin copies the store's items, by a reference.
func (m *Merging) begin() {
	m.next, m.was = m.store.live.branch(), m.store.live.index.Snapshot()
	m.made, m.batch, m.at, m.walk, m.done = nil, 0, 0, Dot{}, false
}

// branch returns a copy for changing. Neither sees what is done to the other.
func (c *contents) branch() contents {
	b := *c
	b.keys, b.index, b.marks, b.buf = c.keys.branch(), c.index.Snapshot(), c.marks.branch(), nil
	if k := c.sketch.Sketch; k != nil {
		b.sketch.Sketch = k.Prefix(k.Len())
	}
	return b
}

// Work goes on for at most so many items or events, and reports whether all is done: then Take is due. It counts a
// large one as several. An error says that an item makes no sense: the merge is over, and has changed nothing.
func (m *Merging) Work(most int) (done bool, err error) {
	if m.store.merging != m {
		return false, nil
	}
	m.fresh = true
	for left := most; left > 0 && !m.done; {
		n, err := m.step(left)
		if err != nil {
			m.Drop()
			return false, err
		}
		left -= n
	}
	return m.done, nil
}

// step does the next piece of work, and returns what it has cost: 1 at least.
func (m *Merging) step(most int) (cost int, err error) {
	items := len(m.diff.Items)
	switch {
	case m.at < len(m.group):
		e := &m.group[m.at]
		m.at++
		if !m.store.clock.Has(e.Dot) { // else a merge has covered it
			m.next.apply(e, m.change())
		}
		return 1 + len(e.Removes) + len(e.Payload)/sizePerWork, nil
	case m.batch < items:
		b := m.diff.Items[m.batch]
		if m.at == len(b) {
			m.batch, m.at = m.batch+1, 0
			return 1, nil
		}
		it := b[m.at]
		m.at++
		return 1 + it.size()/sizePerWork, m.bring(it)
	case m.batch < items+len(m.diff.Absent):
		b := m.diff.Absent[m.batch-items]
		if m.at == len(b) {
			m.batch, m.at = m.batch+1, 0
			return 1, nil
		}
		m.take(b[m.at])
		m.at++
		return 1, nil
	}
	return m.compare(most), nil
}

// bring brings an item of the donor to life, unless the store has removed it, or it is there.
func (m *Merging) bring(it *Item) error {
	if err := checkItem(it, m.diff.Clock); err != nil {
		return err
	}
	if m.next.index.Get(it.Dot) != nil || m.store.clock.Has(it.Dot) && m.store.live.index.Get(it.Dot) == nil {
		return nil
	}
	m.next.insert(it, nil, m.change())
	return nil
}

// take takes an item away that the donor has not got any more.
func (m *Merging) take(d Dot) {
	if it := m.next.index.Get(d); it != nil && m.diff.Clock.Has(d) {
		m.next.kill(it, m.change())
	}
}

// compare takes away what came here before the merge began, and the donor has not got any more.
func (m *Merging) compare(most int) (cost int) {
	if m.diff.Unsure != nil {
		for it := range m.was.In(m.diff.Unsure, m.walk) {
			if cost++; cost > most {
				return cost
			}
			if m.walk = it.Dot; !m.diff.Live(it.Dot) {
				m.take(it.Dot)
			}
		}
	}
	m.done = true
	return cost + 1
}

// follow lets the copy follow an event that the store has applied. it is what that has returned; it counts if the event
// puts. What the donor knew of is decided by the donation.
func (m *Merging) follow(e *Event, it *Item) {
	switch {
	case m.store.opt.Planted(defect.MergeAlone):
	case !m.diff.Clock.Has(e.Dot):
		m.next.apply(e, nil)
	case e.Puts:
		m.change().drop(it, m.store.live.hides(m.store.live.keys.get(it.Key), it))
	}
}

// show lets the copy follow SetLiving.
func (m *Merging) show(l *Living) {
	for _, key := range m.next.show(l) {
		m.change().touchKey(key)
	}
}

// clock returns the store's clock and the donor's: those of the items of the copy.
func (m *Merging) clock() *Clock {
	all := m.store.clock.Clone()
	all.Join(m.diff.Clock)
	return all
}

// changeMax bounds what one of made holds of changes between two steps.
const changeMax = 512

// change returns where to note what is changed in the copy: of each step apart.
func (m *Merging) change() *Changes {
	if n := len(m.made); n > 0 {
		last := m.made[n-1]
		if !m.fresh && len(last.Put)+len(last.Dropped)+len(last.Keys) < changeMax {
			return last
		}
		last.seen = nil
	}
	m.made, m.fresh = append(m.made, &Changes{}), false
	return m.made[len(m.made)-1]
}

// again begins anew, because the store has changed otherwise than by an event.
func (m *Merging) again() {
	if m != nil {
		m.begin()
	}
}

// Over reports whether the merge has ended: it was taken or dropped, or another has its place.
func (m *Merging) Over() bool { return m.store.merging != m }

// Drop ends the merge. It has changed nothing.
func (m *Merging) Drop() {
	if m.store.merging == m {
		m.store.merging = nil
	}
}

// Take makes the merge part of the store, when Work has reported that all is done. It returns what that has changed.
func (m *Merging) Take() *Merged {
	s := m.store
	if s.merging != m || !m.done {
		return &Merged{}
	}
	s.changing()
	out := &Merged{before: s.live.index, made: m.made}
	s.live, s.merging = m.next, nil
	out.after = s.live.index.Snapshot()
	s.cover(m.diff.Clock)
	return out
}

// Merged is what a merge in steps has changed, to be looked at in pieces.
type Merged struct {
	before, after itemIndex
	made          []*Changes
}

// Len counts the pieces that are left.
func (d *Merged) Len() int { return len(d.made) }

// Next adds the next piece to ch. A key may come in several pieces, an item in one.
func (d *Merged) Next(ch *Changes) {
	if len(d.made) == 0 {
		return
	}
	piece := d.made[0]
	d.made[0] = nil
	d.made = d.made[1:]
	for _, it := range piece.Put {
		if d.before.Get(it.Dot) == nil && d.after.Get(it.Dot) != nil {
			ch.Put = append(ch.Put, it)
		}
	}
	for _, it := range piece.Dropped {
		if d.before.Get(it.Dot) != nil && d.after.Get(it.Dot) == nil {
			ch.Dropped = append(ch.Dropped, it)
		}
	}
	for _, key := range piece.Keys {
		ch.touch(key)
	}
}

package membership

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/parting"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/membership/voting"
)

// storing is the record of this node. It has the layers above hear of a view when that is on disk.
type storing struct {
	*step
	in      *cluster
	store   *record.Store // what the disk holds, or is about to
	granter *voting.Granter
	parting *parting.Parting
	cleanIn uint64 // the record that says that what has caught up is clean
}

var (
	_ bootstrap.Disk = (*storing)(nil)
	_ voting.Disk    = (*storing)(nil)
)

// Lock stores, beside the last view, one that may be decided: the seeker's lock, or what the voter
// accepts.
func (d *storing) Lock(v *view.View) uint64 {
	r := d.store.Record()
	return d.put(record.Record{Last: r.Last, Pending: v, Settled: r.Settled, Clean: r.Clean})
}

// IsStored reports whether a record, or one that replaced it, is on disk.
func (d *storing) IsStored(number uint64) bool { return d.store.IsStored(number) }

// Pending returns the view that was locked last.
func (d *storing) Pending() *view.View { return d.store.Record().Pending }

// put makes r the record, and returns its number.
func (d *storing) put(r record.Record) (number uint64) {
	// it grants nothing any more, but a view that it installs may bind it (G3)
	if d.parting.Closed() != 0 && d.store.Record().Free {
		r.Free = d.isFree()
	}
	return d.store.Put(r)
}

// isFree reports whether every node has stopped that this one granted a lease.
func (d *storing) isFree() bool { return d.granter.IsFree(d.now, d.in.view, d.in.reports) }

// install stores the view that was just installed.
func (d *storing) install() {
	v := d.in.view.View
	d.fx.notices.hold(v, d.put(record.Record{Last: v, Clean: d.store.Record().Clean}))
	d.noteSettled()
}

// written takes the answer of the disk. It reports false if nothing goes on by it. A node whose
// disk fails ends: after a failed write the disk may hold the old record, the new one, or neither.
func (d *storing) written(in Persisted) bool {
	if !d.store.IsWriting() {
		d.stats.DroppedBad++
		return false
	}
	if in.Err != nil {
		d.end(fmt.Errorf("%w: %w", ErrStore, in.Err))
		return false
	}
	d.store.Written()
	d.wake = true
	return true
}

// tellViews tells the views that are stored. It reports whether the first one that is Closing is
// among them.
func (d *storing) tellViews() (closing bool) {
	for _, v := range d.fx.tellStored(d.store.IsStored) {
		if v.Closing && d.in.self.TellClosing() {
			closing = true
		}
	}
	return closing
}

// settledUpTo takes the word of a member of the view, and stores what it makes history.
func (d *storing) settledUpTo(u view.UID, e view.Epoch) {
	if o, ok := d.in.view.Member(u); ok {
		d.in.settlement.Say(o, e)
		d.noteSettled()
	}
}

// noteSettled stores that sets which the view lists are history.
func (d *storing) noteSettled() {
	r, settled, sets := d.store.Record(), d.in.settlement.Settled(), d.in.view.Unsettled
	if len(view.SetsSince(sets, settled)) < len(view.SetsSince(sets, r.Settled)) {
		r.Settled = settled
		d.put(r)
	}
}

// clean stores up to which bound the disk holds nothing but what the members have agreed on, and returns
// the number of the record that says so.
func (d *storing) clean(upto view.UID) (number uint64) {
	r := d.store.Record()
	next := r.Clean.With(upto, d.in.asked.Roles)
	if upto == 0 || r.Clean.Equal(next) {
		return d.store.Newest()
	}
	r.Clean = next
	return d.put(r)
}

// isClean reports whether it is on disk that what has caught up is clean.
func (d *storing) isClean() bool { return d.IsStored(d.cleanIn) }

// close stores, as the last act of this node, that every node has stopped that it granted a lease,
// if that is so.
func (d *storing) close() {
	last := d.store.Stored()
	if d.isFree() {
		r := d.store.Record()
		r.Free = true
		last = d.put(r)
	}
	d.parting.Close(last)
}

// check verifies what is on disk, or about to be.
func (d *storing) check() error {
	v := d.in.view.View
	if r := d.store.Record(); r.Last != v || r.Settled > v.Epoch {
		return errors.New("the installed view is not on disk")
	}
	if d.done != nil { // nothing is written any more
		return nil
	}
	return errors.Join(d.store.Check(), d.fx.notices.check(v, d.store.IsStored))
}

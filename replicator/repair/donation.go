package repair

import (
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
)

// Donation is one repair from the donor's side: a pinned moment of the store, from which the
// puller's questions are answered. Nothing is remembered of what was sent: a question that is
// repeated is answered again.
type Donation struct {
	To      crdt.Origin
	Space   uint8
	Session uint64
	Pin     *crdt.Pinned
	News    *crdt.Clock // dots that the puller's clock lacks

	within *crdt.Clock // dots that both clocks have
	rows   []*cellRow
	until  time.Time // without a new request until then, forget it
}

// cellRow is the sketch with one key that a puller asks for.
type cellRow struct {
	key    uint64
	made   *crdt.Sketcher
	from   int // cells wanted and not sent
	wanted int
}

// rowsMax bounds the keys that one puller may ask for: the kept sketch's and one more.
const rowsMax = 2

// Shares reports whether the puller's clock and the donor's have dots in common.
func (d *Donation) Shares() bool { return !d.within.Empty() }

// Sketches returns how many sketches the puller has asked for.
func (d *Donation) Sketches() int { return len(d.rows) }

// Touch keeps the donation until a time.
func (d *Donation) Touch(until time.Time) { d.until = until }

// Deadline returns when the donation needs work again.
func (d *Donation) Deadline(now time.Time) time.Time {
	if d.busy() {
		return now
	}
	return d.until
}

func (d *Donation) row(key uint64) *cellRow {
	for _, r := range d.rows {
		if r.key == key {
			return r
		}
	}
	return nil
}

// Want notes which cells are wanted. It reports whether that makes sense: a puller may ask for two
// keys, and for no more cells than a sketch can have.
func (d *Donation) Want(key uint64, from, count uint32) bool {
	r := d.row(key)
	if uint64(from)+uint64(count) > iblt.CellsMax || r == nil && len(d.rows) >= rowsMax {
		return false
	}
	if r == nil {
		r = &cellRow{key: key}
		d.rows = append(d.rows, r)
	}
	r.from, r.wanted = int(from), int(from)+int(count)
	if r.made == nil || r.made.Done() && len(r.made.Cells()) < r.wanted {
		r.made = d.Pin.Sketcher(key, sketchSize(r.wanted), d.within)
	}
	return true
}

// Work does a bounded part of the work that is wanted, and sends the cells that are made, in
// messages of at most frameMax bytes.
func (d *Donation) Work(frameMax int, send func(Cells)) {
	for _, r := range d.rows {
		if r.from == r.wanted {
			continue
		}
		if !r.made.Work(WorkItems) {
			return
		}
		if len(r.made.Cells()) < r.wanted { // more was wanted meanwhile
			r.made = d.Pin.Sketcher(r.key, sketchSize(r.wanted), d.within)
			return
		}
		most := max(1, frameMax/iblt.CellBytes)
		for r.from < r.wanted {
			n := min(most, r.wanted-r.from)
			send(Cells{Key: r.key, From: uint32(r.from), Cells: r.made.Cells()[r.from : r.from+n]})
			r.from += n
		}
	}
}

// busy reports whether cells are being made.
func (d *Donation) busy() bool {
	return slices.ContainsFunc(d.rows, func(r *cellRow) bool { return r.from != r.wanted })
}

// itemBytes is what an item is taken to cost beside its strings.
const itemBytes = 24

// runWalkMax bounds the items that are summed up for one run of dots. Each run of the puller holds
// far fewer of the puller's items. A run that holds more items here differs in any case: its sum is
// not the puller's, whatever it is.
const runWalkMax = 1 << 14

// FirstItems answers a question with as many items as frameMax bytes hold, and at least one. It
// returns about how many bytes they take.
func FirstItems(items iter.Seq[*crdt.Item], frameMax int) (a Answer, bytes int) {
	for it := range items {
		size := itemBytes + len(it.Key) + len(it.Path) + len(it.Payload)
		if bytes > 0 && bytes+size > frameMax {
			a.UpTo = a.Items[len(a.Items)-1].Dot
			break
		}
		a.Items = append(a.Items, it)
		bytes += size
	}
	return a, bytes
}

// Items yields what is alive among the dots.
func (d *Donation) Items(dots *crdt.Clock) iter.Seq[*crdt.Item] { return d.Pin.In(dots, crdt.Dot{}) }

// Names tells which of the dots are alive, as many as frameMax bytes hold.
func (d *Donation) Names(dots *crdt.Clock, frameMax int) Answer {
	a := Answer{Names: &crdt.Clock{}}
	bytes, n := 0, 0
	var last crdt.Dot
	for it := range d.Pin.In(dots, crdt.Dot{}) {
		switch {
		case it.Dot.Origin != last.Origin:
			bytes += 24
		case it.Dot.Seq != last.Seq+1:
			bytes += 2 + bits.Len64(it.Dot.Seq-last.Seq)/8
		}
		if n++; n > 1 && bytes > frameMax || n > WorkItems {
			a.UpTo = last
			break
		}
		last = it.Dot
		a.Names.Add(last)
	}
	return a
}

// Sums adds up each run of the dots.
func (d *Donation) Sums(dots *crdt.Clock, sizes []uint64) (a Answer) {
	for _, run := range dots.Split(sizes) {
		sum, _ := d.Pin.Sum(run, crdt.Dot{}, runWalkMax)
		a.Sums = append(a.Sums, sum)
	}
	return a
}

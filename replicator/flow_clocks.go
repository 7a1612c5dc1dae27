package replicator

import (
	"encoding/binary"

	"github.com/coterie-go/coterie/crdt"
)

// A clock grows with every incarnation that has made an event, and has no bound here. So a message
// with clocks that are larger than a frame goes as a flow does, beside the others: parts in the
// bulk lane delay no ack. Questions about dots are cut instead (pull_fetch.go, pull_ranges.go),
// because their answers come piece by piece in any case.

// clockBytes is about how many bytes a message with clocks takes; 0 of one that has a bound of its
// own.
func clockBytes(msg Message) int {
	switch msg := msg.(type) {
	case *Clock:
		return sizeOf(msg.Content, msg.Acked)
	case *Fetch:
		return sizeOf(msg.Dots)
	case *Answer:
		return sizeOf(msg.Extra)
	case *Compare:
		size := sizeOf(msg.More)
		for _, k := range msg.Keys {
			size += len(k) + 3
		}
		return size
	case *Compared:
		return sizeOf(msg.Extra, msg.Lacks)
	case *Report:
		size := sizeOf(msg.Acked)
		for _, past := range msg.Known {
			size += 9 * (3 + len(past.Voters) + len(past.Disks))
		}
		return size
	case *Pull:
		return sizeOf(msg.Content)
	case *Head:
		return sizeOf(msg.Clock)
	}
	return 0
}

// sizeOf is the number of bytes of some clocks, nil for none.
func sizeOf(clocks ...*crdt.Clock) (size int) {
	for _, c := range clocks {
		if c != nil {
			size += crdt.ClockSize(c)
		}
	}
	return size
}

// cargoOf says what a message with clocks is as a cargo.
func cargoOf(msg Message) cargo {
	switch msg := msg.(type) {
	case *Clock:
		return cargo{kind: kindClock, space: msg.Space}
	case *Fetch:
		hash := msg.Dots.Hash()
		return cargo{kind: kindFetch, space: msg.Space, about: binary.BigEndian.Uint64(hash[:])}
	case *Answer:
		return cargo{kind: kindAnswer, space: msg.Space, about: msg.ID}
	case *Compare:
		return cargo{kind: kindCompare, space: msg.Space, about: msg.ID}
	case *Compared:
		return cargo{kind: kindCompared, space: msg.Space, about: msg.ID}
	case *Report:
		return cargo{kind: kindReport, space: msg.Space}
	case *Pull:
		return cargo{kind: kindPull, space: msg.Space, session: msg.Session}
	}
	head := msg.(*Head)
	return cargo{kind: kindHead, space: head.Space, session: head.Session}
}

// isState reports whether a later cargo of the kind tells all that an earlier one does.
func (c cargo) isState() bool { return c.kind == kindClock || c.kind == kindReport }

// tells reports whether a Compare of a space is on its way. Its receiver has to know what it tells
// before the next one.
func (f *flows) tells(s Space) bool {
	for i := range f.out {
		if o := &f.out[i]; o.kind == kindCompare && o.space == s {
			return true
		}
	}
	return false
}

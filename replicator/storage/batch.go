package storage

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Counts says which of the rows on disk count until the next batch. As long as a large batch is
// written in parts, not all do.
type Counts uint8

// What counts.
const (
	AllRows  Counts = iota
	Covered         // the rows whose dots are in the clock
	Unmarked        // the rows that no mark names
)

// String prints what counts.
func (c Counts) String() string {
	switch c {
	case AllRows:
		return "all"
	case Covered:
		return "covered"
	case Unmarked:
		return "unmarked"
	}
	return fmt.Sprintf("counts(%d)", uint8(c))
}

// Batch is one transaction on the durable rows: Drop first, then Put, Clock and Digest, all or
// nothing (R3). At most one is out at a time; Persisted answers it. Its parts must not be modified.
type Batch struct {
	ID     uint64
	Space  keyspace.Space
	Drop   []crdt.Dot   // rows to delete; a row that is not there is no error
	Put    []*crdt.Item // rows to write, at most one per dot
	Clock  *crdt.Clock  // the content clock that goes with the rows
	Digest crdt.Digest  // the digest that goes with the rows

	Counts Counts      // which rows the clock and the digest are about
	Mark   *crdt.Clock // nil: none; the dots of rows that will not count any more, to be kept beside the rows
	MarkNo int         // which mark that is, from 1
	Unmark int         // so many marks, from the first, are to be deleted
}

// String prints the batch on one line.
func (b Batch) String() string {
	part := ""
	switch {
	case b.Mark != nil:
		part = fmt.Sprintf(" mark #%d %d, counts %v", b.MarkNo, b.Mark.Len(), b.Counts)
	case b.Unmark > 0:
		part = fmt.Sprintf(" unmark %d", b.Unmark)
	case b.Counts != AllRows:
		part = fmt.Sprintf(" counts %v", b.Counts)
	}
	return fmt.Sprintf("persist #%d %v drop %d put %d clock %v%s",
		b.ID, b.Space, len(b.Drop), len(b.Put), b.Clock, part)
}

// Partial is what a crash has left of a batch that was written in parts; the zero value says that
// there was none.
type PartialBatch struct {
	Counts Counts     // as the last part said
	Drop   []crdt.Dot // the rows that do not count
	Marks  int        // the number of the last mark
}

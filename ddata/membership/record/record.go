package record

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Record is what a disk keeps. Last is the view that was installed last. Pending is the founding or
// next view that was accepted since and may have been decided. Settled is the epoch up to which
// this node has heard that all is settled: of the disks that Last lists, those of earlier views are
// history.
//
//	byte 0   version of this format (4)
//	rest     CBOR array [cluster name, last view or null, accepted view or null, settled epoch, free]
type Record struct {
	_       struct{} `cbor:",toarray"`
	Name    string   // of the cluster
	Last    *view.View
	Pending *view.View
	Settled view.Epoch
	// Free says that the incarnation that wrote this grants no lease any more, and that no node
	// runs under one that it answers for. A founding anew need not wait for leases then. The first
	// record of the next incarnation takes it back. That record is stored before grants of a
	// newcomer count: it votes only when it is Up, and its replicators catch up in views that are
	// stored.
	Free bool
}

// Version is that of the record on disk. Views in records of earlier versions have no format level.
const Version = 4

// ErrUnreadable: the record of the last view cannot be read. Usual cause: a damaged or foreign
// file.
var ErrUnreadable = errors.New("membership: unreadable record of the last view")

// Encode returns the bytes that the disk keeps. They are the caller's.
func (r Record) Encode() []byte { return cbor.Records.MustAppend([]byte{Version}, r) }

// Decode decodes a record. The error is an ErrUnreadable.
func Decode(b []byte) (Record, error) {
	var r Record
	if len(b) < 2 {
		return r, fmt.Errorf("%w: %d bytes", ErrUnreadable, len(b))
	}
	if b[0] != Version {
		return r, fmt.Errorf("%w: version %d, this is %d", ErrUnreadable, b[0], Version)
	}
	if err := cbor.Records.Decode(b[1:], &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for _, v := range []*view.View{r.Last, r.Pending} {
		if v == nil {
			continue
		}
		if err := v.Check(); err != nil {
			return r, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	return r, nil
}

// Format returns the highest format level that the views have; format.Initial if there is none.
func (r Record) Format() format.Level {
	l := format.Initial
	for _, v := range []*view.View{r.Last, r.Pending} {
		if v != nil {
			l = max(l, v.Format)
		}
	}
	return l
}

// Describe prints what a machine has persisted, for an operator that looks after the
// directory of a node that is not running.
func Describe(record []byte) (string, error) {
	r, err := Decode(record)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

// String prints both views, and what is settled.
func (r Record) String() string {
	s := "last " + r.Last.String()
	if r.Name != "" {
		s = fmt.Sprintf("cluster %q, %s", r.Name, s)
	}
	if r.Pending != nil {
		s += ", pending " + r.Pending.String()
	}
	if r.Settled != 0 {
		s += fmt.Sprintf(", settled %v", r.Settled)
	}
	if r.Free {
		s += ", free"
	}
	return s
}

// ForgetKeys takes patterns of durable keys off what an encoded record says of its views. It
// returns the record without them, and those that were there. It is for tools that remove the data
// of these keys. The cluster forgets a pattern when no directory of it has it any more.
func ForgetKeys(encoded []byte, patterns []string) (without []byte, found []string, err error) {
	r, err := Decode(encoded)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range []**view.View{&r.Last, &r.Pending} {
		if *v == nil {
			continue
		}
		next := **v
		next.Durable, next.Moving = view.CutPatterns(next.Durable, patterns), view.CutPatterns(next.Moving, patterns)
		found = view.MergePatterns(found, view.CutPatterns(view.MergePatterns((*v).Durable, (*v).Moving),
			view.MergePatterns(next.Durable, next.Moving)))
		*v = &next
	}
	return r.Encode(), found, nil
}

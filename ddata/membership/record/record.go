package record

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Record is what a disk keeps. Last is the view that was installed last. Pending is the founding or
// next view that was accepted since and may have been decided. Settled is the epoch up to which
// this node has heard that all is settled: of the disks that Last lists, those of earlier views are
// history.
//
//	byte 0   version of this format: 5, or 4 where Clean says nothing and the views are below format.Ages
//	rest     CBOR array [cluster name, last view or null, accepted view or null, settled epoch, free, clean]
//	         version 4 lacks the last
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
	// Clean says for which of the incarnations that are over the data on the disk is good.
	Clean Clean
}

// Clean says of the data that a disk holds for some roles: of the incarnations that retirements with bounds up
// to Upto have named (view.Ages), it holds nothing but what the members agreed on. A disk of which it does not
// hold may have missed the agreement. The zero value says nothing.
type Clean struct {
	_     struct{} `cbor:",toarray"`
	Upto  view.UID
	Roles []string // sorted
}

// With returns what holds when the disk is good for some roles up to a bound.
func (c Clean) With(upto view.UID, roles []string) Clean {
	switch {
	case upto < c.Upto:
		return c
	case upto == c.Upto:
		roles = slices.Concat(c.Roles, roles)
	}
	roles = slices.Clone(roles)
	slices.Sort(roles)
	return Clean{Upto: upto, Roles: slices.Compact(roles)}
}

// Equal reports whether both say the same.
func (c Clean) Equal(o Clean) bool { return c.Upto == o.Upto && slices.Equal(c.Roles, o.Roles) }

// Of returns the bound up to which the disk is good for a node with such roles.
func (c Clean) Of(roles []string) view.UID {
	switch {
	case len(roles) == 0:
		return ^view.UID(0) // it has no data
	case slices.ContainsFunc(roles, func(r string) bool { return !slices.Contains(c.Roles, r) }):
		return 0
	}
	return c.Upto
}

// Version is that of the record on disk. Views in records of versions before versionAtFirst have no
// format level.
const (
	Version        = 5
	versionAtFirst = 4 // without Clean
)

// atFirst is a Record of versionAtFirst.
type atFirst struct {
	_       struct{} `cbor:",toarray"`
	Name    string
	Last    *view.View
	Pending *view.View
	Settled view.Epoch
	Free    bool
}

// ErrUnreadable: the record of the last view cannot be read. Usual cause: a damaged or foreign
// file.
var ErrUnreadable = errors.New("membership: unreadable record of the last view")

// Encode returns the bytes that the disk keeps. They are the caller's.
func (r Record) Encode() []byte {
	if r.Clean.Upto == 0 && r.Format() < format.Ages {
		return cbor.Records.MustAppend([]byte{versionAtFirst}, atFirst{
			Name: r.Name, Last: r.Last, Pending: r.Pending, Settled: r.Settled, Free: r.Free,
		})
	}
	return cbor.Records.MustAppend([]byte{Version}, r)
}

// Decode decodes a record. The error is an ErrUnreadable.
func Decode(b []byte) (Record, error) {
	var r Record
	if len(b) < 2 {
		return r, fmt.Errorf("%w: %d bytes", ErrUnreadable, len(b))
	}
	r, err := decode(b[0], b[1:])
	if err != nil {
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

func decode(version byte, b []byte) (r Record, err error) {
	switch version {
	case Version:
		err = cbor.Records.Decode(b, &r)
		return r, err
	case versionAtFirst:
		var x atFirst
		err = cbor.Records.Decode(b, &x)
		return Record{Name: x.Name, Last: x.Last, Pending: x.Pending, Settled: x.Settled, Free: x.Free}, err
	}
	return r, fmt.Errorf("version %d, this is %d", version, Version)
}

// Least is the bound below which no incarnation is let in, as far as the views know.
func (r Record) Least() (least view.UID) {
	for _, v := range []*view.View{r.Last, r.Pending} {
		if v != nil {
			least = max(least, v.Ages.Least())
		}
	}
	return least
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
	if r.Clean.Upto != 0 {
		s += fmt.Sprintf(", clean up to %x %q", uint64(r.Clean.Upto), r.Clean.Roles)
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

package membership

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// record is what a disk keeps: the view that was installed last, the founding or next view that was
// accepted since and may have been decided, and the epoch up to which this node has heard that all
// is settled: of the disks that Last lists, those of earlier views are history.
//
//	byte 0   version of this format (3)
//	rest     CBOR array [cluster name, last view or null, accepted view or null, settled epoch, free]
type record struct {
	_       struct{} `cbor:",toarray"`
	Name    string   // of the cluster
	Last    *View
	Pending *View
	Settled Epoch
	// Free says that the incarnation that wrote this grants no lease any more, and that no node
	// runs under one that it answers for. A founding anew need not wait for leases then. The first
	// record of the next incarnation takes it back. That record is stored before grants of a
	// newcomer count: it votes only when it is Up, and its replicators catch up in views that are
	// stored.
	Free bool
}

// recordVersion is that of the record on disk. Views in records of versions 1 and 2 have no Era.
const recordVersion = 3

func (r record) encode() []byte { return cbor.Records.MustAppend([]byte{recordVersion}, r) }

func decodeRecord(b []byte) (record, error) {
	var r record
	if len(b) < 2 {
		return r, fmt.Errorf("%w: %d bytes", ErrRecord, len(b))
	}
	if b[0] != recordVersion {
		return r, fmt.Errorf("%w: version %d, this is %d", ErrRecord, b[0], recordVersion)
	}
	if err := cbor.Records.Decode(b[1:], &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	for _, v := range []*View{r.Last, r.Pending} {
		if v == nil {
			continue
		}
		if err := v.Check(); err != nil {
			return r, fmt.Errorf("%w: %w", ErrRecord, err)
		}
	}
	return r, nil
}

// DescribeRecord prints what a machine has persisted, for an operator that looks after the
// directory of a node that is not running.
func DescribeRecord(record []byte) (string, error) {
	r, err := decodeRecord(record)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

// String prints both views, and what is settled.
func (r record) String() string {
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

// ForgetKeys takes patterns of durable keys off what an encoded record says of its views, for tools
// that remove the data of these keys, and returns the record without them and those that were
// there. The cluster forgets a pattern when no directory of it has it any more.
func ForgetKeys(encoded []byte, patterns []string) (without []byte, found []string, err error) {
	r, err := decodeRecord(encoded)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range []**View{&r.Last, &r.Pending} {
		if *v == nil {
			continue
		}
		next := **v
		next.Durable, next.Moving = view.CutPatterns(next.Durable, patterns), view.CutPatterns(next.Moving, patterns)
		found = view.MergePatterns(found, view.CutPatterns(view.MergePatterns((*v).Durable, (*v).Moving), view.MergePatterns(next.Durable, next.Moving)))
		*v = &next
	}
	return r.encode(), found, nil
}

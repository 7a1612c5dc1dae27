package arbitration

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Record is the arbiter's state as an acceptor, kept under its lease.
//
//	byte 0   version of this format (1)
//	rest     CBOR array [cluster, epoch, promised ballot, decided view or null]
type Record struct {
	_        struct{} `cbor:",toarray"`
	Cluster  view.ClusterID
	Epoch    view.Epoch   // the last one in which it took part
	Promised paxos.Ballot // in that epoch
	View     *view.View   // the newest that it accepted, which is decided; nil = none
}

// ErrRecord is the error of a record that cannot be read. Usual cause: something else is stored
// under the arbiter's lease.
var ErrRecord = errors.New("membership: unreadable record of the arbiter")

const (
	recordVersion = 1
	recordMax     = 4 << 20 // bytes
)

// Encode returns the bytes that are kept under the lease. They are the caller's.
func (r Record) Encode() []byte { return cbor.Records.MustAppend([]byte{recordVersion}, r) }

// Decode decodes a record. The error is an ErrRecord.
func Decode(b []byte) (Record, error) {
	var r Record
	if len(b) < 2 || len(b) > recordMax || b[0] != recordVersion {
		return r, fmt.Errorf("%w: wrong version or length", ErrRecord)
	}
	if err := cbor.Records.Decode(b[1:], &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if r.View != nil {
		if err := r.View.Check(); err != nil {
			return r, fmt.Errorf("%w: %w", ErrRecord, err)
		}
		if r.View.Cluster != r.Cluster || r.View.Epoch > r.Epoch+1 {
			return r, fmt.Errorf("%w: %w", ErrRecord, errors.New("a view of another cluster or epoch"))
		}
	}
	return r, nil
}

// String prints what the arbiter has decided and promised.
func (r Record) String() string {
	s := fmt.Sprintf("%v/%v promised %v", r.Cluster, r.Epoch, r.Promised)
	if r.View != nil {
		s += fmt.Sprintf(", decided %v", r.View)
	}
	return s
}

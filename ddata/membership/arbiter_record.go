package membership

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
)

// arbiterRecord is the arbiter's state as an acceptor, kept under its lease.
type arbiterRecord struct {
	_        struct{} `cbor:",toarray"`
	Cluster  ClusterID
	Epoch    Epoch        // the last one in which it took part
	Promised paxos.Ballot // in that epoch
	View     *View        // the newest that it accepted, which is decided; nil = none
}

func (r arbiterRecord) encode() []byte { return cbor.Records.MustAppend([]byte{wireVersion}, r) }

func decodeArbiter(b []byte) (arbiterRecord, error) {
	var r arbiterRecord
	if len(b) < 2 || len(b) > messageMax || b[0] != wireVersion {
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
func (r arbiterRecord) String() string {
	s := fmt.Sprintf("%v/%v promised %v", r.Cluster, r.Epoch, r.Promised)
	if r.View != nil {
		s += fmt.Sprintf(", decided %v", r.View)
	}
	return s
}

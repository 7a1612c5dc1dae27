package daemon

import (
	"context"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// record is where the coordinator of one token writes the revision.
type record struct {
	p     *Process
	token ddata.FencingToken
	wakes chan struct{}
}

var _ store = (*record)(nil)

func (r *record) state(ctx context.Context) (State, bool, error) {
	return r.p.read(ctx, ddata.ReadMajority)
}

func (r *record) put(ctx context.Context, s State) error {
	return ddata.Update(ctx, r.p.data, r.p.keys.state, ddata.WriteMajority, func(tx *crdt.LWWRegisterTx[State]) error {
		return putState(tx, r.token, s)
	})
}

// putState writes a revision with a timestamp that keeps all of the token that orders coordinators:
// High is its epoch, and Low is its up number in front of a count of 32 bits. So a write of a later
// coordinator beats each write of an earlier one, however late that comes, and of one coordinator
// the later write wins. All runs of one member in one epoch share the count: they write on one
// replica, which has each other's writes.
//
// What a later coordinator has written is errTorn, and so is a later revision.
func putState(tx *crdt.LWWRegisterTx[State], token ddata.FencingToken, s State) error {
	ts := crdt.Timestamp{High: uint64(token.Epoch), Low: uint64(token.Up) << 32}
	if before, at, ok := tx.At(); ok {
		if before.Revision > s.Revision || at.High > ts.High || at.High == ts.High && at.Low>>32 > uint64(token.Up) {
			return errTorn
		}
		if at.Compare(ts) >= 0 {
			ts.Low = at.Low + 1
		}
	}
	ok, err := tx.PutAt(s, ts)
	if err == nil && !ok {
		return errTorn
	}
	return err
}

func (r *record) wish(ctx context.Context) (wish, bool, error) {
	reg, err := ddata.Get(ctx, r.p.data, r.p.keys.wish, ddata.ReadLocal)
	if err != nil {
		return wish{}, false, err
	}
	w, ok := reg.Get()
	return w, ok, nil
}

func (r *record) changed() <-chan struct{} { return r.wakes }

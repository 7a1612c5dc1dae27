package control

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/dataplane/outside"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// ledgered carries out what a coordinator wants of homes and regions in a ledger.
type ledgered struct {
	ledger *ledger.Ledger
	calls  outside.Calls
}

// cutLimit bounds a snapshot with the deletes after it. No write waits for them.
const cutLimit = time.Minute

func newLedgered(l *ledger.Ledger, s scheduler.Scheduler) *ledgered {
	if l == nil {
		return nil
	}
	return &ledgered{l.On(s), outside.New("the journal", s)}
}

// of reports whether there is a ledger and this is a piece of what it keeps.
func (g *ledgered) of(k protocol.StateKind) bool { return g != nil && ledger.Keeps(k) }

// call runs fn with a time limit. The machine repeats what failed.
func (g *ledgered) call(ctx context.Context, what string, limit time.Duration, fn func(context.Context) error) error {
	return callError(what, g.calls.Protect(ctx, limit, fn))
}

// readLedger reads a piece of the state from the ledger.
func (s *StateStore) readLedger(r protocol.StateRead) (in protocol.DidRead) {
	in.ID = r.ID
	in.Err = s.ledgered.call(s.Asides.ctx, "ledger.Ledger.Read", s.Quorums.readLimit(r.Failed),
		func(ctx context.Context) error {
			in = s.ledgered.ledger.Read(ctx, r)
			return in.Err
		})
	return in
}

// writeLedger writes a piece of the state to the ledger, and then to this node's replica, from which
// the regions hear of it. What the ledger has decides. So the replicas need not answer.
func (s *StateStore) writeLedger(w protocol.StateWrite, done func(error)) {
	var cut func(context.Context)
	err := s.ledgered.call(s.Asides.ctx, "ledger.Ledger.Write", s.Quorums.WriteLimit(w.Failed),
		func(ctx context.Context) (err error) {
			cut, err = s.ledgered.ledger.Write(ctx, w)
			return err
		})
	switch {
	case err != nil:
		done(err)
	case s.Data == nil:
		done(errNoState)
	default:
		s.Data.Update(w.Key(s.Type), quorum.Local, s.Quorums.WriteLimit(w.Failed), w.Mutate, done)
	}
	if cut != nil {
		_ = s.ledgered.call(s.Asides.ctx, "", cutLimit, func(ctx context.Context) error { // it logs what fails
			cut(ctx)
			return nil
		})
	}
}

package readmodel

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/projection"
)

// Errors of handlers.
var (
	// ErrEnded: a handler has tried to end the transaction, which has the offset, too.
	ErrEnded = errors.New("readmodel: the transaction is ended by the projection, not by the handler")
	// ErrAborted: a statement has failed, and the handler has returned nil.
	ErrAborted = errors.New("readmodel: a statement of the handler has failed, so the transaction cannot go on: " +
		"return its error, or make it within a savepoint")
	// ErrOpenRows: a handler has returned before it has read or closed all rows.
	ErrOpenRows = errors.New("readmodel: the handler has left rows open: close them")
)

// errLost: the part begins again at what is there.
var errLost = errors.New("what was committed before is not there: the database has lost commits, by a fail-over " +
	"or a backup that was put back")

// ExactlyOnce is the target whose handler writes in a transaction that has the offset, too. See the
// package comment for its rules. projection.Config.BatchMax bounds the events of a transaction, and
// SaveEvery and SaveInterval have no meaning.
func ExactlyOnce[E any](
	s *Store, handle func(ctx context.Context, tx pgx.Tx, e projection.Recorded[E]) error,
) projection.Target[E] {
	return &exactlyOnce[E]{s, handle}
}

type exactlyOnce[E any] struct {
	*Store
	handle func(ctx context.Context, tx pgx.Tx, e projection.Recorded[E]) error
}

// Validate says what is missing.
func (t *exactlyOnce[E]) Validate() error {
	var faults []error
	if t.Store == nil {
		faults = append(faults, errors.New("the Store of ExactlyOnce is missing"))
	}
	if t.handle == nil {
		faults = append(faults, errors.New("the function of ExactlyOnce is nil"))
	}
	return errors.Join(faults...)
}

// Handle implements projection.Target.
func (t *exactlyOnce[E]) Handle(
	ctx context.Context, c projection.Claim, b *projection.Batch[E],
) (none projection.Outcome, err error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return none, t.explain("begin", err)
	}
	defer t.abandon(ctx, tx)
	_, err = b.Each(ctx, func(ctx context.Context, e projection.Recorded[E]) error {
		if err := t.handle(ctx, handed{tx}, e); err != nil {
			return err
		}
		return check(tx)
	})
	if err != nil {
		return none, t.explain("handle", err)
	}
	if err := t.commit(ctx, tx, c, b.After, len(b.Events)); err != nil {
		return none, t.explain("commit", err)
	}
	return projection.Outcome{Handled: len(b.Events), Saved: true}, nil
}

// check returns an error if a handler has left a transaction in which no statement can follow.
func check(tx pgx.Tx) error {
	switch conn := tx.Conn().PgConn(); {
	case conn.IsClosed():
		return errors.New("the connection is lost")
	case conn.IsBusy():
		return ErrOpenRows
	case conn.TxStatus() == 'E':
		return ErrAborted
	case conn.TxStatus() == 'I':
		return ErrEnded
	}
	return nil
}

func (s *Store) begin(ctx context.Context) (pgx.Tx, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	return s.cfg.Pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: s.cfg.begin()})
}

// commit writes the offset, and commits. The last statement locks the part: it is the shortest time
// for which a claim waits.
func (s *Store) commit(
	ctx context.Context, tx pgx.Tx, c projection.Claim, at projection.Progress, events int,
) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	if err := s.follow(ctx, tx, c, at, events); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// abandon ends a transaction that was not committed. Its context may have ended.
func (s *Store) abandon(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CallTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // the server does it if the connection is lost
}

// handed is a transaction as handlers get it: they cannot end it.
type handed struct{ pgx.Tx }

// Commit implements pgx.Tx.
func (handed) Commit(context.Context) error { return ErrEnded }

// Rollback implements pgx.Tx.
func (handed) Rollback(context.Context) error { return ErrEnded }

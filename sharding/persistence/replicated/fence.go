package replicated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Fence implements persistence.Fencer.
func (s *Store) Fence(ctx context.Context, h persistence.Hosting) error {
	if err := begin(ctx, h, 0); err != nil {
		return err
	}
	sh := s.shard(keyOf(h))
	v, err := sh.read(ctx, ddata.ReadLinearizable)
	if err != nil {
		return err
	}
	if err := check(v, h); err != nil {
		return err
	}
	if v.top.last != 0 && v.top.token == h.Token && !v.taken() {
		return nil // it has begun; a process that writes takes a seat of its own
	}
	return sh.take(ctx, h)
}

// begin checks what all calls have in common.
func begin(ctx context.Context, h persistence.Hosting, elements int) error {
	if err := persistence.CheckCall(h, elements); err != nil {
		return err
	}
	return ctx.Err()
}

// errGone is the end of a process that a test has planted.
var errGone = errors.New("replicated: the process is gone")

// errAgain says that another process took a seat of the same hosting meanwhile.
var errAgain = errors.New("replicated: another process has taken the seat")

// take gives this process a seat for a hosting.
func (sh *shard) take(ctx context.Context, h persistence.Hosting) error {
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	v, err := sh.read(ctx, ddata.ReadLocal)
	if err != nil {
		return err
	}
	if sh.has(v, h) {
		return nil // another call took it
	}
	for pause := retryMin; ; pause = min(2*pause, retryMax) {
		err := sh.tryTake(ctx, h)
		if !errors.Is(err, errAgain) {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

// Pauses between tries while another process takes the shard.
const (
	retryMin = 2 * time.Millisecond
	retryMax = 200 * time.Millisecond
)

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryTake takes the steps of design.md. It returns errAgain when a seat of the same hosting came
// between.
func (sh *shard) tryTake(ctx context.Context, h persistence.Hosting) error {
	mine, err := sh.announce(ctx, h)
	if err != nil {
		return err
	}
	if sh.s.planted.gone {
		return errGone
	}
	sh.s.planted.reached("announced")
	v, err := sh.read(ctx, ddata.ReadLinearizable)
	if err != nil {
		return err
	}
	if err := unopposed(v, mine.seat, h); err != nil {
		return err
	}
	if v.top.last == 0 && !sh.s.planted.unlisted {
		if err := sh.s.list(ctx, h); err != nil {
			return err
		}
	}
	sh.s.planted.reached("read")
	var dead []row
	sweep := uint64(len(v.rows.all)) >= max(v.rows.sweep, sweepMin)
	if sweep {
		dead = v.dead()
		if all := v.rows.all; sh.s.planted.forgets {
			dead = all[:len(all)/2]
		}
	}
	if err := sh.open(ctx, h, &mine, dead); err != nil {
		return err
	}
	sh.settle(mine)
	if sweep && !sh.s.planted.keepsVoid {
		sh.dropVoid(ctx, h, mine.seat)
	}
	return nil
}

// dropVoid drops what does not count in a view that has the seat of this process as its top: that is
// settled, so nothing of it ever will. What stays when this fails goes with the next sweep.
func (sh *shard) dropVoid(ctx context.Context, h persistence.Hosting, mine seat) {
	v, err := sh.read(ctx, ddata.ReadLocal)
	if err != nil || v.top.compare(mine) != 0 {
		return
	}
	void := v.void()
	_ = sh.tryTransact(ctx, h, ddata.WriteLocal, func(_ view, tx *crdt.Tx) (changed bool, err error) {
		return len(void) > 0, tx.Drop(entities, void)
	})
}

// announce writes the intent of a new seat.
func (sh *shard) announce(ctx context.Context, h persistence.Hosting) (mine head, err error) {
	err = sh.write(ctx, ddata.WriteMajority, func(v view, tx *crdt.Tx) error {
		if err := check(v, h); err != nil {
			return err
		}
		mine.seat = seat{token: h.Token, origin: tx.Origin()}
		for _, s := range []seat{v.intent, v.top.seat} {
			if s.token == h.Token {
				mine.turn = max(mine.turn, s.turn)
			}
		}
		mine.turn++
		if err := tx.Replace(pathIntent, mine.encodeIntent()); err != nil {
			return err
		}
		mine.from = tx.Last().Seq
		return nil
	})
	return mine, err
}

// unopposed returns ErrFenced if a later hosting wants the shard, and errAgain if a later seat of
// the same hosting does.
func unopposed(v view, mine seat, h persistence.Hosting) error {
	if err := check(v, h); err != nil {
		return err
	}
	if v.intent.compare(mine) > 0 || v.top.compare(mine) > 0 {
		return errAgain
	}
	return nil
}

// open follows the top. From then on what the top has written by now counts, and nothing else of
// its seat.
func (sh *shard) open(ctx context.Context, h persistence.Hosting, mine *head, dead []row) error {
	opposed, err := sh.writeThenLook(ctx, func(v view, tx *crdt.Tx) error {
		if err := unopposed(v, mine.seat, h); err != nil {
			return err
		}
		next := v.closed()
		if sh.s.planted.noRows {
			next.all = v.rows.all
		}
		if dead != nil {
			next = next.without(dead)
		}
		if len(next.all) > rowsMax {
			return fmt.Errorf("replicated: shard %v of %q has items of more than %d seats; "+
				"delete events that are not needed", h.Shard, h.Type, rowsMax)
		}
		if err := tx.Replace(pathRows, next.encode()); err != nil {
			return err
		}
		return mine.put(v, tx)
	}, func(v view) error { return unopposed(v, mine.seat, h) })
	return cmp.Or(err, opposed)
}

// put ends a transaction: with the head of the seat, in the place of all known ones.
func (h *head) put(v view, tx *crdt.Tx) error {
	if err := tx.Put(pathHead, h.encode(), dots(v.heads)); err != nil {
		return err
	}
	h.last = tx.Last().Seq
	return nil
}

// helpAfter is how long a seat may be wanted before a process that waits for it takes one itself:
// the one that wanted it may be gone.
const helpAfter = time.Second

// settled reads the shard as it was at a moment when no seat above the top was wanted: what counts
// there counts from then on.
func (sh *shard) settled(ctx context.Context, h persistence.Hosting) (view, error) {
	var since time.Time
	for pause := retryMin; ; pause = min(2*pause, retryMax) {
		v, err := sh.read(ctx, ddata.ReadLinearizable)
		if err != nil || !v.taken() {
			v.sure = v.top.last
			return v, err
		}
		if now := time.Now(); since.IsZero() {
			since = now
		} else if now.Sub(since) >= helpAfter {
			h.Token = v.intent.token
			if err := sh.take(ctx, h); err != nil && !errors.Is(err, persistence.ErrFenced) {
				return view{}, err
			}
			since = time.Time{}
		}
		if err := wait(ctx, pause); err != nil {
			return view{}, fmt.Errorf("replicated: shard %v of %q is being taken by %v, and its seat is not open: %w",
				h.Shard, h.Type, v.intent.token, err)
		}
	}
}

// load reads the shard for a hosting. find looks for what is wanted, and reports whether all of it is
// settled; it may be called twice.
func (sh *shard) load(ctx context.Context, h persistence.Hosting, find func(v view) (settled bool, err error)) error {
	v, err := sh.read(ctx, ddata.ReadMajority)
	if err != nil {
		return err
	}
	if err := check(v, h); err != nil {
		return err
	}
	if sh.has(v, h) {
		v.sure = sh.sits().last
		if settled, err := find(v); settled || err != nil {
			return err
		}
	}
	if v, err = sh.settled(ctx, h); err != nil {
		return err
	}
	if err := check(v, h); err != nil {
		return err
	}
	_, err = find(v)
	return err
}

// transact runs fn in a transaction of the seat of this process, which it takes first if need be.
// fn reports whether it has changed something. After a nil error the transaction is settled. An
// error other than ErrFenced and what fn returned says nothing of the outcome. At WriteLocal it is
// not settled, which is for what may be lost.
func (sh *shard) transact(
	ctx context.Context, h persistence.Hosting, level ddata.WriteLevel,
	fn func(v view, tx *crdt.Tx) (changed bool, err error),
) error {
	for {
		err := sh.tryTransact(ctx, h, level, fn)
		if !errors.Is(err, errAgain) {
			return err
		}
		if err := sh.take(ctx, h); err != nil {
			return err
		}
	}
}

// tryTransact returns errAgain if this process has no seat, or lost it before the transaction was
// settled: then it had no effect.
func (sh *shard) tryTransact(
	ctx context.Context, h persistence.Hosting, level ddata.WriteLevel,
	fn func(v view, tx *crdt.Tx) (changed bool, err error),
) error {
	var mine head
	changed := false
	change := func(v view, tx *crdt.Tx) error {
		if err := check(v, h); err != nil {
			return err
		}
		if !sh.has(v, h) {
			return errAgain
		}
		mine, v.sure = v.top, sh.sits().last
		var err error
		if changed, err = fn(v, tx); err != nil || !changed {
			return err
		}
		return mine.put(v, tx)
	}
	if level == ddata.WriteLocal || sh.s.planted.noLook {
		return sh.write(ctx, level, change) // WriteLocal: it drops what is not needed, and nothing waits for that
	}
	opposed, err := sh.writeThenLook(ctx, change, func(v view) error { return unopposed(v, mine.seat, h) })
	switch {
	case err != nil:
		return err
	case opposed == nil:
		sh.settle(mine)
		return nil
	case !changed:
		return opposed
	}
	sh.s.planted.reached("opposed")
	return sh.outcome(ctx, h, mine)
}

// errUnknown says that the seat of a transaction was swept before the answer could be known.
var errUnknown = errors.New("replicated: whether it took effect is not known")

// outcome waits until it is settled whether a transaction counts. It returns errUnknown if nothing
// tells any more.
func (sh *shard) outcome(ctx context.Context, h persistence.Hosting, mine head) error {
	v, err := sh.settled(ctx, h)
	if err != nil {
		return err
	}
	switch counts, known := v.counted(mine); {
	case counts:
		sh.settle(mine)
		return nil
	case !known && !sh.s.planted.guesses:
		return fmt.Errorf("%w: shard %v of %q, %v after %v",
			errUnknown, h.Shard, h.Type, v.highest(), h.Token)
	}
	if err := check(v, h); err != nil {
		return err
	}
	return errAgain
}

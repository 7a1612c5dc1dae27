package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Load implements locks.Lock.
func (d *door) Load(ctx context.Context) (record []byte, err error) {
	err = d.asHolder(ctx, func(ctx context.Context, h *hold, t term) error {
		_, err := d.s.call(ctx, d.s.sql.load, []any{[]byte(d.name), d.id, h.attempt, t.server}, &record)
		return err
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// Save implements locks.Lock.
func (d *door) Save(ctx context.Context, record []byte) error {
	if err := locks.CheckRecord(record); err != nil {
		return err
	}
	record = append([]byte{}, record...) // nil would be none
	return d.asHolder(ctx, func(ctx context.Context, h *hold, t term) error {
		var saved int64
		_, err := d.s.call(ctx, d.s.sql.save, []any{[]byte(d.name), d.id, h.attempt, t.server, record}, &saved)
		return err
	})
}

// asHolder makes a call whose statement finds no row unless the hold lasts on the clock of the
// server too. That clock may have been set. So the hold is renewed then, and the call is made once
// more.
func (d *door) asHolder(ctx context.Context, call func(context.Context, *hold, term) error) error {
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	for range 2 {
		h, t, err := d.current()
		if err != nil {
			return err
		}
		err = h.within(ctx, t, func(ctx context.Context) error { return call(ctx, h, t) })
		if !errors.Is(err, pgx.ErrNoRows) {
			return d.explain(err)
		}
		if err := h.renew(ctx); err != nil && !errors.Is(err, locks.ErrNotHeld) {
			return err
		}
	}
	return fmt.Errorf("%w, by the clock of the server", d.notHeld())
}

// within makes a call that is given up at the end of a hold.
func (h *hold) within(ctx context.Context, t term, call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, t.until)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	return call(ctx)
}

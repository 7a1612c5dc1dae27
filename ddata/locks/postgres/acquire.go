package postgres

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// racesMax is how often an attempt tries to take a lease that was free when it looked.
const racesMax = 3

// attempt is one call of Acquire, from its begin until it is the hold, fails, or is given up.
type attempt struct {
	d      *door
	number int64 // counts the attempts of the door
	ctx    context.Context
	end    context.CancelFunc
}

// row is what an attempt has seen of a lease.
type row struct {
	version int64 // 0: there is no row
	mine    bool  // it names the door of the attempt
	free    bool  // it may be taken
	ended   bool  // its time is over by the clock of the server
}

// Acquire implements locks.Lock.
func (d *door) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	releases := d.countReleases(0)
	if err := d.enter(ctx); err != nil {
		return false, err
	}
	defer d.leave()
	a, err := d.begin(ctx, releases)
	if a == nil || err != nil {
		return err == nil, err
	}
	defer d.endAttempt(a)
	for range racesMax {
		seen, err := a.look()
		if err != nil {
			return false, a.failed(err)
		}
		if !seen.free {
			return false, a.denied(seen)
		}
		granted, answer, err := a.take(seen.version)
		switch {
		case err != nil:
			return false, a.failed(err)
		case granted:
			return a.hold(lost, d.s.term(answer))
		}
	}
	return false, nil // others have taken it each time
}

// begin begins an attempt: nil if the door is the holder. releases is their number when Acquire was
// called.
func (d *door) begin(ctx context.Context, releases int) (*attempt, error) {
	held := !d.Until().IsZero()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.isClosedLocked():
		return nil, d.closedError()
	case d.releases != releases:
		return nil, d.releasedError()
	case held && d.held != nil:
		return nil, nil
	}
	d.attempt++
	a := &attempt{d: d, number: d.attempt}
	a.ctx, a.end = context.WithCancel(ctx)
	d.trying = a
	return a, nil
}

// endAttempt ends an attempt, if it has not become the hold and was not given up.
func (d *door) endAttempt(a *attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trying == a {
		d.trying = nil
	}
	a.end()
}

// args are those that look and take have in common.
func (a *attempt) args() []any {
	s := a.d.s
	bound, steady := s.clock.bound(time.Now())
	return []any{[]byte(a.d.name), a.d.id, bound, steady, s.clock.slack()}
}

// look reads the row. It settles what is unclear if the row has changed since the last attempt to
// take the lease was sent.
func (a *attempt) look() (seen row, err error) {
	s := a.d.s
	var server time.Time
	sent, err := s.call(a.ctx, s.sql.look, a.args(), &seen.version, &seen.mine, &seen.free, &seen.ended, &server)
	if err != nil {
		return row{}, err
	}
	s.clock.note(sample{server: server, sent: sent, received: time.Now()})
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if !seen.mine && seen.version > a.d.version {
		a.d.settleLocked()
	}
	return seen, nil
}

// take takes the lease if the row still has the version that was seen.
func (a *attempt) take(version int64) (granted bool, answer sample, err error) {
	s := a.d.s
	if err := a.sends(version); err != nil {
		return false, sample{}, err
	}
	term := s.cfg.TTL + s.cfg.TTL/marginsPerTTL
	args := append(a.args(), []byte(a.d.owner), a.number, version, term)
	answer.sent, err = s.call(a.ctx, s.sql.take, args, &granted, &answer.server)
	answer.received = time.Now()
	if err == nil {
		s.clock.note(answer)
	}
	return granted, answer, err
}

// sends notes that from now on the row may name the door.
func (a *attempt) sends(version int64) error {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.trying != a:
		return context.Canceled
	case !d.s.keeps(d):
		return d.closedError()
	}
	d.unclear, d.version = true, version
	return nil
}

// denied says why a lease that is not free cannot be waited for: nil if it can.
func (a *attempt) denied(seen row) error {
	s := a.d.s
	quickest, blind := s.clock.blind(time.Now())
	if !seen.ended || !blind {
		return nil
	}
	return s.tooFar(a.d.path(), quickest)
}

// failed says why a call of an attempt has failed.
func (a *attempt) failed(err error) error {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if given := a.givenUpLocked(); given != nil {
		return given
	}
	return a.d.explain(err)
}

// givenUpLocked says by what an attempt was given up: nil if it goes on.
func (a *attempt) givenUpLocked() error {
	switch {
	case a.d.isClosedLocked():
		return a.d.closedError()
	case a.d.trying != a:
		return a.d.releasedError()
	}
	return nil
}

// hold begins the hold that the server has granted to an attempt.
func (a *attempt) hold(lost func(error), t term) (bool, error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := a.givenUpLocked(); err != nil {
		return false, err
	}
	if !t.lasts(time.Now()) {
		return false, &locks.Error{
			Kind: locks.ErrUnusable, Path: d.path(), Detail: "the answer of the server came after the end of the lease",
			Remedy: "see what has held up this process, or raise Config.TTL",
		}
	}
	h := &hold{d: d, attempt: a.number, lost: lost, term: t}
	h.ctx, h.stop = context.WithCancel(d.s.ctx)
	d.trying, d.held = nil, h
	d.s.wg.Go(h.keep)
	return true, nil
}

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// hold is one time of being the holder. Its term and failure are guarded by the mutex of the door.
type hold struct {
	d       *door
	attempt int64 // that the row names
	lost    func(error)
	ctx     context.Context // ends with the hold
	stop    context.CancelFunc

	term    term
	failure error // of the last renewal
}

// term is how long a hold lasts, until it is renewed.
type term struct {
	until  time.Time // on the clocks of this process
	server time.Time // on that of the server, and not later
}

// term returns the term of a lease that a call has acquired or renewed. It counts from when the
// call was sent, and leaves a part for clocks of different speeds.
func (s *Store) term(answer sample) term {
	until := answer.sent.Add(s.cfg.TTL - s.cfg.TTL/driftsPerTTL)
	return term{until: until, server: answer.server.Add(until.Sub(answer.received))}
}

// lasts looks at both clocks of the process: during a suspend the monotonic one may stand still.
func (t term) lasts(now time.Time) bool {
	return now.Before(t.until) && now.Round(0).Before(t.until.Round(0))
}

// keep renews a hold until it ends.
func (h *hold) keep() {
	defer h.stop()
	ttl := h.d.s.cfg.TTL
	pause := ttl / renewalsPerTTL
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(min(pause, time.Until(h.d.Until()))):
		}
		if h.d.Until().IsZero() { // its time is over
			return
		}
		pause = ttl / renewalsPerTTL
		if h.renew(h.ctx) != nil {
			pause = ttl / retriesPerTTL
		}
	}
}

// renew prolongs the hold, or ends it if the row names another owner.
func (h *hold) renew(ctx context.Context) (err error) {
	h.d.mu.Lock()
	until := h.term.until
	h.d.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	s := h.d.s
	var renewed bool
	var answer sample
	begun := time.Now()
	args := []any{[]byte(h.d.name), h.d.id, h.attempt}
	answer.sent, err = s.query(ctx, nothing, s.sql.renew, args, &renewed, &answer.server)
	answer.received = time.Now()
	if err == nil {
		s.clock.note(answer)
	} else {
		s.distrust(begun)
		err = h.d.explain(err)
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	switch {
	case h.d.held != h:
		return h.d.notHeld()
	case err != nil:
		h.failure = err
		return err
	case !renewed:
		err = fmt.Errorf("%w: the row names another owner", h.d.notHeld())
		h.loseLocked(err)
		return err
	case !h.term.lasts(time.Now()):
		h.loseLocked(h.ended())
		return h.d.notHeld()
	}
	h.failure = nil
	if t := s.term(answer); t.until.After(h.term.until) {
		h.term = t
	}
	return nil
}

// ended says why the time of a hold is over.
func (h *hold) ended() error {
	e := &locks.Error{
		Kind: locks.ErrNotHeld, Path: h.d.path(), Detail: fmt.Sprintf("it was not renewed within %v", h.d.s.cfg.TTL),
		Cause: h.failure, Remedy: "check the server and the way to it, or raise Config.TTL",
	}
	if h.failure == nil {
		e.Remedy = "see what has held up this process, or raise Config.TTL"
	}
	return e
}

// loseLocked ends the hold if it is the present one, and tells its owner.
func (h *hold) loseLocked(err error) {
	if h.d.held != h {
		return
	}
	h.endLocked()
	if h.lost != nil {
		go h.lost(err)
	}
}

// endLocked ends the hold without a word.
func (h *hold) endLocked() {
	h.stop()
	h.d.held = nil
}

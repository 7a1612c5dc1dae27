package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
)

const (
	attemptsMax = 10                    // of a transaction that collides with others
	pauseMax    = 50 * time.Millisecond // before the last one
)

// entry is what each function of the schema for one shard takes first.
func entry(ctx context.Context, h persistence.Hosting, more ...any) []any {
	return append([]any{[]byte(h.Type), int64(h.Shard), h.Token.Bytes(), lockWait(ctx)}, more...)
}

// lockWait is how many milliseconds a call waits for a lock.
func lockWait(ctx context.Context) int32 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0 // no limit
	}
	return int32(min(max(time.Until(deadline).Milliseconds(), 1), math.MaxInt32))
}

// enter makes a call of a hosting that locks its shard. f returns what the function of the schema
// answers as entered: nil says that the hosting has not begun.
func (s *Store) enter(ctx context.Context, op string, h persistence.Hosting, f func() (*int64, error)) error {
	return s.repeat(ctx, op, h, func() error {
		entered, err := f()
		if err == nil && entered == nil {
			if err = s.begin(ctx, h); err == nil {
				entered, err = f()
			}
		}
		switch {
		case err != nil:
			return err
		case entered == nil:
			return errors.New("the hosting was begun, and is not there")
		case *entered < 0:
			return persistence.ErrFenced
		}
		return nil
	})
}

// repeat makes a call, again if concurrent ones have broken it, and explains its error.
func (s *Store) repeat(ctx context.Context, op string, h persistence.Hosting, f func() error) error {
	err := f()
	for attempt := 1; collided(err) && attempt < attemptsMax; attempt++ {
		pause := pauseMax >> (attemptsMax - 1 - attempt)
		if !sleep(ctx, rand.N(pause+1)) {
			break
		}
		err = f()
	}
	if codeOf(err) == readOnly {
		s.pool.Reset() // each connection leads to a server that is no primary any more
	}
	return explain(fmt.Sprintf("%s of %q, shard %d", op, h.Type, h.Shard), err)
}

// sleep reports whether the time has passed, and not the context.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

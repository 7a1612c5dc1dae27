package postgres

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// boundedConn is a connection none of whose deadlines is later than a limit from when it was set. The
// driver sets one to end a connection in order: after 15 s, for which the slot of the pool is taken.
type boundedConn struct {
	net.Conn
	limit time.Duration
}

// bound returns a deadline, or an earlier one. Zero is none.
func (c boundedConn) bound(t time.Time) time.Time {
	if latest := time.Now().Add(c.limit); t.After(latest) {
		return latest
	}
	return t
}

func (c boundedConn) SetDeadline(t time.Time) error      { return c.Conn.SetDeadline(c.bound(t)) }
func (c boundedConn) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.bound(t)) }
func (c boundedConn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.bound(t)) }

// dial returns a function that dials within Timeout. A connection has the same time to become ready,
// see ready. One that only carries the request to cancel a statement never does, and ends then. A
// connection that has failed ends before the next renewal is tried.
func (c Config) dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if err := conn.SetDeadline(time.Now().Add(c.Timeout)); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return boundedConn{conn, c.TTL / retriesPerTTL}, nil
	}
}

// ready lifts the limit of a connection that the server has taken, and calls what follows.
func ready(next pgconn.AfterConnectFunc) pgconn.AfterConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := conn.Conn().SetDeadline(time.Time{}); err != nil || next == nil {
			return err
		}
		return next(ctx, conn)
	}
}

// pool is the configuration of the pool, in which no connection waits for the network longer than
// Timeout when it begins and when it ends.
func (c Config) pool() *pgxpool.Config {
	p := c.Pool.Copy()
	conn := p.ConnConfig
	if t := conn.ConnectTimeout; t <= 0 || t > c.Timeout {
		conn.ConnectTimeout = c.Timeout
	}
	conn.DialFunc = c.dial(conn.DialFunc)
	conn.AfterConnect = ready(conn.AfterConnect)
	return p
}

package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// losing dials the server, and loses the answer to the first request with a mark in it, and its
// connection. then runs when the answer has come, before it is lost.
type losing struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	mark []byte
	then func()
	once atomic.Bool
}

func (l *losing) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := l.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &losingConn{Conn: server, l: l}, nil
}

// losingConn is a connection whose answers can be lost.
type losingConn struct {
	net.Conn
	l     *losing
	loses atomic.Bool
}

func (c *losingConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, c.l.mark) && c.l.once.CompareAndSwap(false, true) {
		c.loses.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *losingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.loses.Load() && n > 0 {
		c.l.then()
		return 0, errors.Join(net.ErrClosed, c.Conn.Close())
	}
	return n, err
}

// An append whose answer is lost, and that is fenced when it is repeated, is not said to have stored
// nothing.
func TestAnAnswerIsLostBeforeTheFence(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	later := openAt(t, dsn, schema)
	c := config(t, dsn, schema)
	l := &losing{
		dial: c.Pool.ConnConfig.DialFunc, mark: []byte("MARK"), then: func() { fence(t, later, hosting(1, 2)) },
	}
	c.Pool.ConnConfig.DialFunc = l.connect
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	fence(t, s, hosting(1, 1))
	store(t, s, hosting(1, 1), write("a", 0, 1, "x")) // the statement is prepared
	_, err = s.Append(t.Context(), hosting(1, 1), []persistence.Write{write("a", 1, 2, "MARK")})
	if !l.once.Load() || err == nil || errors.Is(err, persistence.ErrFenced) {
		t.Errorf("Append: %v, want an error that is not ErrFenced", err)
	}
	if got := load(t, later, hosting(1, 2), "a"); len(got) != 2 {
		t.Errorf("the history is %q", got)
	}
}

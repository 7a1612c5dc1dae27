package postgres_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
)

// client is the name of the near end of the wires to the server.
const client = "client"

// through is the configuration of a store behind wires of its own, which a test cuts.
func through(t testing.TB, schema string) (c postgres.Config, wires *faulty.Wires, server string) {
	t.Helper()
	server = suite.Server(t).Addr()
	wires = faulty.New(1)
	t.Cleanup(wires.Close)
	network := wires.At(client, transport.TCP())
	c = config(t, suite.Server(t).DSN(), schema)
	c.Pool.ConnConfig.Fallbacks = nil
	c.Pool.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return network.Dial(ctx, server)
	}
	return c, wires, server
}

// behind opens a store behind wires of its own.
func behind(t testing.TB, schema string) (s *postgres.Store, wires *faulty.Wires, server string) {
	t.Helper()
	c, wires, server := through(t, schema)
	return openWith(t, c), wires, server
}

// paused pauses the server until the function is called.
func paused(t testing.TB) (resume func()) {
	t.Helper()
	server := suite.Server(t)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	resume = func() {
		if err := server.Resume(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(resume)
	return resume
}

// While the server stands still no call waits longer than it may, and the holder is told that its
// time is over. When the server goes on, another owner gets the lease, and the former one can save
// nothing.
func TestServerHangs(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := openWith(t, config(t, dsn, schema))
	a, b := acquired(t, s, "x", "ann"), door(t, openWith(t, config(t, dsn, schema)), "x", "bob")
	resume := paused(t)
	begun := time.Now()
	if _, err := b.Acquire(t.Context(), nil); !errors.Is(err, locks.ErrUnusable) ||
		!strings.Contains(err.Error(), "Config.Timeout") {
		t.Error("a server that stands still:", err)
	}
	if err := a.loses(t); !errors.Is(err, locks.ErrNotHeld) || !strings.Contains(err.Error(), "Config.TTL") {
		t.Error("it is told:", err)
	}
	if took := time.Since(begun); took > patience/4 {
		t.Errorf("it was told after %v", took)
	}
	resume()
	takes(t, b, func() bool { return a.Until().IsZero() })
	if err := a.Save(t.Context(), []byte("late")); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("a former holder saves:", err)
	}
	if got, err := b.Load(t.Context()); got != nil || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
}

// A holder keeps its lease when the server is killed and is back in time.
func TestServerIsKilled(t *testing.T) {
	server, schema := suite.Server(t), newSchema()
	c := config(t, server.DSN(), schema)
	c.TTL, c.Timeout = 4*ttl, ttl
	a := acquired(t, openWith(t, c), "x", "ann")
	if err := a.Save(t.Context(), []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	granted := a.Until()
	eventually(t, "the lease is renewed", func() bool { return a.Until().After(granted) })
	eventually(t, "the record is there", func() bool {
		got, err := a.Load(t.Context())
		return err == nil && string(got) == "mine"
	})
	if ok, err := door(t, openWith(t, c), "x", "bob").Acquire(t.Context(), nil); ok || err != nil {
		t.Error("another owner:", ok, err)
	}
	if len(a.lost) > 0 {
		t.Error(<-a.lost)
	}
}

// A holder that does not reach the server loses the lease before another owner gets it.
func TestPartition(t *testing.T) {
	t.Parallel()
	schema := newSchema()
	s, wires, server := behind(t, schema)
	b := door(t, openWith(t, config(t, suite.Server(t).DSN(), schema)), "x", "bob")
	for range 2 {
		a := acquired(t, s, "x", "ann")
		wires.CutBoth(client, server)
		takes(t, b, func() bool { return a.Until().IsZero() })
		if err := a.loses(t); !errors.Is(err, locks.ErrNotHeld) {
			t.Error("it is told:", err)
		}
		if len(a.lost) > 0 {
			t.Error("it is told twice:", <-a.lost)
		}
		wires.HealAll()
		if err := b.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server is reached again", func() bool {
			ok, err := a.Acquire(t.Context(), nil)
			return ok && err == nil && a.Release(t.Context()) == nil
		})
	}
}

// A row that names another owner ends a hold, whatever the holder believes.
func TestRowOfAnother(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := open(t, dsn, schema)
	for name, changes := range map[string]string{
		"another door":    `door = '\x01'`,
		"another attempt": `attempt = attempt + 1`,
	} {
		t.Run(name, func(t *testing.T) {
			a := acquired(t, s, name, "ann")
			run(t, dsn, schema, "UPDATE @.leases SET "+changes+" WHERE owner = 'ann'")
			if err := a.Save(t.Context(), []byte("late")); !errors.Is(err, locks.ErrNotHeld) {
				t.Error("a former holder saves:", err)
			}
			if _, err := a.Load(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
				t.Error("a former holder loads:", err)
			}
			if err := a.loses(t); !errors.Is(err, locks.ErrNotHeld) || !strings.Contains(err.Error(), "another") {
				t.Error("it is told:", err)
			}
		})
	}
}

// A store that is closed has released its leases, and its doors say that it is closed.
func TestClose(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := open(t, dsn, schema)
	a := acquired(t, s, "x", "ann")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acquired(t, open(t, dsn, schema), "x", "bob")
	if ok, err := a.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrClosed) {
		t.Error("Acquire:", ok, err)
	}
	if _, err := s.Lock("y", "ann"); !errors.Is(err, locks.ErrClosed) {
		t.Error("Lock:", err)
	}
	if _, err := a.Load(t.Context()); !errors.Is(err, locks.ErrClosed) {
		t.Error("Load:", err)
	}
	if err := a.Save(t.Context(), nil); !errors.Is(err, locks.ErrClosed) {
		t.Error("Save:", err)
	}
	if err := errors.Join(a.Close(), s.Close()); err != nil || !a.Until().IsZero() {
		t.Error("Close:", err)
	}
	if len(a.lost) > 0 {
		t.Error("told of a loss:", <-a.lost)
	}
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
)

// lines are connections to a server, of which those that are there go dead at once.
type lines struct {
	wires  *faulty.Wires
	server string
	age    atomic.Int64
}

func (l *lines) name(age int64) string { return fmt.Sprint(client, " ", age) }

func (l *lines) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return l.wires.At(l.name(l.age.Load()), transport.TCP()).Dial(ctx, l.server)
}

// die stops what is sent on all connections that are there, without an end.
func (l *lines) die() {
	age := l.age.Add(1) - 1
	l.wires.CutBoth(l.name(age), l.server)
}

// overLines opens a store whose connections a test lets go dead.
func overLines(t testing.TB, c postgres.Config) (*postgres.Store, *lines) {
	t.Helper()
	l := &lines{wires: faulty.New(1), server: suite.Server(t).Addr()}
	t.Cleanup(l.wires.Close)
	c.Pool.ConnConfig.Fallbacks, c.Pool.ConnConfig.DialFunc = nil, l.dial
	return openWith(t, c), l
}

// All connections of a full pool go dead, and new ones do not. As many leases as it has connections
// are kept, while other calls want connections too.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	const conns = 4
	s, lines, owners := fullPool(t, conns, ttl)
	lines.die()
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for i := range 2 * conns {
		l := door(t, s, fmt.Sprint("x", i%conns), "bob")
		calls.Go(func() {
			for ctx.Err() == nil {
				if ok, _ := l.Acquire(ctx, nil); ok {
					t.Error("two owners hold the lease")
				}
			}
		})
	}
	keep(t, owners)
	cancel()
	calls.Wait()
}

// Connections that are idle are dead. A renewal does not try one after the other.
func TestDeadIdleConnections(t *testing.T) {
	t.Parallel()
	_, lines, owners := fullPool(t, 8, 2*ttl)
	for _, o := range owners[1:] {
		if err := o.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lines.die()
	keep(t, owners[:1])
}

// keep fails the test unless each owner's lease is renewed.
func keep(t testing.TB, owners []owner) {
	t.Helper()
	for _, o := range owners {
		before := o.Until()
		eventually(t, "the lease is renewed", func() bool { return o.Until().After(before) || len(o.lost) > 0 })
		if len(o.lost) > 0 {
			t.Error(<-o.lost)
		}
	}
}

// fullPool opens a store with so many connections, and as many leases. Each renewal waits for its row
// until all do.
func fullPool(t testing.TB, conns int, timeout time.Duration) (*postgres.Store, *lines, []owner) {
	t.Helper()
	dsn, schema := suite.Server(t).DSN(), newSchema()
	c := config(t, dsn, schema)
	c.TTL, c.Timeout, c.Pool.MaxConns = 4*ttl, timeout, int32(conns)
	s, lines := overLines(t, c)
	var owners []owner
	for i := range conns {
		owners = append(owners, acquired(t, s, fmt.Sprint("x", i), "ann"))
	}
	unlock := lockRow(t, dsn, schema)
	waitsForRow(t, dsn, schema, conns)
	unlock()
	keep(t, owners)
	return s, lines, owners
}

// far makes every round trip to a server take so long.
func far(wires *faulty.Wires, server string, trip time.Duration) {
	wires.Set(client, server, faulty.Weather{Delay: trip / 2})
	wires.Set(server, client, faulty.Weather{Delay: trip / 2})
}

// A server whose round trips are too long for the TTL is refused, with both times and a TTL that
// would do. That TTL does.
func TestFarServerIsRefused(t *testing.T) {
	t.Parallel()
	c, wires, server := through(t, newSchema())
	far(wires, server, 40*time.Millisecond)
	refused(t, c, locks.ErrUnusable, "round trips to the server took 4", "only within 25ms", "raise Config.TTL to 4s")
	c.TTL = 4 * time.Second
	openWith(t, c)
}

// The server gets too far away when the holder of a lease has died: to acquire it fails, and does
// not answer without end that there is another holder. A lease whose holder lives is held by another.
func TestServerGetsTooFarAway(t *testing.T) {
	t.Parallel()
	dsn, schema := suite.Server(t).DSN(), newSchema()
	alive := acquired(t, open(t, dsn, schema), "alive", "ann")
	run(t, dsn, schema, `INSERT INTO @.leases (name, owner, door, attempt, version, term, until)
		VALUES ('dead', 'ann', '1', 1, 1, '4s', now())`)
	c, wires, server := through(t, schema)
	s := openWith(t, c)
	far(wires, server, 40*time.Millisecond)
	l := door(t, s, "dead", "bob")
	eventually(t, "it is said that the server is too far away", func() bool {
		ok, err := l.Acquire(t.Context(), nil)
		if ok {
			t.Fatal("the lease was taken without a clock to compare")
		}
		return errors.Is(err, locks.ErrUnusable) && strings.Contains(err.Error(), "raise Config.TTL to 4s")
	})
	if ok, err := door(t, s, "alive", "bob").Acquire(t.Context(), nil); ok || err != nil {
		t.Error("a lease whose holder lives:", ok, err)
	}
	wires.HealAll()
	takes(t, l, func() bool { return true })
	if len(alive.lost) > 0 {
		t.Error(<-alive.lost)
	}
}

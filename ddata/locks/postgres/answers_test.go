package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
)

// fate is what becomes of a statement that acquires or releases.
type fate int

const (
	answered   fate = iota
	late            // it reaches the server when deliver is called, and the caller has given up
	unanswered      // it takes effect, and its answer gets lost
)

// between decides the fate of statements on their way to the server. It is a tracer of the driver.
type between struct {
	t    testing.TB
	conn *pgx.Conn // the way of what is late or gets no answer

	mu    sync.Mutex
	fates map[string]fate // by a text of the statement
	late  []statement
}

// statement is one that is under way.
type statement struct {
	sql  string
	args []any
}

// Texts that tell statements from one another.
const (
	acquires = "EXCLUDED.owner"
	releases = "WITH released"
)

// TraceQueryStart implements pgx.QueryTracer.
func (b *between) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	for text, f := range b.fates {
		if f == answered || !strings.Contains(q.SQL, text) {
			continue
		}
		b.late = append(b.late, statement{q.SQL, q.Args})
		if f == unanswered {
			b.deliverLocked(len(b.late) - 1)
		}
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (b *between) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// set sets the fate of the statements with a text.
func (b *between) set(text string, f fate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fates[text] = f
}

// underWay returns how many statements are late.
func (b *between) underWay() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.late)
}

// deliver brings one of the late statements to the server.
func (b *between) deliver(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliverLocked(i)
}

func (b *between) deliverLocked(i int) {
	s := b.late[i]
	b.late = append(b.late[:i:i], b.late[i+1:]...)
	if _, err := b.conn.Exec(context.Background(), s.sql, s.args...); err != nil {
		b.t.Errorf("a late statement: %v", err)
	}
}

// openBetween opens a store whose statements a test decides on. Its leases do not end by time.
func openBetween(t testing.TB, dsn, schema string) (*postgres.Store, *between) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	b := &between{t: t, conn: conn, fates: map[string]fate{}}
	c := longLived(t, dsn, schema)
	c.Pool.ConnConfig.Tracer = b
	return openWith(t, c), b
}

func longLived(t testing.TB, dsn, schema string) postgres.Config {
	c := config(t, dsn, schema)
	c.TTL, c.Timeout = time.Hour, patience
	return c
}

// An owner that gets no answer may be the holder. It acquires again, or releases, and needs not
// wait for the end of that hold.
func TestLostAnswers(t *testing.T) {
	for name, clears := range map[string]func(l, other locks.Lock) (bool, error){
		"acquired again": func(l, _ locks.Lock) (bool, error) { return l.Acquire(t.Context(), nil) },
		"released": func(l, other locks.Lock) (bool, error) {
			if err := l.Release(t.Context()); err != nil {
				return false, err
			}
			return other.Acquire(t.Context(), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dsn, schema := suite.Server(t).DSN(), newSchema()
			s, way := openBetween(t, dsn, schema)
			l, other := door(t, s, "x", "ann"), door(t, openWith(t, longLived(t, dsn, schema)), "x", "bob")
			way.set(acquires, unanswered)
			if ok, err := l.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrUnusable) {
				t.Fatal("without an answer:", ok, err)
			}
			way.set(acquires, answered)
			if !l.Until().IsZero() {
				t.Error("it holds what it does not know of")
			}
			if ok, err := other.Acquire(t.Context(), nil); ok || err != nil {
				t.Fatal("the server has not got the request:", ok, err)
			}
			if ok, err := clears(l, other); !ok || err != nil {
				t.Error("the owner does not clear it up:", ok, err)
			}
		})
	}
}

// A request to acquire that reaches the server after its owner has released takes no effect: whether
// there was a row, and whether another has held the lease meanwhile.
func TestLateAcquire(t *testing.T) {
	dsn := suite.Server(t).DSN()
	for name, before := range map[string]func(*testing.T, locks.Lock){
		"no row": func(*testing.T, locks.Lock) {},
		"a row": func(t *testing.T, other locks.Lock) {
			if ok, err := other.Acquire(t.Context(), nil); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := other.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, held := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				schema := newSchema()
				s, way := openBetween(t, dsn, schema)
				l, other := door(t, s, "x", "ann"), door(t, openWith(t, longLived(t, dsn, schema)), "x", "bob")
				before(t, other)
				way.set(acquires, late)
				if ok, err := l.Acquire(t.Context(), nil); ok || err == nil {
					t.Fatal("without an answer:", ok, err)
				}
				if err := l.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if held {
					before(t, other)
				}
				way.deliver(0)
				if ok, err := other.Acquire(t.Context(), nil); !ok || err != nil {
					t.Error("the late request has taken the lease:", ok, err)
				}
			})
		}
	}
}

// A release that gives up while its door acquires leaves no hold that is renewed.
func TestReleaseDuringAcquire(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	c := config(t, dsn, schema)
	c.TTL, c.Timeout = 4*ttl, 2*ttl
	l, other := acquired(t, openWith(t, c), "x", "ann"), door(t, openWith(t, c), "x", "bob")
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock := lockRow(t, dsn, schema)
	acquired := make(chan error, 1)
	go func() {
		ok, err := l.Acquire(t.Context(), nil)
		if ok {
			err = errors.New("it holds the lease")
		}
		acquired <- err
	}()
	waitsForRow(t, dsn, schema, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Error("released:", err)
	}
	unlock()
	if err := <-acquired; !errors.Is(err, locks.ErrNotHeld) {
		t.Error("acquired:", err)
	}
	takes(t, other, func() bool { return l.Until().IsZero() })
}

// A store that is closed while a door acquires leaves no lease behind.
func TestCloseDuringAcquire(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s, other := openWith(t, longLived(t, dsn, schema)), door(t, openWith(t, longLived(t, dsn, schema)), "x", "bob")
	l := acquired(t, s, "x", "ann")
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock := lockRow(t, dsn, schema)
	acquired := make(chan error, 1)
	go func() {
		_, err := l.Acquire(t.Context(), nil)
		acquired <- err
	}()
	waitsForRow(t, dsn, schema, 1)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	if err := <-acquired; !errors.Is(err, locks.ErrClosed) {
		t.Error("acquired:", err)
	}
	unlock()
	if err := <-closed; err != nil {
		t.Error("closed:", err)
	}
	if ok, err := other.Acquire(t.Context(), nil); !ok || err != nil {
		t.Error("another owner:", ok, err)
	}
}

// lockRow locks the rows of the leases until the function is called.
func lockRow(t testing.TB, dsn, schema string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	unlock = func() { _ = conn.Close(context.Background()) }
	t.Cleanup(unlock)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM "+schema+".leases FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	return unlock
}

// waitsForRow waits until so many statements on the leases wait for rows that are locked.
func waitsForRow(t testing.TB, dsn, schema string, want int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	eventually(t, "statements wait for rows", func() bool {
		var waiting int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE '%"' || $1 || '"%'`, schema).Scan(&waiting)
		return err == nil && waiting >= want
	})
}

// Whatever becomes of the statements of a door, and in whichever order they arrive: a holder keeps
// its lease, and one that has released does not have it.
func TestAnyFate(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s, way := openBetween(t, dsn, schema)
	others := openWith(t, longLived(t, dsn, schema))
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		rounds++
		name := strings.Repeat("x", rounds%locks.NameMax+1)
		m := &fates{way: way, ctx: context.Background()}
		m.mine, m.err = s.Lock(name, "ann")
		other, err := others.Lock(name, "bob")
		if m.other = other; errors.Join(m.err, err) != nil {
			t.Fatal(m.err, err)
		}
		defer m.end()
		t.Repeat(map[string]func(*rapid.T){
			"acquire": m.acquire, "release": m.release, "arrive": m.arrive, "another acquires": m.otherAcquires,
			"another releases": m.otherReleases, "": m.check,
		})
	})
}

// fates is a model of two doors to one name, the statements of one of which may be late.
type fates struct {
	way         *between
	ctx         context.Context
	mine, other locks.Lock
	err         error

	holds, otherHolds bool
	clear             bool // the last call of mine was a Release that has succeeded
}

func (m *fates) end() {
	for m.way.underWay() > 0 {
		m.way.deliver(0)
	}
	_, _ = m.mine.Close(), m.other.Close()
}

func (m *fates) acquire(t *rapid.T) {
	f := fate(rapid.IntRange(0, 2).Draw(t, "fate"))
	m.way.set(acquires, f)
	ok, err := m.mine.Acquire(m.ctx, func(err error) { t.Errorf("lost: %v", err) })
	m.way.set(acquires, answered)
	if m.otherHolds && ok || f == answered && (err != nil || ok == m.otherHolds) {
		t.Fatalf("acquired %t, %v; another holds it: %t", ok, err, m.otherHolds)
	}
	m.holds, m.clear = ok, false
}

func (m *fates) release(t *rapid.T) {
	m.way.set(releases, fate(rapid.IntRange(0, 2).Draw(t, "fate")))
	err := m.mine.Release(m.ctx)
	m.way.set(releases, answered)
	m.holds, m.clear = false, err == nil
}

func (m *fates) arrive(t *rapid.T) {
	if n := m.way.underWay(); n > 0 {
		m.way.deliver(rapid.IntRange(0, n-1).Draw(t, "which"))
	}
}

func (m *fates) otherAcquires(t *rapid.T) {
	ok, err := m.other.Acquire(m.ctx, func(err error) { t.Errorf("another lost: %v", err) })
	if err != nil || ok && m.holds || m.clear && !ok {
		t.Fatalf("another acquires: %t, %v; mine holds %t, has released %t", ok, err, m.holds, m.clear)
	}
	m.otherHolds = ok
}

func (m *fates) otherReleases(t *rapid.T) {
	if err := m.other.Release(m.ctx); err != nil {
		t.Fatal(err)
	}
	m.otherHolds = false
}

// check lets the holder save, which compares with the row.
func (m *fates) check(t *rapid.T) {
	for l, holds := range map[locks.Lock]bool{m.mine: m.holds, m.other: m.otherHolds} {
		if holds == l.Until().IsZero() {
			t.Fatalf("until %v, holds %t", l.Until(), holds)
		}
		if !holds {
			continue
		}
		if err := l.Save(m.ctx, []byte("mine")); err != nil {
			t.Fatalf("a holder saves: %v", err)
		}
	}
}

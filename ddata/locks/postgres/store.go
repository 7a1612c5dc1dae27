package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Store is a schema with leases. Its methods may be called concurrently.
type Store struct {
	cfg   Config
	id    string
	pool  *pgxpool.Pool
	gate  chan struct{} // one for each call beside renewals
	clock *serverClock
	sql   statements

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup // goroutines that look at the clock, and renew

	mu      sync.Mutex
	unclear map[*door]bool // doors that a row may name
	trusted time.Time      // since when no older connection is used again
	closed  bool
}

var _ locks.Store = (*Store)(nil)

// Open connects to a server, and makes the schema if it is missing. It returns a locks.Error: of
// locks.ErrForeign if something else is in the schema, else of locks.ErrUnusable. A server that is
// too far away for Config.TTL is refused. The time is bounded by ctx only.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &Store{
		cfg: c, unclear: map[*door]bool{}, gate: make(chan struct{}, c.Pool.MaxConns-1),
		clock: &serverClock{window: c.TTL + c.TTL/marginsPerTTL, tolerance: c.TTL / toleratedPerTTL},
	}
	s.sql = s.statements()
	pool, err := pgxpool.NewWithConfig(ctx, c.pool())
	if err != nil {
		return nil, fmt.Errorf("postgres: Config.Pool: %w", err)
	}
	s.pool = pool
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return s.prepare(ctx, conn.Conn()) })
	if err != nil {
		err = s.explain("", err)
		pool.Close()
		return nil, err
	}
	if err := s.measure(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.watchClock)
	return s, nil
}

// ID implements locks.Store. It was drawn when the schema was made.
func (s *Store) ID() string { return "postgres " + s.id }

// Lock implements locks.Store.
func (s *Store) Lock(name, owner string) (locks.Lock, error) {
	if err := locks.CheckName(name); err != nil {
		return nil, err
	}
	if s.isClosed() {
		return nil, s.refuse(locks.ErrClosed, "", "close the node before the store")
	}
	id := make([]byte, 16)
	rand.Read(id)
	return &door{s: s, name: name, owner: owner, id: id, turn: make(chan struct{}, 1)}, nil
}

// Close releases all leases that are held, and ends the calls that are under way. It closes the
// connections. It waits for the server as long as Config.Timeout allows for the leases, and the same
// time for the connections. What is called later fails with locks.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	doors := slices.Collect(maps.Keys(s.unclear))
	s.mu.Unlock()
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Timeout)
	defer cancel()
	errs := make(chan error, len(doors))
	for _, d := range doors {
		all.Go(func() { errs <- d.Release(ctx) })
	}
	all.Wait()
	close(errs)
	var failed error
	for err := range errs {
		if failed == nil {
			failed = err
		}
	}
	s.stop()
	s.wg.Wait()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.pool.Close()
	}()
	select {
	case <-done:
	case <-time.After(s.cfg.Timeout): // the rest ends when the network gives up
	}
	return failed
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// keeps notes that a row may name a door from now on. It fails if the store is closed.
func (s *Store) keeps(d *door) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.unclear[d] = true
	return true
}

func (s *Store) forgets(d *door) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unclear, d)
}

// distrust closes the connections that are idle, because a renewal that began at a time has failed:
// they may lead nowhere, too. A renewal that began before the last time says nothing of the present
// ones.
func (s *Store) distrust(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun.After(s.trusted) && !s.closed {
		s.trusted = time.Now()
		s.pool.Reset()
	}
}

// query makes a statement that returns one row, within the time for a call, and returns when it was
// sent. It calls free when it does not need a slot of the pool any more, which can be later.
func (s *Store) query(
	ctx context.Context, free func(), sql string, args []any, row ...any,
) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		free()
		return time.Time{}, err
	}
	defer func() {
		server := conn.Conn().PgConn()
		ended := server.IsClosed()
		conn.Release()
		if !ended {
			free()
			return
		}
		go func() {
			<-server.CleanupDone()
			free()
		}()
	}()
	sent = time.Now()
	return sent, conn.QueryRow(ctx, sql, args...).Scan(row...)
}

// nothing is there to be freed for a call that has passed no gate.
func nothing() {}

// call is query for all that is no renewal.
func (s *Store) call(ctx context.Context, sql string, args []any, row ...any) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	return s.query(ctx, func() { <-s.gate }, sql, args, row...)
}

// looks is how often Open measures a round trip before it refuses the server.
const looks = 10

// measure looks at the clock of the server until a call is quick enough for the TTL.
func (s *Store) measure(ctx context.Context) error {
	for range looks {
		if err := s.lookAtClock(ctx); err != nil {
			return s.explain("", err)
		}
		if s.clock.isKnown() {
			return nil
		}
	}
	quickest, _ := s.clock.blind(time.Now())
	return s.tooFar(s.path(""), quickest)
}

// watchClock looks at the server's clock at intervals.
func (s *Store) watchClock() {
	t := time.NewTicker(s.cfg.TTL / renewalsPerTTL)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-t.C:
			_ = s.lookAtClock(s.ctx) // the next one may succeed
		}
	}
}

func (s *Store) lookAtClock(ctx context.Context) error {
	var server time.Time
	sent, err := s.query(ctx, nothing, s.sql.clock, nil, &server)
	if err == nil {
		s.clock.note(sample{server: server, sent: sent, received: time.Now()})
	}
	return err
}

// statements are those of a store, with the name of its schema.
type statements struct{ clock, look, take, renew, release, load, save, holder string }

func (s *Store) statements() statements {
	return statements{
		clock:   s.in("SELECT @.clock()"),
		look:    s.in(look),
		take:    s.in(take),
		renew:   s.in(renew),
		release: s.in(release),
		load:    s.in(load),
		save:    s.in(save),
		holder:  s.in("SELECT owner FROM @.leases WHERE name = $1"),
	}
}

// free is the condition on which a lease may be taken: it was released, is the door's own, or has
// ended. $3 and $4 are bound and steady of serverClock, $5 is how much too late bound may be.
const free = `(l.door IS NULL OR l.door = $2
      OR l.until + $5::interval < least(@.clock(), $3::timestamptz) AND l.term <= $4::interval)`

// look reads what an attempt must know of a row, which may be missing.
const look = `
SELECT coalesce(l.version, 0), coalesce(l.door = $2, false), ` + free + `,
  coalesce(l.until <= @.clock(), true), @.clock()
FROM (VALUES (1)) one LEFT JOIN @.leases l ON l.name = $1`

// take takes a lease that is free, if the row has the version that look has found. The server
// compares when it has locked the row. So a request has no effect when it comes late, after an
// acquisition or a release.
const take = `
WITH taken AS (
  INSERT INTO @.leases AS l (name, owner, door, attempt, version, term, until)
    VALUES ($1, $6, $2, $7::bigint, 1, $9::interval, @.clock() + $9::interval)
  ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, door = EXCLUDED.door, attempt = EXCLUDED.attempt,
      version = l.version + 1, term = EXCLUDED.term, until = @.clock() + EXCLUDED.term
    WHERE l.version = $8::bigint AND ` + free + `
  RETURNING l.version)
SELECT count(*) = 1, @.clock() FROM taken`

// renew prolongs a hold. It does so too when its time is over and no other owner has come.
const renew = `
WITH renewed AS (
  UPDATE @.leases SET until = @.clock() + term WHERE name = $1 AND door = $2 AND attempt = $3 RETURNING attempt)
SELECT count(*) = 1, @.clock() FROM renewed`

// release frees the lease if an attempt up to the last one has taken it. A request to take it that
// is still on its way finds another version, or a row that was missing. The hold of another door is
// not touched.
const release = `
WITH released AS (
  INSERT INTO @.leases AS l (name, owner, attempt, version, term, until)
    VALUES ($1, '', $3::bigint, 1, '0', @.clock())
  ON CONFLICT (name) DO UPDATE SET door = CASE WHEN l.door <> $2 THEN l.door END, version = l.version + 1
    WHERE l.door = $2 AND l.attempt <= $3 OR l.version = $4::bigint
  RETURNING l.version)
SELECT count(*) FROM released`

// $4 is the end of the hold on the clock of the server.
const (
	load = `
SELECT record FROM @.leases
WHERE name = $1 AND door = $2 AND attempt = $3 AND @.clock() < least(until, $4::timestamptz)`
	save = `
WITH saved AS (
  UPDATE @.leases SET record = $5
    WHERE name = $1 AND door = $2 AND attempt = $3 AND @.clock() < least(until, $4::timestamptz) RETURNING attempt)
SELECT attempt FROM saved`
)

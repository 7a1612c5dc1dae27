package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
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

	mu     sync.Mutex
	held   map[*door]bool
	closed bool
}

var _ locks.Store = (*Store)(nil)

// Open connects to a server, and makes the schema if it is missing. It returns a locks.Error: of
// locks.ErrForeign if something else is in the schema, else of locks.ErrUnusable. The time is
// bounded by ctx only.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &Store{
		cfg: c, held: map[*door]bool{}, gate: make(chan struct{}, c.Pool.MaxConns-1),
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
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.lookAtClock() // what fails is tried again
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
	if s.ctx.Err() != nil {
		return nil, s.refuse(locks.ErrClosed, "", "close the node before the store")
	}
	id := make([]byte, 16)
	rand.Read(id)
	return &door{s: s, name: name, owner: owner, id: id, turn: make(chan struct{}, 1)}, nil
}

// Close releases all leases that are held, and closes the connections. It waits for the server as
// long as Config.Timeout allows for the leases, and the same time for the connections. What is
// called later fails with locks.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	doors := make([]*door, 0, len(s.held))
	for d := range s.held {
		doors = append(doors, d)
	}
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

// keeps notes that a door holds its lease, and has a goroutine renew it. It fails if the store is
// closed.
func (s *Store) keeps(d *door, renew func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.held[d] = true
	s.wg.Go(renew)
	return true
}

func (s *Store) forgets(d *door) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, d)
}

// query makes a statement that returns one row, within the time for a call, and returns when it was
// sent.
func (s *Store) query(ctx context.Context, sql string, args []any, row ...any) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer conn.Release()
	sent = time.Now()
	return sent, conn.QueryRow(ctx, sql, args...).Scan(row...)
}

// call is query for all that is no renewal.
func (s *Store) call(ctx context.Context, sql string, args []any, row ...any) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	defer func() { <-s.gate }()
	return s.query(ctx, sql, args, row...)
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
			s.lookAtClock()
		}
	}
}

func (s *Store) lookAtClock() {
	var server time.Time
	if sent, err := s.query(s.ctx, s.sql.clock, nil, &server); err == nil {
		s.clock.note(sample{server: server, sent: sent, received: time.Now()})
	}
}

// statements are those of a store, with the name of its schema.
type statements struct{ clock, acquire, renew, release, load, save, holder string }

func (s *Store) statements() statements {
	return statements{
		clock:   s.in("SELECT @.clock()"),
		acquire: s.in(acquire),
		renew:   s.in(renew),
		release: s.in(release),
		load:    s.in(load),
		save:    s.in(save),
		holder:  s.in("SELECT owner FROM @.leases WHERE name = $1"),
	}
}

// acquire takes a lease that is free, that an earlier attempt of the door has taken, or that has
// ended. The server compares when it has locked the row. $6 and $7 are bound and steady of
// serverClock, $8 is how much too late bound may be.
const acquire = `
WITH taken AS (
  INSERT INTO @.leases AS l (name, owner, door, attempt, fence, term, until)
    VALUES ($1, $2, $3, $4::bigint, 1, $5::interval, @.clock() + $5::interval)
  ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, door = EXCLUDED.door, attempt = EXCLUDED.attempt,
      fence = l.fence + 1, term = EXCLUDED.term, until = @.clock() + EXCLUDED.term
    WHERE l.door IS NULL
      OR l.door = EXCLUDED.door AND l.attempt < EXCLUDED.attempt
      OR l.door <> EXCLUDED.door AND l.until + $8::interval < least(@.clock(), $6::timestamptz)
        AND l.term <= $7::interval
  RETURNING l.fence)
SELECT (SELECT fence FROM taken), @.clock()`

// renew prolongs a hold. It does so too when its time is over and no other owner has come.
const renew = `
WITH renewed AS (
  UPDATE @.leases SET until = @.clock() + term WHERE name = $1 AND door = $2 AND fence = $3 RETURNING fence)
SELECT (SELECT fence FROM renewed), @.clock()`

const release = `
WITH released AS (
  UPDATE @.leases SET door = NULL WHERE name = $1 AND door = $2 AND attempt <= $3 RETURNING fence)
SELECT count(*) FROM released`

// $4 is the end of the hold on the clock of the server.
const (
	load = `
SELECT record FROM @.leases
WHERE name = $1 AND door = $2 AND fence = $3 AND @.clock() < least(until, $4::timestamptz)`
	save = `
WITH saved AS (
  UPDATE @.leases SET record = $5
    WHERE name = $1 AND door = $2 AND fence = $3 AND @.clock() < least(until, $4::timestamptz) RETURNING fence)
SELECT fence FROM saved`
)

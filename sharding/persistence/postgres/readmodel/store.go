package readmodel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/projection"
)

// Store keeps offsets in a schema of a database. Its methods may be called concurrently.
type Store struct {
	cfg Config
	sql statements
}

var _ projection.Offsets = (*Store)(nil)

// Open makes the schema if need be, or brings it to the format of the program.
//
// Errors: ErrConfig; persistence.ErrForeign if something else is in the schema, and
// persistence.ErrVersion if a newer program made it.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &Store{cfg: c, sql: newStatements(c.Schema)}
	if err := install(ctx, c.Pool, c.Schema, c.Prepared); err != nil {
		return nil, s.explain("open", err)
	}
	return s, nil
}

// Migrate makes the schema, or brings it to the format of this program. See Open for its errors.
func Migrate(ctx context.Context, c Config) error {
	c.Prepared = false
	_, err := Open(ctx, c)
	return err
}

// statements are those of a store, with the name of its schema.
type statements struct {
	enter, hold, claim, claimed, save, follow, look, pause, fence, reset string
}

func newStatements(schema string) statements {
	in := func(text string) string { return strings.ReplaceAll(text, "@", pgx.Identifier{schema}.Sanitize()) }
	save := in(`
UPDATE @.parts SET place = $4, at = $5, handled = $6, omitted = $7 WHERE name = $1 AND part = $2 AND claim = $3`)
	return statements{
		// It locks the row: a pause waits for claims that are on their way, and they for it.
		enter: in(`
INSERT INTO @.projections AS r (name, parts, paused) VALUES ($1, $2, false)
  ON CONFLICT (name) DO UPDATE SET parts = EXCLUDED.parts WHERE r.parts = 0`),
		hold: in("SELECT parts, paused FROM @.projections WHERE name = $1"),
		claim: in(`
INSERT INTO @.parts AS p (name, part, claim, place, handled, omitted) VALUES ($1, $2, 1, '', 0, 0)
  ON CONFLICT (name, part) DO UPDATE SET claim = p.claim + 1
  RETURNING claim, place, at, handled, omitted`),
		claimed: in("SELECT claim FROM @.parts WHERE name = $1 AND part = $2"),
		// After each of the two the row is locked until the end of the transaction.
		save:   save,
		follow: save + " AND handled = $8",
		look: in(`
SELECT r.parts, r.paused, p.part, p.claim, p.place, p.at, p.handled, p.omitted
  FROM @.projections r LEFT JOIN @.parts p ON p.name = r.name WHERE r.name = $1`),
		// The first claim replaces the 0 parts.
		pause: in(`
INSERT INTO @.projections AS r (name, parts, paused) VALUES ($1, 0, $2)
  ON CONFLICT (name) DO UPDATE SET paused = EXCLUDED.paused`),
		fence: in("UPDATE @.parts SET claim = claim + 1 WHERE name = $1"),
		reset: in(`
INSERT INTO @.parts AS p (name, part, claim, place, handled, omitted)
  SELECT $1, n, 1, $3, 0, 0 FROM generate_series(0, $2::int - 1) n
  ON CONFLICT (name, part) DO UPDATE
    SET claim = p.claim + 1, place = EXCLUDED.place, at = NULL, handled = 0, omitted = 0`),
	}
}

// Claim implements projection.Offsets.
func (s *Store) Claim(ctx context.Context, name string, p projection.Part) (
	c projection.Claim, at projection.Progress, err error,
) {
	c = projection.Claim{Projection: name, Part: p.Number}
	err = s.within(ctx, "claim", func(ctx context.Context, tx pgx.Tx) error {
		paused, err := s.enter(ctx, tx, name, p.Of)
		if err != nil {
			return err
		}
		if paused {
			return projection.ErrPaused
		}
		var r row
		err = tx.QueryRow(ctx, s.sql.claim, []byte(name), p.Number).Scan(r.fields()...)
		c.Number, at = uint64(r.claim), r.progress()
		return err
	})
	return c, at, err
}

// enter locks the row of a projection against a pause and a reset, and makes it if need be.
func (s *Store) enter(ctx context.Context, tx pgx.Tx, name string, parts int) (paused bool, err error) {
	if _, err := tx.Exec(ctx, s.sql.enter, []byte(name), parts); err != nil {
		return false, err
	}
	var found int
	if err := tx.QueryRow(ctx, s.sql.hold, []byte(name)).Scan(&found, &paused); err != nil {
		return false, err
	}
	if found == parts {
		return paused, nil
	}
	return false, fmt.Errorf("%w: there are offsets of %d, want %d", projection.ErrParts, found, parts)
}

// Save implements projection.Offsets. The handler's transaction does it in place of this, unless there
// is nothing to handle.
func (s *Store) Save(ctx context.Context, c projection.Claim, at projection.Progress) error {
	return s.explain("save", s.save(ctx, s.cfg.Pool, c, at))
}

// execer is a pool or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func (s *Store) save(ctx context.Context, x execer, c projection.Claim, at projection.Progress) error {
	tag, err := x.Exec(ctx, s.sql.save, saved(c, at)...)
	if err == nil && tag.RowsAffected() == 0 {
		return projection.ErrFenced
	}
	return err
}

// saved are the arguments of save and follow.
func saved(c projection.Claim, at projection.Progress, more ...any) []any {
	return append([]any{
		[]byte(c.Projection), c.Part, int64(c.Number), []byte(at.Offset), micros(at.At), int64(at.Handled),
		int64(at.Omitted),
	}, more...)
}

// follow saves how far a claim has come with some events more. What it has saved before must be there:
// else the database has lost commits, of effects and of events.
func (s *Store) follow(
	ctx context.Context, tx pgx.Tx, c projection.Claim, at projection.Progress, events int,
) error {
	tag, err := tx.Exec(ctx, s.sql.follow, saved(c, at, int64(at.Handled)-int64(events))...)
	if err != nil || tag.RowsAffected() > 0 {
		return err
	}
	var claim int64
	err = tx.QueryRow(ctx, s.sql.claimed, []byte(c.Projection), c.Part).Scan(&claim)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return err
	case err == nil && claim == int64(c.Number):
		return errLost
	}
	return projection.ErrFenced
}

// Look implements projection.Offsets.
func (s *Store) Look(ctx context.Context, name string) (state projection.State, err error) {
	rows, err := s.cfg.Pool.Query(ctx, s.sql.look, []byte(name))
	if err != nil {
		return state, s.explain("look", err)
	}
	defer rows.Close()
	for rows.Next() {
		var parts int
		var part *int
		var claim, handled, omitted *int64
		var r row
		if err := rows.Scan(&parts, &state.Paused, &part, &claim, &r.place, &r.at, &handled, &omitted); err != nil {
			return state, s.explain("look", err)
		}
		if part == nil {
			continue
		}
		if len(state.Parts) == 0 {
			state.Parts = make([]projection.PartState, max(parts, *part+1))
		}
		if *part < 0 || *part >= len(state.Parts) {
			return state, s.explain("look", fmt.Errorf("part %d of %d: %w", *part, parts, persistence.ErrDamaged))
		}
		r.claim, r.handled, r.omitted = *claim, *handled, *omitted
		state.Parts[*part] = projection.PartState{Claim: uint64(r.claim), Progress: r.progress()}
	}
	return state, s.explain("look", rows.Err())
}

// Pause implements projection.Offsets. It fences the claims that are there, too.
func (s *Store) Pause(ctx context.Context, name string, paused bool) error {
	return s.within(ctx, "pause", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.sql.pause, []byte(name), paused); err != nil || !paused {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.fence, []byte(name))
		return err
	})
}

// Reset implements projection.Offsets.
func (s *Store) Reset(ctx context.Context, name string, parts int, at persistence.Offset) error {
	return s.within(ctx, "reset", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := s.enter(ctx, tx, name, parts); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.reset, []byte(name), parts, []byte(at))
		return err
	})
}

// within makes a transaction of the store's own.
func (s *Store) within(ctx context.Context, op string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, s.cfg.Pool, pgx.TxOptions{BeginQuery: s.cfg.begin()},
		func(tx pgx.Tx) error { return fn(ctx, tx) })
	return s.explain(op, err)
}

// explain adds to an error what was tried. Connections to a server that has become a standby go.
func (s *Store) explain(op string, err error) error {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, puddle.ErrClosedPool):
		return fmt.Errorf("readmodel: %s: %w", op, persistence.ErrClosed)
	case errors.As(err, &server) && server.Code == "25006":
		s.cfg.Pool.Reset()
		return fmt.Errorf("readmodel: %s: the server takes no writes; after a fail-over the primary is another one: "+
			"name all of them in the connection string, with target_session_attrs=read-write: %w", op, err)
	}
	return fmt.Errorf("readmodel: %s: %w", op, err)
}

// row is the row of a part.
type row struct {
	claim, handled, omitted int64
	place                   []byte
	at                      *int64
}

func (r *row) fields() []any { return []any{&r.claim, &r.place, &r.at, &r.handled, &r.omitted} }

func (r *row) progress() projection.Progress {
	p := projection.Progress{
		Offset: persistence.Offset(r.place), Handled: uint64(r.handled), Omitted: uint64(r.omitted),
	}
	if r.at != nil {
		p.At = time.UnixMicro(*r.at).UTC()
	}
	return p
}

func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

package readmodel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/projection/projectiontest"
)

func TestLaws(t *testing.T) {
	projectiontest.Run(t, func(t *testing.T) (a, b projection.Offsets) {
		schema := newSchema()
		return open(t, Config{Schema: schema}), open(t, Config{Schema: schema})
	})
}

func TestConfigFaults(t *testing.T) {
	for _, c := range []struct {
		config Config
		faults []string
	}{
		{Config{CallTimeout: -1, IdleMax: -1, Schema: "pg_x"}, []string{"Pool", "CallTimeout", "IdleMax", "Schema"}},
		{Config{Schema: strings.Repeat("x", 64), IdleMax: 25 * time.Hour}, []string{"Schema", "IdleMax"}},
		{Config{Schema: `a"b`}, []string{"Schema"}},
	} {
		_, err := Open(t.Context(), c.config)
		for _, f := range c.faults {
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), ": "+f) {
				t.Errorf("no word of %s: %v", f, err)
			}
		}
	}
	err := projection.Config[event]{Target: ExactlyOnce[event](nil, nil)}.Validate()
	for _, f := range []string{"Store of ExactlyOnce", "function of ExactlyOnce"} {
		if err == nil || !strings.Contains(err.Error(), f) {
			t.Errorf("no word of %s: %v", f, err)
		}
	}
}

// Several programs may make the schema at one time. What is in the way is refused, and left alone.
func TestOpen(t *testing.T) {
	schema := newSchema()
	pool := newPool(t, suite.Server(t).DSN())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := Open(t.Context(), Config{Pool: pool, Schema: schema}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := open(t, Config{Pool: pool, Schema: schema})
	exec(t, s, `COMMENT ON SCHEMA "`+schema+`" IS 'coterie projections, format 2'`)
	if _, err := Open(t.Context(), s.cfg); !errors.Is(err, persistence.ErrVersion) {
		t.Errorf("a newer format: %v", err)
	}
	exec(t, s, `COMMENT ON SCHEMA "`+schema+`" IS NULL`)
	if _, err := Open(t.Context(), s.cfg); !errors.Is(err, persistence.ErrForeign) {
		t.Errorf("tables of something else: %v", err)
	}
	exec(t, s, `CREATE SCHEMA "`+schema+` x"`)
	open(t, Config{Pool: pool, Schema: schema + " x"}) // an empty one may be prepared
	exec(t, s, `CREATE SCHEMA "`+schema+` y"; CREATE FUNCTION "`+schema+` y".one() RETURNS int LANGUAGE sql AS 'SELECT 1'`)
	if _, err := Open(t.Context(), Config{Pool: pool, Schema: schema + " y"}); !errors.Is(err, persistence.ErrForeign) {
		t.Errorf("functions of something else: %v", err)
	}
}

// An account that may create nothing uses what Migrate has made, with the rights that the documentation
// lists.
func TestPrepared(t *testing.T) {
	schema := newSchema()
	c := Config{Pool: newPool(t, suite.Server(t).DSN()), Schema: schema, Prepared: true}
	lacks := func(c Config, what string) {
		t.Helper()
		want := fmt.Sprintf("%q %s: call Migrate", schema, what)
		if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	lacks(c, "is not there, or is empty")
	if err := Migrate(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s := open(t, c)
	table := effects(t, s)
	exec(t, s, strings.NewReplacer("@", pgx.Identifier{schema}.Sanitize(), "ACCOUNT", "account_of_"+table).Replace(`
		CREATE ROLE ACCOUNT LOGIN;
		GRANT SELECT, INSERT ON `+table+` TO ACCOUNT;
		GRANT USAGE ON SEQUENCE `+table+`_n_seq TO ACCOUNT;
		GRANT USAGE ON SCHEMA @ TO ACCOUNT;
		GRANT SELECT, INSERT, UPDATE ON @.projections, @.parts TO ACCOUNT`))
	dsn := strings.Replace(suite.Server(t).DSN(), "user="+postgrestest.User, "user=account_of_"+table, 1)
	c.Pool = newPool(t, dsn)
	app := open(t, c)
	target := ExactlyOnce(app, insert(table))
	claim, at, err := target.Claim(t.Context(), "p", projection.Part{Of: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, handled := target.Handle(t.Context(), claim, batch(at, "e", 2))
	_, looked := app.Look(t.Context(), "p")
	err = errors.Join(handled, looked, app.Save(t.Context(), claim, at), app.Pause(t.Context(), "p", true),
		app.Reset(t.Context(), "p", 2, ""))
	if err != nil || count(t, s, table) != 2 {
		t.Errorf("%d effects, %v", count(t, s, table), err)
	}
	before := formats
	formats = append(formats[:len(formats):len(formats)], "CREATE TABLE @.next (id int);")
	defer func() { formats = before }()
	lacks(c, "has format 1, this program wants 2")
	c.Pool = s.cfg.Pool
	if err := Migrate(t.Context(), c); err != nil {
		t.Error(err)
	}
	open(t, c)
}

// A pool that was closed is told of as a closed store.
func TestClosedPool(t *testing.T) {
	s := open(t, Config{Schema: newSchema()})
	s.cfg.Pool.Close()
	_, _, claimed := s.Claim(t.Context(), "p", projection.Part{Of: 1})
	_, opened := Open(t.Context(), s.cfg)
	none, one := projection.Claim{}, batch(projection.Progress{}, "e", 1)
	_, handled := ExactlyOnce(s, insert("none")).Handle(t.Context(), none, one)
	saved := s.Save(t.Context(), none, one.After)
	for i, err := range []error{claimed, opened, handled, saved} {
		if !errors.Is(err, persistence.ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// A call waits for a connection, or a lock, no longer than CallTimeout.
func TestCallTimeout(t *testing.T) {
	s := open(t, Config{Schema: newSchema(), CallTimeout: 300 * time.Millisecond})
	c, _, err := s.Claim(t.Context(), "p", projection.Part{Of: 1})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.abandon(t.Context(), tx)
	if err := s.save(t.Context(), tx, c, projection.Progress{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, _, err := s.Claim(t.Context(), "p", projection.Part{Of: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("behind a lock: %v", err)
	}
	if d := time.Since(began); d < 250*time.Millisecond || d > 15*time.Second {
		t.Errorf("given up after %v", d)
	}
}

// The server ends a transaction whose process does nothing for IdleMax: then its part can be claimed.
func TestIdleMax(t *testing.T) {
	s := open(t, Config{Schema: newSchema(), IdleMax: 500 * time.Millisecond, CallTimeout: patience})
	table := effects(t, s)
	c, at, err := s.Claim(t.Context(), "p", projection.Part{Of: 1})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.abandon(t.Context(), tx)
	if _, err := tx.Exec(t.Context(), "INSERT INTO "+table+" (seq) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := s.save(t.Context(), tx, c, at); err != nil {
		t.Fatal(err)
	}
	// The process is paused here: it holds the row of the part.
	if _, _, err := s.Claim(t.Context(), "p", projection.Part{Of: 1}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("it has committed")
	}
	if n := count(t, s, table); n != 0 {
		t.Errorf("%d effects", n)
	}
}

func count(t testing.TB, s *Store, table string) (n int) {
	t.Helper()
	if err := s.cfg.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// After a pause nothing is committed, also by a handler that runs.
func TestPauseFences(t *testing.T) {
	s := open(t, Config{Schema: newSchema()})
	table := effects(t, s)
	c, at, err := s.Claim(t.Context(), "p", projection.Part{Of: 1})
	if err != nil {
		t.Fatal(err)
	}
	target := ExactlyOnce(s, func(ctx context.Context, tx pgx.Tx, e projection.Recorded[event]) error {
		if err := s.Pause(ctx, "p", true); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO "+table+" (seq) VALUES ($1)", e.Seq)
		return err
	})
	done, err := target.Handle(t.Context(), c, batch(at, "e", 1))
	if !errors.Is(err, projection.ErrFenced) || done != (projection.Outcome{}) || count(t, s, table) != 0 {
		t.Errorf("%+v, %v, %d effects", done, err, count(t, s, table))
	}
}

// A handler cannot end the transaction, go on after a failed statement, or leave rows open. Nothing of
// the batch is there then, except after a COMMIT as a statement, which no target can take back.
func TestRules(t *testing.T) {
	s := open(t, Config{Schema: newSchema()})
	table := effects(t, s)
	for name, c := range map[string]struct {
		last    func(ctx context.Context, tx pgx.Tx) error
		want    error
		effects int
	}{
		"commit":   {func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }, ErrEnded, 0},
		"rollback": {func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }, ErrEnded, 0},
		"statement": {func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "COMMIT")
			return err
		}, ErrEnded, 2},
		"ignored": {func(ctx context.Context, tx pgx.Tx) error {
			_, _ = tx.Exec(ctx, "SELECT 1/0")
			return nil
		}, ErrAborted, 0},
		"rows": {func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "SELECT generate_series(1, 100000)")
			rows.Next()
			return err
		}, ErrOpenRows, 0},
		"savepoint": {func(ctx context.Context, tx pgx.Tx) error {
			_ = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT 1/0")
				return err
			})
			return nil
		}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			exec(t, s, "TRUNCATE "+table)
			p, at, err := s.Claim(t.Context(), name, projection.Part{Of: 1})
			if err != nil {
				t.Fatal(err)
			}
			target := ExactlyOnce(s, func(ctx context.Context, tx pgx.Tx, e projection.Recorded[event]) error {
				if _, err := tx.Exec(ctx, "INSERT INTO "+table+" (seq) VALUES ($1)", e.Seq); err != nil || e.Seq == 1 {
					return err
				}
				return c.last(ctx, tx)
			})
			done, err := target.Handle(t.Context(), p, batch(at, "e", 2))
			if !errors.Is(err, c.want) || done.Saved != (c.want == nil) || count(t, s, table) != c.effects {
				t.Errorf("%+v, %v, %d effects", done, err, count(t, s, table))
			}
		})
	}
}

// What a store says names what was tried.
func TestErrors(t *testing.T) {
	s := open(t, Config{Schema: newSchema()})
	cfg := s.cfg.Pool.Config()
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r, err := Open(t.Context(), Config{Pool: pool, Schema: s.cfg.Schema})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Save(t.Context(), projection.Claim{}, projection.Progress{}); err == nil ||
		!strings.Contains(err.Error(), "target_session_attrs") {
		t.Error(err)
	}
	exec(t, s, `DROP SCHEMA "`+s.cfg.Schema+`" CASCADE`)
	_, _, err = s.Claim(t.Context(), "p", projection.Part{Of: 1})
	if err == nil || !strings.Contains(fmt.Sprint(err), "readmodel: claim") {
		t.Error(err)
	}
}

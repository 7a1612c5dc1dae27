package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
)

// refused opens a store, which must fail with an error of a kind that says all of this.
func refused(t *testing.T, c postgres.Config, kind error, says ...string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
}

// Programs that start at one time, on a server without the schema, find one store. Another schema
// is another store.
func TestConcurrentFirstStarts(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		all.Go(func() {
			s, err := postgres.Open(t.Context(), config(t, dsn, schema))
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
			_ = s.Close()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("one store is %q and %q", ids[0], id)
		}
	}
	if id := open(t, dsn, newSchema()).ID(); id == ids[0] {
		t.Error("two stores are", id)
	}
}

func TestWhatIsNotOurs(t *testing.T) {
	dsn := suite.Server(t).DSN()
	for name, c := range map[string]struct {
		sql  string
		want error
		says string
	}{
		"a table of another product": {`CREATE TABLE @.leases (id int)`, locks.ErrForeign, "something else"},
		"a function of another product": {
			`CREATE FUNCTION @.one() RETURNS int LANGUAGE sql AS 'SELECT 1'`, locks.ErrForeign, "something else",
		},
		"another product": {
			`CREATE TABLE @.meta (product text, format int, id text); INSERT INTO @.meta VALUES ('x', 1, '')`,
			locks.ErrForeign, `marked "x"`,
		},
		"no mark": {`CREATE TABLE @.meta (product text, format int, id text)`, locks.ErrForeign, `marked ""`},
		"a newer program": {
			`CREATE TABLE @.meta (product text, format int, id text);
			INSERT INTO @.meta VALUES ('coterie leases', 99, '')`, locks.ErrUnusable, "format 99, this program knows 1",
		},
		"no table": {
			`CREATE TABLE @.meta (product text, format int, id text);
			INSERT INTO @.meta VALUES ('coterie leases', 1, '')`, locks.ErrUnusable, "the table leases is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema()
			run(t, dsn, schema, "CREATE SCHEMA @; "+c.sql)
			refused(t, config(t, dsn, schema), c.want, schema, c.says)
		})
	}
}

// An account that may create nothing uses what another one has made, with the rights that the
// documentation lists.
func TestRights(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	run(t, dsn, schema, "CREATE ROLE @ LOGIN")
	c := config(t, strings.Replace(dsn, "user=postgres", "user="+schema, 1), schema)
	refused(t, c, locks.ErrUnusable, schema, "permission denied", "have an account that may create schemas")
	open(t, dsn, schema)
	refused(t, c, locks.ErrUnusable, schema, "permission denied", "grant this one the rights")
	run(t, dsn, schema, "GRANT USAGE ON SCHEMA @ TO @; GRANT SELECT ON @.meta TO @")
	refused(t, c, locks.ErrUnusable, schema, "lacks rights on it", "grant this one the rights")
	run(t, dsn, schema, "GRANT SELECT, INSERT, UPDATE ON @.leases TO @")
	acquired(t, openWith(t, c), "x", "ann")
}

func TestServersThatAreRefused(t *testing.T) {
	dsn := suite.Server(t).DSN()
	refused(t, config(t, dsn+" synchronous_commit=off", newSchema()), locks.ErrUnusable, "synchronous_commit is off")
	refused(t, config(t, dsn+" default_transaction_isolation=serializable", newSchema()), locks.ErrUnusable,
		"default_transaction_isolation is serializable")
	refused(t, config(t, dsn+" default_transaction_read_only=on", newSchema()), locks.ErrUnusable,
		"target_session_attrs=read-write")
	refused(t, config(t, "host=127.0.0.1 port=1 user=x dbname=y sslmode=disable", newSchema()), locks.ErrUnusable,
		"Config.Pool")
}

func TestConfigIsRefused(t *testing.T) {
	good := config(t, "host=127.0.0.1", "s")
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*postgres.Config){
		"Config.Pool is missing":       func(c *postgres.Config) { c.Pool = nil },
		"Config.Pool.MaxConns is 1":    func(c *postgres.Config) { c.Pool = c.Pool.Copy(); c.Pool.MaxConns = 1 },
		`Config.Schema "pg_x"`:         func(c *postgres.Config) { c.Schema = "pg_x" },
		"Config.TTL 1ms":               func(c *postgres.Config) { c.TTL = 1e6 },
		"Config.Timeout -1ns":          func(c *postgres.Config) { c.Timeout = -1 },
		"Config.Timeout 3s: want at m": func(c *postgres.Config) { c.TTL, c.Timeout = 5e9, 3e9 },
	} {
		c := good
		change(&c)
		if _, err := postgres.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

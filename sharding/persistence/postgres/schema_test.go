package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

func quoted(schema string) string { return pgx.Identifier{schema}.Sanitize() }

// Programs that start at one time, on a server without the schema, all find it.
func TestConcurrentFirstStarts(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := postgres.Open(t.Context(), config(t, dsn, schema))
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	all.Wait()
	open(t, schema)
}

func TestWhatIsNotOurs(t *testing.T) {
	dsn := suite.Server(t).DSN()
	for name, c := range map[string]struct {
		sql  string
		want error
	}{
		"tables of another product": {`CREATE TABLE @.users (id int)`, persistence.ErrForeign},
		"functions of another product": {
			`CREATE FUNCTION @.one() RETURNS int LANGUAGE sql AS 'SELECT 1'`, persistence.ErrForeign,
		},
		"types of another product": {`CREATE DOMAIN @.small AS int CHECK (VALUE < 9)`, persistence.ErrForeign},
		"a table of the same name": {`CREATE TABLE @.meta (id int)`, persistence.ErrForeign},
		"another product": {
			`CREATE TABLE @.meta (product text, format int); INSERT INTO @.meta VALUES ('x', 1)`,
			persistence.ErrForeign,
		},
		"no mark": {`CREATE TABLE @.meta (product text, format int)`, persistence.ErrForeign},
		"a newer program": {
			`CREATE TABLE @.meta (product text, format int);
			INSERT INTO @.meta VALUES ('coterie persistence', 99)`,
			persistence.ErrVersion,
		},
	} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema()
			exec(t, dsn, "CREATE SCHEMA "+quoted(schema)+"; "+strings.ReplaceAll(c.sql, "@", quoted(schema)))
			s, err := postgres.Open(t.Context(), config(t, dsn, schema))
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), schema) {
				t.Errorf("got %v, want %v that names the schema", err, c.want)
			}
		})
	}
}

// An account that may create nothing uses what Migrate has made, with the rights that the
// documentation lists.
func TestPrepared(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	c := config(t, dsn, schema)
	c.Prepared = true
	lacks := func(what string) {
		t.Helper()
		want := fmt.Sprintf("%q %s: call Migrate", schema, what)
		if _, err := postgres.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %s", err, want)
		}
	}
	lacks("is not there")
	exec(t, dsn, "CREATE SCHEMA "+quoted(schema))
	lacks("is empty")
	if err := postgres.Migrate(t.Context(), config(t, dsn, schema)); err != nil {
		t.Fatal(err)
	}
	exec(t, dsn, strings.NewReplacer("@", quoted(schema), "ACCOUNT", quoted("role of "+schema)).Replace(`
		CREATE ROLE ACCOUNT LOGIN;
		GRANT USAGE ON SCHEMA @ TO ACCOUNT;
		GRANT USAGE ON SEQUENCE @.hostings TO ACCOUNT;
		GRANT SELECT, UPDATE (era, started) ON @.meta TO ACCOUNT;
		GRANT SELECT, INSERT ON @.kinds TO ACCOUNT;
		GRANT SELECT, INSERT, UPDATE, DELETE ON @.fences, @.events, @.deletions, @.snapshots, @.states,
		  @.reminders, @.reminded TO ACCOUNT`))
	c.Pool.ConnConfig.User = "role of " + schema
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := hosting(1, 1)
	fence(t, s, h)
	store(t, s, h, write("a", 0, 1, "one", "two"))
	if err := s.Delete(t.Context(), h, "a", 1); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(load(t, s, h, "a")); got != "[two]" {
		t.Error(got)
	}
	r := s.Reminders("cart")
	remember(t, r, h.Token, 1, reminder("a", "n", 0))
	wantDue(t, r, h.Token, 1, "n")
	forget(t, r, h.Token, 1, reminder("a", "n", 0))
}

// A schema of an older program gets what it lacks, once, and keeps what it has. The older program refuses
// it then.
func TestMigrate(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	old := open(t, schema)
	store(t, old, hosting(1, 1), write("a", 0, 1, "one"))
	old.Close()
	restore := postgres.NextFormat("CREATE TABLE @.next (id int)")
	defer restore()
	prepared := config(t, dsn, schema)
	prepared.Prepared = true
	const lacks = "has format 2, this program wants 3"
	if _, err := postgres.Open(t.Context(), prepared); err == nil || !strings.Contains(err.Error(), lacks) {
		t.Errorf("before the migration: %v", err)
	}
	for range 2 {
		s := open(t, schema)
		if got := fmt.Sprint(load(t, s, hosting(1, 1), "a")); got != "[one]" {
			t.Errorf("after the migration there is %s", got)
		}
	}
	exec(t, dsn, "INSERT INTO "+quoted(schema)+".next VALUES (1)")
	restore()
	if _, err := postgres.Open(t.Context(), config(t, dsn, schema)); !errors.Is(err, persistence.ErrVersion) {
		t.Errorf("the older program: %v", err)
	}
}

// A schema of the first format, which had no reminders, keeps its events and gets a place for reminders.
func TestMigrateReminders(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	old, err := postgres.OpenFormat(t.Context(), config(t, dsn, schema), 1)
	if err != nil {
		t.Fatal(err)
	}
	store(t, old, hosting(1, 1), write("a", 0, 1, "one"))
	old.Close()
	s := open(t, schema)
	if got := fmt.Sprint(load(t, s, hosting(1, 1), "a")); got != "[one]" {
		t.Errorf("after the migration there is %s", got)
	}
	r := s.Reminders("cart")
	remember(t, r, hosting(1, 1).Token, 1, reminder("a", "n", 0))
	wantDue(t, open(t, schema).Reminders("cart"), hosting(1, 1).Token, 1, "n")
	if id := open(t, schema).Reminders("cart").ID(); id != r.ID() || id == open(t, newSchema()).Reminders("cart").ID() {
		t.Errorf("the ID is %q, and not that of the schema", id)
	}
	if typ := r.EntityType(); typ != "cart" {
		t.Errorf("the reminders are of %q", typ)
	}
}

// The error of a call that misses what was dropped advises what helps: Migrate alone does not.
func TestDropped(t *testing.T) {
	dsn := suite.Server(t).DSN()
	for what, drop := range map[string]string{
		"a table": "TABLE @.fences", "a function": "FUNCTION @.fence", "the schema": "SCHEMA @",
	} {
		t.Run(what, func(t *testing.T) {
			schema := newSchema()
			do := func(sql string) { exec(t, dsn, strings.ReplaceAll(sql, "@", quoted(schema))) }
			migrate := func() {
				if err := postgres.Migrate(t.Context(), config(t, dsn, schema)); err != nil {
					t.Fatal(err)
				}
			}
			s, h := open(t, schema), hosting(1, 1)
			advised := func() {
				err := s.Fence(t.Context(), h)
				if err == nil || !strings.Contains(err.Error(), "drop what is left of it, and call Migrate") {
					t.Errorf("the call without %s: %v", what, err)
				}
			}
			do("DROP " + drop + " CASCADE")
			advised()
			if what != "the schema" {
				migrate()
				advised()
			}
			do("DROP SCHEMA IF EXISTS @ CASCADE")
			migrate()
			fence(t, open(t, schema), h)
		})
	}
}

// A server that is set up to lose commits, or to look at the past, is refused.
func TestSettingsOfTheServer(t *testing.T) {
	for name, value := range map[string]string{
		"synchronous_commit": "off", "default_transaction_isolation": "repeatable read",
	} {
		c := config(t, suite.Server(t).DSN(), newSchema())
		c.Pool.ConnConfig.RuntimeParams[name] = value
		if _, err := postgres.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v", err)
		}
	}
}

func TestValidate(t *testing.T) {
	dsn := suite.Server(t).DSN()
	if err := config(t, dsn, "").Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []postgres.Config{
		{}, config(t, dsn, strings.Repeat("x", 64)), config(t, dsn, "a'b"), config(t, dsn, "pg_x"),
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%q: no fault", c.Schema)
		}
	}
}

// Each call of a store that was closed says so, once.
func TestClosed(t *testing.T) {
	s, h := open(t, newSchema()), hosting(1, 1)
	store(t, s, h, write("a", 0, 1, "x"))
	s.Close()
	_, appended := s.Append(t.Context(), h, []persistence.Write{write("a", 1, 2, "x")})
	_, loaded := s.Load(t.Context(), h, []persistence.Read{{Entity: "a"}}, nothing)
	_, held := s.Holds(t.Context(), h.Type)
	_, types := s.Types(t.Context())
	r := s.Reminders("cart")
	_, _, due := r.Due(t.Context(), h.Token, 1, noon, 1)
	_, of := r.Of(t.Context(), h.Token, 1, "a")
	updated := r.Update(t.Context(), h.Token, 1, 1, []remind.Change{{Reminder: reminder("a", "n", 0)}})
	r.Watch(func(protocol.ShardID, bool) { t.Error("a closed store tells") })()
	_, counted := r.Count(t.Context())
	errs := []error{due, of, updated, counted}
	errs = append(errs, s.Fence(t.Context(), h), appended, loaded, s.Delete(t.Context(), h, "a", 1), held, types)
	for _, live := range []bool{false, true} {
		q := all()
		q.Live = live
		for _, err := range s.Events(t.Context(), q) {
			errs = append(errs, err)
		}
	}
	if len(errs) != 12 {
		t.Errorf("%d errors", len(errs))
	}
	for i, err := range errs {
		if !errors.Is(err, persistence.ErrClosed) || strings.Count(err.Error(), "closed") != 1 {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

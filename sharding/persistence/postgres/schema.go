package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/sharding/persistence"
)

const (
	product   = "coterie persistence" // marks a schema as ours
	serverMin = 130000                // the first server with pg_current_xact_id
)

//go:embed schema.sql
var format1 string

//go:embed reminders.sql
var format2 string

// migrations lead from each format to the next one, from none to the first.
var migrations = []string{format1, format2}

const createMeta = `
CREATE TABLE @.meta (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  product text    NOT NULL,
  format  int     NOT NULL,
  -- The run of the server that has stored the last event: its number, and when it was started.
  era     bigint      NOT NULL,
  started timestamptz NOT NULL
)`

// inSchema writes the name of a schema into a statement.
func inSchema(text, schema string) string {
	return strings.ReplaceAll(text, "@", pgx.Identifier{schema}.Sanitize())
}

// checkServer refuses servers that cannot keep the promises of the port.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var commit, isolation string
	err := conn.QueryRow(ctx, `
SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'),
  current_setting('default_transaction_isolation')`).Scan(&version, &commit, &isolation)
	switch {
	case err != nil:
		return err
	case version < serverMin:
		return fmt.Errorf("the server has version %d, want at least %d", version, serverMin)
	case commit == "off":
		return errors.New("synchronous_commit is off, so that a crash of the server loses commits: " +
			"set it to on for this account or database")
	case isolation != "read committed":
		return fmt.Errorf("default_transaction_isolation is %s: set it to read committed for this account", isolation)
	}
	return nil
}

// found is what a schema holds.
type found struct {
	exists, empty, ours bool
	format              int
}

// current reports whether nothing remains to do.
func (f found) current() bool { return f.ours && f.format == len(migrations) }

// lack says why a schema is not current.
func (f found) lack() string {
	switch {
	case !f.exists:
		return "is not there"
	case !f.ours:
		return "is empty"
	}
	return fmt.Sprintf("has format %d, this program wants %d", f.format, len(migrations))
}

// install brings a schema to the format of this program. It works under a lock, so that of several
// programs one does it.
func install(ctx context.Context, conn *pgx.Conn, schema string, look bool) error {
	f, err := inspect(ctx, conn, schema)
	if err != nil || f.current() {
		return err
	}
	if look {
		return fmt.Errorf("the schema %q %s: call Migrate, with an account that may change it", schema, f.lack())
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		lock := int64(xxh3.HashString(product + " " + schema))
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
			return err
		}
		f, err := inspect(ctx, tx.Conn(), schema)
		if err != nil {
			return err
		}
		return migrate(ctx, tx, schema, f)
	})
}

func migrate(ctx context.Context, tx pgx.Tx, schema string, f found) error {
	run := func(text string) error {
		// The simple protocol takes several statements.
		_, err := tx.Conn().PgConn().Exec(ctx, inSchema(text, schema)).ReadAll()
		return err
	}
	if !f.exists {
		if err := run("CREATE SCHEMA @"); err != nil {
			return err
		}
	}
	if !f.ours {
		row := "; INSERT INTO @.meta VALUES (true, '" + product + "', 0, 0, '-infinity')"
		if err := run(createMeta + row); err != nil {
			return err
		}
	}
	for _, text := range migrations[f.format:] {
		if err := run(text); err != nil {
			return err
		}
	}
	return run(fmt.Sprintf("UPDATE @.meta SET format = %d", len(migrations)))
}

// inspect looks at a schema. It fails with ErrForeign or ErrVersion if this program must not touch
// it.
func inspect(ctx context.Context, conn *pgx.Conn, schema string) (f found, err error) {
	var columns int
	err = conn.QueryRow(ctx, `
SELECT n.oid IS NOT NULL, NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid)
    AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typnamespace = n.oid)
    AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid),
  (SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = n.oid AND c.relname = 'meta' AND a.attname IN ('product', 'format'))
FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = $1`, schema).Scan(&f.exists, &f.empty, &columns)
	if err != nil || !f.exists || f.empty {
		return f, err
	}
	if columns != 2 {
		return f, fmt.Errorf("the schema %q: %w", schema, persistence.ErrForeign)
	}
	var mark string
	err = conn.QueryRow(ctx, inSchema("SELECT product::text, format::int FROM @.meta", schema)).Scan(&mark, &f.format)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && mark != product:
		return f, fmt.Errorf("the schema %q is marked %q: %w", schema, mark, persistence.ErrForeign)
	case err != nil:
		return f, err
	case f.format > len(migrations):
		return f, fmt.Errorf("the schema %q has format %d, this program knows %d: %w",
			schema, f.format, len(migrations), persistence.ErrVersion)
	}
	f.ours = true
	return f, nil
}

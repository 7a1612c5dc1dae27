package postgres

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/ddata/locks"
)

const (
	product   = "coterie leases" // marks a schema as ours
	format    = 1                // of the schema
	serverMin = 130000           // the oldest server that the tests of the tree are meant for
)

//go:embed schema.sql
var tables string

const meta = `
CREATE TABLE @.meta (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  product text    NOT NULL,
  format  int     NOT NULL,
  id      text    NOT NULL
);
INSERT INTO @.meta (product, format, id) VALUES ('%s', %d, '%s');
`

// in writes the name of the schema into a statement.
func (s *Store) in(text string) string {
	return strings.ReplaceAll(text, "@", pgx.Identifier{s.cfg.Schema}.Sanitize())
}

// prepare looks at the server and the schema, makes the schema if it is missing, and reads its id.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) error {
	if err := s.checkServer(ctx, conn); err != nil {
		return err
	}
	_, made, err := s.inspect(ctx, conn)
	if err == nil && !made {
		if err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.create(ctx, tx) }); err == nil {
			_, _, err = s.inspect(ctx, conn)
		}
	}
	if err != nil {
		return err
	}
	return s.checkRights(ctx, conn)
}

// checkServer refuses servers that cannot keep the promises of the port.
func (s *Store) checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var commit, isolation string
	err := conn.QueryRow(ctx, `
SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'),
  current_setting('default_transaction_isolation')`).Scan(&version, &commit, &isolation)
	switch {
	case err != nil:
		return err
	case version < serverMin:
		return s.refuse(locks.ErrUnusable, fmt.Sprintf("the server has version %d", version),
			fmt.Sprintf("use one of at least %d", serverMin))
	case commit == "off":
		return s.refuse(locks.ErrUnusable, "synchronous_commit is off, so that a crash of the server loses leases",
			"set it to on for the account of Config.Pool")
	case isolation != "read committed":
		return s.refuse(locks.ErrUnusable, "default_transaction_isolation is "+isolation,
			"set it to read committed for the account of Config.Pool")
	}
	return nil
}

// create makes the schema under a lock, so that of several programs one does it.
func (s *Store) create(ctx context.Context, tx pgx.Tx) error {
	h := fnv.New64a()
	h.Write([]byte(product + " " + s.cfg.Schema))
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(h.Sum64())); err != nil {
		return err
	}
	exists, made, err := s.inspect(ctx, tx.Conn())
	if made || err != nil {
		return err
	}
	id := make([]byte, 16)
	rand.Read(id)
	text := fmt.Sprintf(meta, product, format, hex.EncodeToString(id)) + tables
	if !exists {
		text = "CREATE SCHEMA @;" + text
	}
	_, err = tx.Conn().PgConn().Exec(ctx, s.in(text)).ReadAll() // the simple protocol takes several statements
	return err
}

// inspect reports whether the schema is there, and made by this package, and reads its id. It
// refuses one that this program must not touch.
func (s *Store) inspect(ctx context.Context, conn *pgx.Conn) (exists, made bool, err error) {
	var empty bool
	var columns int
	err = conn.QueryRow(ctx, `
SELECT n.oid IS NOT NULL, NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid)
    AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typnamespace = n.oid)
    AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid),
  (SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = n.oid AND c.relname = 'meta' AND a.attname IN ('product', 'format', 'id'))
FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = $1`, s.cfg.Schema).Scan(&exists, &empty, &columns)
	if err != nil || !exists || empty {
		return exists, false, err
	}
	const remedy = "name another schema in Config.Schema; one that is missing or empty is filled"
	if columns != 3 {
		return exists, false, s.refuse(locks.ErrForeign, "it holds something else", remedy)
	}
	var mark string
	var found int
	err = conn.QueryRow(ctx, s.in("SELECT product::text, format::int, id::text FROM @.meta")).Scan(&mark, &found, &s.id)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && mark != product:
		return exists, false, s.refuse(locks.ErrForeign, fmt.Sprintf("it is marked %q", mark), remedy)
	case err != nil:
		return exists, false, err
	case found != format:
		detail := fmt.Sprintf("it has format %d, this program knows %d", found, format)
		return exists, false, s.refuse(locks.ErrUnusable, detail,
			"run the version of the program that the other nodes have, or name another schema in Config.Schema")
	}
	return true, true, nil
}

// checkRights finds out early whether leases can be acquired.
func (s *Store) checkRights(ctx context.Context, conn *pgx.Conn) error {
	var may bool
	err := conn.QueryRow(ctx, `
SELECT coalesce(bool_and(has_table_privilege(c.oid, r)), false)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, unnest('{SELECT,INSERT,UPDATE}'::text[]) r
WHERE n.nspname = $1 AND c.relname = 'leases'`, s.cfg.Schema).Scan(&may)
	if err == nil && !may {
		return s.refuse(locks.ErrUnusable, "the table leases is missing, or the account lacks rights on it",
			permissionRemedy)
	}
	return err
}

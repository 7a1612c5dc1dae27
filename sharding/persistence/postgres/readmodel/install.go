package readmodel

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// product marks a schema as ours, in its comment, with the format.
const product = "coterie projections, format "

//go:embed schema.sql
var format1 string

// formats lead from each format to the next one, from none to the first.
var formats = []string{format1}

// install makes the schema, or brings it to the format of this program, unless it shall only look. It
// works under a lock, so that of several programs one does it.
func install(ctx context.Context, pool *pgxpool.Pool, schema string, look bool) error {
	found, err := inspect(ctx, pool, schema)
	switch {
	case err != nil || found == len(formats):
		return err
	case look:
		lack := "is not there, or is empty"
		if found > 0 {
			lack = fmt.Sprintf("has format %d, this program wants %d", found, len(formats))
		}
		return fmt.Errorf("the schema %q %s: call Migrate, with an account that may change it", schema, lack)
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		lock := int64(xxh3.HashString(product + schema))
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
			return err
		}
		found, err := inspect(ctx, tx, schema)
		if err != nil {
			return err
		}
		name := pgx.Identifier{schema}.Sanitize()
		text := "CREATE SCHEMA IF NOT EXISTS @;" + strings.Join(formats[found:], "\n") +
			fmt.Sprintf("COMMENT ON SCHEMA @ IS '%s%d'", product, len(formats))
		_, err = tx.Conn().PgConn().Exec(ctx, strings.ReplaceAll(text, "@", name)).ReadAll()
		return err
	})
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// inspect returns the format of a schema, 0 if it is empty or not there.
func inspect(ctx context.Context, q querier, schema string) (format int, err error) {
	var empty bool
	var comment string
	err = q.QueryRow(ctx, `
SELECT NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid)
    AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typnamespace = n.oid)
    AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid),
  COALESCE(obj_description(n.oid, 'pg_namespace'), '')
FROM pg_namespace n WHERE n.nspname = $1`, schema).Scan(&empty, &comment)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text, ours := strings.CutPrefix(comment, product)
	if ours {
		_, err = fmt.Sscan(text, &format)
	}
	switch {
	case empty && comment == "":
		return 0, nil
	case !ours || err != nil:
		return 0, fmt.Errorf("the schema %q, marked %q: %w", schema, comment, persistence.ErrForeign)
	case format > len(formats):
		return 0, fmt.Errorf("the schema %q has format %d, this program knows %d: %w", schema, format, len(formats),
			persistence.ErrVersion)
	}
	return format, nil
}

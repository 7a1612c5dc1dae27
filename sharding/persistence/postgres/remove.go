package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// errShared is a mistake of the caller's.
var errShared = errors.New("postgres: a type is removed by a store that was opened with Config.Alone")

const kindOfType = `SELECT k.id FROM @.kinds k WHERE k.name = $1`

const countsOfType = `
SELECT (SELECT count(*) FROM @.fences x WHERE x.kind = k.id), (SELECT count(*) FROM @.events x WHERE x.kind = k.id),
  (SELECT count(*) FROM @.snapshots x WHERE x.kind = k.id),
  (SELECT count(*) FROM @.states x WHERE x.kind = k.id AND NOT x.deleted)
FROM @.kinds k WHERE k.name = $1`

const typesOfStore = `SELECT k.name FROM @.kinds k ORDER BY k.name`

// Types returns the names of all types that have ever written, in order. A type that was removed is one.
func (s *Store) Types(ctx context.Context) (names []string, err error) {
	rows, err := s.pool.Query(ctx, s.sql.types)
	if err == nil {
		names, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
			var name []byte
			err := r.Scan(&name)
			return string(name), err
		})
	}
	return names, explain("types", err)
}

// removals delete the rows of a kind.
func removals(in func(string) string) (sql []string) {
	for _, table := range []string{"events", "deletions", "snapshots", "states", "reminders", "reminded", "fences"} {
		sql = append(sql, in("DELETE FROM @."+table+" WHERE kind = $1"))
	}
	return sql
}

// Holds implements persistence.Remover.
func (s *Store) Holds(ctx context.Context, typ string) (persistence.Held, error) {
	held, err := s.holds(ctx, s.pool, typ)
	return held, explain(fmt.Sprintf("count of %q", typ), err)
}

func (s *Store) holds(ctx context.Context, by rower, typ string) (h persistence.Held, err error) {
	err = by.QueryRow(ctx, s.sql.holds, []byte(typ)).Scan(&h.Shards, &h.Events, &h.Snapshots, &h.States)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return h, err
}

// Remove implements persistence.Remover. The store must have been opened with Config.Alone.
func (s *Store) Remove(ctx context.Context, typ string) (held persistence.Held, err error) {
	if !s.alone {
		return held, errShared
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if held, err = s.holds(ctx, tx, typ); err != nil {
			return err
		}
		var kind int
		switch err := tx.QueryRow(ctx, s.sql.kind, []byte(typ)).Scan(&kind); {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		for _, sql := range s.sql.remove {
			if _, err := tx.Exec(ctx, sql, kind); err != nil {
				return err
			}
		}
		return nil
	})
	return held, explain(fmt.Sprintf("removal of %q", typ), err)
}

const countReminders = `
SELECT count(*) FROM @.reminders x WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND x.shard < $2`

// Count returns how many reminders there are in the shards of entities. It looks at all of them.
func (r *Reminders) Count(ctx context.Context) (n int64, err error) {
	err = r.s.pool.QueryRow(ctx, r.s.sql.countReminders, []byte(r.typ), protocol.ShardsMax).Scan(&n)
	return n, explain(fmt.Sprintf("count of %q", r.typ), err)
}

// Remove forgets the reminders, and the tokens of their hostings, while all nodes of the type are stopped. It
// returns how many there were. The Store must have been opened with Config.Alone.
func (r *Reminders) Remove(ctx context.Context) (n int64, err error) {
	if n, err = r.Count(ctx); err == nil {
		_, err = r.s.Remove(ctx, r.typ)
	}
	return n, err
}

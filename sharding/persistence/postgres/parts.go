package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// split puts the elements of a call into parts, each for one statement: at least one part, and the
// indices of its elements in each. It refuses the elements above a limit. check returns the bytes of
// an element.
func split[E any](elements []E, check func(E) (size int, err error)) (parts [][]int, refused []persistence.Refusal) {
	part, bytes := []int{}, 0
	for i, e := range elements {
		size, err := check(e)
		if err != nil {
			refused = append(refused, persistence.Refusal{Index: i, Err: err})
			continue
		}
		if bytes > 0 && bytes+size > statementBytes {
			parts, part, bytes = append(parts, part), []int{}, 0
		}
		part, bytes = append(part, i), bytes+size
	}
	return append(parts, part), refused
}

// rower is a pool, a connection or a transaction.
type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// querier is a pool or a transaction.
type querier interface {
	rower
	// with calls f with a connection, which it has until f returns.
	with(ctx context.Context, f func(*pgx.Conn) error) error
}

type pooled struct{ *pgxpool.Pool }

func (p pooled) with(ctx context.Context, f func(*pgx.Conn) error) error {
	return p.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return f(c.Conn()) })
}

type inTransaction struct{ pgx.Tx }

func (t inTransaction) with(_ context.Context, f func(*pgx.Conn) error) error { return f(t.Conn()) }

// save makes a call that writes: one statement, or several in a transaction, so that one that is
// fenced has no effect. f makes the statement of a part, and returns the numbers in it, from 1, of
// the elements that are in conflict; refuse says why.
func (s *Store) save(
	ctx context.Context, op string, h persistence.Hosting, parts [][]int, refused []persistence.Refusal,
	f func(q querier, part []int) (entered *int64, conflicts []int32, err error), refuse func(i int) error,
) ([]persistence.Refusal, error) {
	all := refused
	one := func(q querier, part []int) (*int64, error) {
		entered, conflicts, err := f(q, part)
		for _, n := range conflicts {
			all = append(all, persistence.Refusal{Index: part[n-1], Err: refuse(part[n-1])})
		}
		return entered, err
	}
	err := s.enter(ctx, op, h, func() (entered *int64, err error) {
		all = slices.Clone(refused)
		if len(parts) == 1 {
			return one(pooled{s.pool}, parts[0])
		}
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			for _, part := range parts {
				if entered, err = one(inTransaction{tx}, part); err != nil || entered == nil || *entered < 0 {
					return err
				}
			}
			return nil
		})
		return entered, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b persistence.Refusal) int { return a.Index - b.Index })
	return all, nil
}

// values are the columns that events, snapshots and states have in common.
type values struct {
	sums summer

	entity, name, tags, body pgtype.FlatArray[[]byte]
	version, at, sum         pgtype.FlatArray[int64]
}

func (v *values) add(r row) {
	v.entity, v.name = append(v.entity, r.entity), append(v.name, r.name)
	v.tags, v.body = append(v.tags, r.tags), append(v.body, r.body)
	v.version, v.at = append(v.version, r.version), append(v.at, r.at)
	v.sum = append(v.sum, v.sums.sum(r))
}

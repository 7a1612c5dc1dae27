package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// SaveSnapshots stores snapshots. See persistence.Snapshots.
func (s *Store) SaveSnapshots(
	ctx context.Context, h persistence.Hosting, snapshots []persistence.Snapshot,
) (refused []persistence.Refusal, err error) {
	if err := persistence.CheckCall(h, len(snapshots)); err != nil {
		return nil, err
	}
	parts, refused := split(snapshots, func(sn persistence.Snapshot) (int, error) {
		return len(sn.Body), firstOf(checkEntity(sn.Entity, sn.Seq), sn.Check())
	})
	return s.save(ctx, "save snapshots", h, parts, refused,
		func(q querier, part []int) (entered *int64, _ []int32, err error) {
			v, seq := values{sums: newSummer()}, make(pgtype.FlatArray[int64], 0, len(part))
			for _, i := range part {
				sn := &snapshots[i]
				seq = append(seq, int64(sn.Seq))
				v.add(row{
					entity: []byte(sn.Entity), name: []byte(sn.Name), body: whole(sn.Body),
					seq: int64(sn.Seq), version: int64(sn.Version), at: sn.At.UnixMicro(),
				})
			}
			err = q.QueryRow(ctx, s.sql.saveSnapshots,
				entry(ctx, h, v.entity, seq, v.name, v.version, v.at, v.body, v.sum)...).Scan(&entered)
			return entered, nil, err
		}, nil)
}

// loadSnapshots has a row for each read, in their order: the subqueries depend on it.
const loadSnapshots = `
SELECT ` + fenced + `, r.i, x.seq, x.name, x.version, x.at, NULL::bytea, x.body, x.sum, false, 0
FROM unnest($4::bytea[], $5::bigint[]) WITH ORDINALITY AS r (entity, below, i)
LEFT JOIN LATERAL (
  SELECT x.* FROM @.snapshots x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND x.entity = r.entity AND x.seq < r.below
    ORDER BY x.seq DESC LIMIT 1) x ON true`

// LoadSnapshots calls each for the newest snapshots of entities. See persistence.Snapshots.
func (s *Store) LoadSnapshots(
	ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(int, persistence.Snapshot) error,
) error {
	entities, below := make(pgtype.FlatArray[[]byte], len(reads)), make(pgtype.FlatArray[int64], len(reads))
	for i, r := range reads {
		entities[i], below[i] = []byte(r.Entity), math.MaxInt64
		if r.Below > 0 {
			below[i] = int64(min(r.Below, math.MaxInt64))
		}
	}
	sums := newSummer()
	return s.loadValues(ctx, "load snapshots", s.sql.loadSnapshots, h, []any{entities, below},
		func(i int, v value) error {
			if !v.found {
				return nil
			}
			sn := persistence.Snapshot{
				Entity: reads[i].Entity, Seq: uint64(v.seq), Name: string(v.name), Version: uint32(v.version),
				Body: v.body, At: fromMicros(v.at),
			}
			if v.entity = []byte(sn.Entity); sums.sum(v.row) != v.sum {
				sn.Body = nil
			}
			return each(i, sn)
		})
}

// DeleteSnapshots forgets snapshots of an entity. See persistence.Snapshots.
func (s *Store) DeleteSnapshots(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return s.forget(ctx, "delete snapshots", s.sql.forgetSnapshots, h, id, upTo)
}

// value is a row of snapshots or states.
type value struct {
	row
	found   bool
	sum     int64
	deleted bool
}

// loadValues runs a statement with at most one row for each read. The error of each ends the call.
func (s *Store) loadValues(
	ctx context.Context, op, sql string, h persistence.Hosting, arguments []any, each func(int, value) error,
) error {
	if err := checkHosting(h); err != nil {
		return err
	}
	var broken error
	err := s.repeat(ctx, op, h, func() error {
		all := append([]any{[]byte(h.Type), int64(h.Shard), h.Token.Bytes()}, arguments...)
		rows, err := s.pool.Query(ctx, sql, all...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() && broken == nil {
			i, v, err := scanValue(rows)
			if err != nil {
				return err
			}
			broken = each(i, v)
		}
		if broken != nil {
			return nil
		}
		return rows.Err()
	})
	return firstOf(err, broken)
}

func scanValue(rows pgx.Rows) (i int, v value, err error) {
	var passed bool
	var number int64
	var seq, version, at, sum, flags *int64
	var deleted *bool
	var name, tags, body pgtype.DriverBytes
	err = rows.Scan(&passed, &number, &seq, &name, &version, &at, &tags, &body, &sum, &deleted, &flags)
	if err == nil && passed {
		err = persistence.ErrFenced
	}
	if err != nil || seq == nil {
		return int(number - 1), v, err
	}
	v = value{found: true, sum: *sum, deleted: *deleted}
	v.row = row{name: name, tags: tags, body: whole(body), seq: *seq, version: *version, at: *at, flags: *flags}
	return int(number - 1), v, nil
}

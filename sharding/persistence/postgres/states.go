package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// SaveStates replaces the values of entities. See persistence.States.
func (s *Store) SaveStates(
	ctx context.Context, h persistence.Hosting, writes []persistence.StateWrite,
) (refused []persistence.Refusal, err error) {
	if err := persistence.CheckCall(h, len(writes)); err != nil {
		return nil, err
	}
	parts, refused := split(writes, func(w persistence.StateWrite) (int, error) {
		return len(w.State.Body), firstOf(checkEntity(w.Entity, w.After), w.Check())
	})
	return s.save(ctx, "save states", h, parts, refused,
		func(q querier, part []int) (entered *int64, conflicts []int32, err error) {
			c := newStateColumns(writes, part)
			err = q.QueryRow(ctx, s.sql.saveStates, c.arguments(ctx, h)...).Scan(&entered, &conflicts)
			return entered, conflicts, err
		},
		func(i int) error { return conflict(writes[i].Entity, writes[i].After) })
}

// stateColumns are the columns of what one statement saves.
type stateColumns struct {
	after, id pgtype.FlatArray[int64]
	deleted   pgtype.FlatArray[bool]
	values    values
}

func newStateColumns(writes []persistence.StateWrite, part []int) *stateColumns {
	c := &stateColumns{values: values{sums: newSummer()}}
	for _, i := range part {
		w, v := &writes[i], writes[i].Stored()
		c.after, c.id = append(c.after, int64(w.After)), append(c.id, int64(w.ID))
		c.deleted = append(c.deleted, v.Deleted)
		c.values.add(row{
			entity: []byte(w.Entity), name: []byte(v.Name), tags: appendTags(v.Tags), body: whole(v.Body),
			seq: int64(v.Revision), version: int64(v.Version), at: v.At.UnixMicro(), flags: deletedFlag(v.Deleted),
		})
	}
	return c
}

func (c *stateColumns) arguments(ctx context.Context, h persistence.Hosting) []any {
	v := &c.values
	return entry(ctx, h, v.entity, c.after, c.id, c.deleted, v.name, v.version, v.at, v.tags, v.body, v.sum)
}

func deletedFlag(deleted bool) int64 {
	if deleted {
		return 1
	}
	return 0
}

// loadStates has a row for each id, in their order: the subqueries depend on it.
const loadStates = `
SELECT ` + fenced + `, r.i, x.revision, x.name, x.version, x.at, x.tags, x.body, x.sum, x.deleted, x.deleted::int::bigint
FROM unnest($4::bytea[]) WITH ORDINALITY AS r (entity, i)
LEFT JOIN LATERAL (
  SELECT x.* FROM @.states x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND x.entity = r.entity LIMIT 1) x ON true`

// LoadStates calls each for the values of entities. See persistence.States.
func (s *Store) LoadStates(
	ctx context.Context, h persistence.Hosting, ids []protocol.EntityID, each func(int, persistence.State) error,
) error {
	entities := make(pgtype.FlatArray[[]byte], len(ids))
	for i, id := range ids {
		entities[i] = []byte(id)
	}
	sums := newSummer()
	var damage []error
	err := s.loadValues(ctx, "load states", s.sql.loadStates, h, []any{entities}, func(i int, v value) error {
		if !v.found {
			return nil
		}
		state, err := stateOf(ids[i], v, sums)
		if err != nil {
			damage = append(damage, err)
			return nil
		}
		return each(i, state)
	})
	return firstOf(err, errors.Join(damage...))
}

// stateOf makes a value of a row, and compares its checksum.
func stateOf(id protocol.EntityID, v value, sums summer) (persistence.State, error) {
	if v.entity = []byte(id); sums.sum(v.row) != v.sum {
		return persistence.State{}, damaged(id, v.seq, "the checksum of the state is wrong")
	}
	tags, err := readTags(v.tags)
	if err != nil {
		return persistence.State{}, damaged(id, v.seq, err.Error())
	}
	return persistence.State{
		Revision: uint64(v.seq), Deleted: v.deleted, Name: string(v.name), Version: uint32(v.version),
		Body: v.body, Tags: tags, At: fromMicros(v.at),
	}, nil
}

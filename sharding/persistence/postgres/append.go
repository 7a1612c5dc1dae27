package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Append appends writes to the histories of their entities. See persistence.Journal.
func (s *Store) Append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	if err := persistence.CheckCall(h, len(writes)); err != nil {
		return nil, err
	}
	parts, refused := split(writes, checkWrite)
	defer s.announcer.announce()
	first := int32(0) // the number of the events of earlier statements; a repeated one need not begin again
	alone := len(parts) > 1
	return s.save(ctx, "append", h, parts, refused,
		func(q querier, part []int) (entered *int64, conflicts []int32, err error) {
			if !alone {
				alone = true
				if entered, conflicts, ok := s.joint.append(ctx, h, writes, part); ok {
					return entered, conflicts, nil
				}
			}
			c := newAppendColumns()
			for _, i := range part {
				c.add(writes[i])
			}
			err = q.QueryRow(ctx, s.sql.append, c.arguments(ctx, h, first)...).Scan(&entered, &conflicts)
			first += int32(len(c.of))
			return entered, conflicts, err
		},
		func(i int) error { return conflict(writes[i].Entity, writes[i].After) })
}

// appendColumns are the columns of what one statement appends.
type appendColumns struct {
	entity    pgtype.FlatArray[[]byte] // of each write
	after, id pgtype.FlatArray[int64]
	count     pgtype.FlatArray[int32]

	of     pgtype.FlatArray[int32] // of each event: the number of its write, from 1
	slice  pgtype.FlatArray[int16]
	seq    pgtype.FlatArray[int64]
	events values
}

func newAppendColumns() *appendColumns { return &appendColumns{events: values{sums: newSummer()}} }

func (c *appendColumns) add(w persistence.Write) {
	entity, slice := []byte(w.Entity), int16(persistence.SliceOf(string(w.Entity)))
	c.entity = append(c.entity, entity)
	c.after, c.id = append(c.after, int64(w.After)), append(c.id, int64(w.ID))
	c.count = append(c.count, int32(len(w.Events)))
	for i, e := range w.Events {
		seq := int64(w.After) + int64(i) + 1
		c.of = append(c.of, int32(len(c.entity)))
		c.slice, c.seq = append(c.slice, slice), append(c.seq, seq)
		c.events.add(row{
			entity: entity, name: []byte(e.Name), tags: appendTags(e.Tags), body: whole(e.Body),
			seq: seq, version: int64(e.Version), at: e.At.UnixMicro(),
		})
	}
}

func (c *appendColumns) arguments(ctx context.Context, h persistence.Hosting, first int32) []any {
	return entry(ctx, h, append([]any{first}, c.all()...)...)
}

// all are the columns, as the functions of the schema take them.
func (c *appendColumns) all() []any {
	e := &c.events
	return []any{
		c.entity, c.after, c.id, c.count,
		c.of, e.entity, c.slice, c.seq, e.name, e.version, e.at, e.tags, e.body, e.sum,
	}
}

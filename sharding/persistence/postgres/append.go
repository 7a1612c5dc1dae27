package postgres

import (
	"context"
	"errors"
	"fmt"

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
	defer s.eventNews.announce()
	first := int32(0) // the number of the events of earlier statements; a repeated one need not begin again
	alone := len(parts) > 1
	var lost error
	refused, err = s.save(ctx, "append", h, parts, refused,
		func(q querier, part []int) (entered *int64, conflicts []int32, err error) {
			if !alone {
				alone = true
				m := s.joint.append(ctx, h, writes, part)
				if m.ok {
					return m.entered, m.conflicts, nil
				}
				lost = m.lost
			}
			c := newAppendColumns()
			c.add(h, writes, part)
			var all []*int64
			err = q.QueryRow(ctx, s.sql.append, c.arguments(lockWait(ctx), false, first)...).Scan(&all, &conflicts)
			first += int32(len(c.of))
			if len(all) == 1 {
				entered = all[0]
			}
			return entered, conflicts, err
		},
		func(i int) error { return conflict(writes[i].Entity, writes[i].After) })
	if lost != nil && errors.Is(err, persistence.ErrFenced) { // which would say that nothing was stored
		err = fmt.Errorf("postgres: the writes may be stored: the answer was lost (%w), and then: %v", lost, err)
	}
	return refused, err
}

// appendColumns are the columns of what one statement appends.
type appendColumns struct {
	typ, token pgtype.FlatArray[[]byte] // of each hosting
	shard      pgtype.FlatArray[int64]

	by        pgtype.FlatArray[int32] // of each write: the number of its hosting, from 1
	entity    pgtype.FlatArray[[]byte]
	after, id pgtype.FlatArray[int64]
	count     pgtype.FlatArray[int32]

	of     pgtype.FlatArray[int32] // of each event: the number of its write, from 1
	slice  pgtype.FlatArray[int16]
	seq    pgtype.FlatArray[int64]
	events values
}

func newAppendColumns() *appendColumns { return &appendColumns{events: values{sums: newSummer()}} }

// add adds some of the writes of a hosting.
func (c *appendColumns) add(h persistence.Hosting, writes []persistence.Write, part []int) {
	c.typ, c.token = append(c.typ, []byte(h.Type)), append(c.token, h.Token.Bytes())
	c.shard = append(c.shard, int64(h.Shard))
	for _, i := range part {
		c.by = append(c.by, int32(len(c.typ)))
		c.write(writes[i])
	}
}

func (c *appendColumns) write(w persistence.Write) {
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

// arguments are the columns as the function of the schema takes them. wait is for a lock, in milliseconds.
// first is the number of the first event in its transaction.
func (c *appendColumns) arguments(wait int32, joint bool, first int32) []any {
	e := &c.events
	return []any{
		c.typ, c.shard, c.token, wait, joint, first,
		c.by, c.entity, c.after, c.id, c.count,
		c.of, e.entity, c.slice, c.seq, e.name, e.version, e.at, e.tags, e.body, e.sum,
	}
}

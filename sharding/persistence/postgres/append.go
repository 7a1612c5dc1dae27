package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/direct"
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
			defer c.free()
			c.add(h, writes, part)
			all, conflicts, err := s.appender.append(ctx, q, c, appendHow{wait: lockWait(ctx), first: first})
			first += int32(c.events)
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

// appender makes the statement that appends.
type appender struct{ *direct.Statement }

func newAppender(c *pgx.ConnConfig, sql string) appender {
	columns := newAppendColumns()
	defer columns.free()
	var types []uint32
	for _, column := range columns.ofHostings() {
		types = append(types, column.Type())
	}
	types = append(types, pgtype.Int4OID, pgtype.BoolOID, pgtype.Int4OID)
	for _, column := range columns.ofRows() {
		types = append(types, column.Type())
	}
	return appender{direct.NewStatement(c, sql, types)}
}

// appendHow are the arguments beside the rows.
type appendHow struct {
	wait  int32 // for a lock, in milliseconds
	joint bool
	first int32 // the number of the first event in its transaction
}

// append returns, for each hosting, how it entered, and the numbers of the writes that do not fit, from 1.
func (a appender) append(
	ctx context.Context, q querier, c *appendColumns, how appendHow,
) (entered []*int64, refused []int32, err error) {
	args := make([][]byte, 0, 24)
	for _, column := range c.ofHostings() {
		args = append(args, column.Argument())
	}
	args = append(args, direct.Int4(how.wait), direct.Bool(how.joint), direct.Int4(how.first))
	for _, column := range c.ofRows() {
		args = append(args, column.Argument())
	}
	err = q.with(ctx, func(conn *pgx.Conn) error {
		answer, err := a.Row(ctx, conn, args)
		if err != nil {
			return err
		}
		types := conn.TypeMap()
		return firstOf(types.Scan(pgtype.Int8ArrayOID, pgx.BinaryFormatCode, answer[0], &entered),
			types.Scan(pgtype.Int4ArrayOID, pgx.BinaryFormatCode, answer[1], &refused))
	})
	return entered, refused, err
}

// appendColumns are the columns of what one statement appends.
type appendColumns struct {
	typ, token, shard direct.Column // of each hosting

	by, entity, after, id, count direct.Column // of each write: by is the number of its hosting, from 1

	// Of each event: of is the number of its write, from 1.
	of, entityOf, slice, seq, name, version, at, tags, body, sum direct.Column

	events int
	sums   summer
}

// spareColumns are those of earlier calls, with their memory.
var spareColumns = sync.Pool{New: func() any {
	text, int8s := direct.Of(pgtype.ByteaOID), direct.Of(pgtype.Int8OID)
	int4s, int2s := direct.Of(pgtype.Int4OID), direct.Of(pgtype.Int2OID)
	return &appendColumns{
		typ: text, token: text, shard: int8s,
		by: int4s, entity: text, after: int8s, id: int8s, count: int4s,
		of: int4s, entityOf: text, slice: int2s, seq: int8s, name: text, version: int8s, at: int8s, tags: text,
		body: text, sum: int8s,
		sums: newSummer(),
	}
}}

// ofHostings and ofRows return the columns in the order in which the function of the schema takes them.
func (c *appendColumns) ofHostings() []*direct.Column {
	return []*direct.Column{&c.typ, &c.shard, &c.token}
}

func (c *appendColumns) ofRows() []*direct.Column {
	return []*direct.Column{
		&c.by, &c.entity, &c.after, &c.id, &c.count,
		&c.of, &c.entityOf, &c.slice, &c.seq, &c.name, &c.version, &c.at, &c.tags, &c.body, &c.sum,
	}
}

func (c *appendColumns) all() []*direct.Column { return append(c.ofHostings(), c.ofRows()...) }

// newAppendColumns returns columns without rows. free ends their use.
func newAppendColumns() *appendColumns {
	c := spareColumns.Get().(*appendColumns)
	c.events = 0
	for _, column := range c.all() {
		column.Reset()
	}
	return c
}

// spareMax is the longest column whose memory is kept, in bytes.
const spareMax = 1 << 20

func (c *appendColumns) free() {
	for _, column := range c.all() {
		if column.Room() > spareMax {
			return
		}
	}
	spareColumns.Put(c)
}

// add adds some of the writes of a hosting.
func (c *appendColumns) add(h persistence.Hosting, writes []persistence.Write, part []int) {
	c.typ.Bytes([]byte(h.Type))
	c.token.Bytes(h.Token.Bytes())
	c.shard.Int8(int64(h.Shard))
	for _, i := range part {
		c.by.Int4(c.typ.Len())
		c.write(&writes[i])
	}
}

func (c *appendColumns) write(w *persistence.Write) {
	entity, slice := []byte(w.Entity), int16(persistence.SliceOf(string(w.Entity)))
	c.entity.Bytes(entity)
	c.after.Int8(int64(w.After))
	c.id.Int8(int64(w.ID))
	c.count.Int4(int32(len(w.Events)))
	for i, e := range w.Events {
		r := row{
			entity: entity, name: []byte(e.Name), tags: appendTags(e.Tags), body: whole(e.Body),
			seq: int64(w.After) + int64(i) + 1, version: int64(e.Version), at: e.At.UnixMicro(),
		}
		c.of.Int4(c.entity.Len())
		c.entityOf.Bytes(entity)
		c.slice.Int2(slice)
		c.seq.Int8(r.seq)
		c.name.Bytes(r.name)
		c.version.Int8(r.version)
		c.at.Int8(r.at)
		c.tags.Bytes(r.tags)
		c.body.Bytes(r.body)
		c.sum.Int8(c.sums.sum(r))
	}
	c.events += len(w.Events)
}

package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Append appends writes to the histories of their entities. See persistence.Journal.
func (s *Store) Append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	if err := checkCall(h, len(writes)); err != nil {
		return nil, err
	}
	parts, tooLarge := split(writes)
	err = s.enter(ctx, "append", h, func() (entered *int64, err error) {
		refused = slices.Clone(tooLarge)
		entered, err = s.appendParts(ctx, h, parts, func(w persistence.Write, i int) {
			refused = append(refused, persistence.Refusal{Index: i, Err: conflict(w.Entity, w.After)})
		})
		return entered, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(refused, func(a, b persistence.Refusal) int { return a.Index - b.Index })
	return refused, nil
}

// appendParts makes one statement of a call that fits into one. Else it makes a transaction, so that
// a call that is fenced has no effect.
func (s *Store) appendParts(
	ctx context.Context, h persistence.Hosting, parts []*part, refuse func(persistence.Write, int),
) (entered *int64, err error) {
	if len(parts) == 1 {
		return s.appendPart(ctx, s.pool, h, parts[0], refuse)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, p := range parts {
			if entered, err = s.appendPart(ctx, tx, h, p, refuse); err != nil || entered == nil || *entered < 0 {
				return err
			}
		}
		return nil
	})
	return entered, err
}

func (s *Store) appendPart(
	ctx context.Context, q querier, h persistence.Hosting, p *part, refuse func(persistence.Write, int),
) (entered *int64, err error) {
	var refused []int32
	if err := q.QueryRow(ctx, s.sql.append, p.arguments(ctx, h)...).Scan(&entered, &refused); err != nil {
		return nil, err
	}
	for _, i := range refused {
		refuse(p.writes[i-1], p.index[i-1])
	}
	return entered, nil
}

// part is the columns of what one statement appends.
type part struct {
	writes []persistence.Write
	index  []int // of each write in its call
	bytes  int
	first  int32 // events in earlier parts

	entity           pgtype.FlatArray[[]byte] // of each write, as the next four
	after, id        pgtype.FlatArray[int64]
	count            pgtype.FlatArray[int32]
	of               pgtype.FlatArray[int32] // the number of the write of each event, from 1
	eventEntity      pgtype.FlatArray[[]byte]
	slice            pgtype.FlatArray[int16]
	seq, version, at pgtype.FlatArray[int64]
	name, tags, body pgtype.FlatArray[[]byte]
	sum              pgtype.FlatArray[int64]
}

// split puts writes into parts, at least one, and refuses those above a limit.
func split(writes []persistence.Write) (parts []*part, refused []persistence.Refusal) {
	p, sums := &part{}, newSummer()
	for i, w := range writes {
		size, err := checkWrite(w)
		if err != nil {
			refused = append(refused, persistence.Refusal{Index: i, Err: err})
			continue
		}
		if p.bytes > 0 && p.bytes+size > statementBytes {
			parts = append(parts, p)
			p = &part{first: p.first + int32(len(p.of))}
		}
		p.add(i, w, size, sums)
	}
	return append(parts, p), refused
}

func (p *part) add(index int, w persistence.Write, size int, sums summer) {
	entity, slice := []byte(w.Entity), int16(persistence.SliceOf(string(w.Entity)))
	p.writes, p.index = append(p.writes, w), append(p.index, index)
	p.bytes += size
	p.entity = append(p.entity, entity)
	p.after = append(p.after, int64(w.After))
	p.id = append(p.id, int64(w.ID))
	p.count = append(p.count, int32(len(w.Events)))
	for i, e := range w.Events {
		r := row{
			entity: entity, name: []byte(e.Name), tags: appendTags(e.Tags), body: whole(e.Body),
			seq: int64(w.After) + int64(i) + 1, version: int64(e.Version), at: e.At.UnixMicro(),
		}
		p.of = append(p.of, int32(len(p.writes)))
		p.eventEntity, p.slice = append(p.eventEntity, entity), append(p.slice, slice)
		p.seq, p.version, p.at = append(p.seq, r.seq), append(p.version, r.version), append(p.at, r.at)
		p.name, p.tags, p.body = append(p.name, r.name), append(p.tags, r.tags), append(p.body, r.body)
		p.sum = append(p.sum, sums.sum(r))
	}
}

func (p *part) arguments(ctx context.Context, h persistence.Hosting) []any {
	return entry(ctx, h, p.first, p.entity, p.after, p.id, p.count,
		p.of, p.eventEntity, p.slice, p.seq, p.name, p.version, p.at, p.tags, p.body, p.sum)
}

package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// fenced is whether a later hosting than that of a call has begun.
const fenced = `COALESCE((SELECT f.token > $3 FROM @.fences f
  WHERE f.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND f.shard = $2), false)`

// loadEvents has a row for each event, and one without an event for each read that finds none. The
// subqueries of each read depend on it, so they are run in the order of the reads. load checks that.
const loadEvents = `
SELECT ` + fenced + `, r.i, COALESCE(d.upto, 0), COALESCE(l.seq, d.upto, 0),
  e.seq, e.name, e.version, e.at, e.tags, e.body, e.sum
FROM unnest($4::bytea[], $5::bigint[]) WITH ORDINALITY AS r (entity, after, i)
LEFT JOIN LATERAL (
  SELECT x.upto FROM @.deletions x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND x.entity = r.entity LIMIT 1) d ON true
LEFT JOIN LATERAL (
  SELECT x.seq FROM @.events x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND x.entity = r.entity
    ORDER BY x.seq DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (
  SELECT x.seq, x.name, x.version, x.at, x.tags, x.body, x.sum FROM @.events x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND x.entity = r.entity AND x.seq > r.after
    ORDER BY x.seq OFFSET 0) e ON true`

// Load calls each for the events that the reads ask for. See persistence.Journal.
func (s *Store) Load(
	ctx context.Context, h persistence.Hosting, reads []persistence.Read, each func(int, persistence.Event) error,
) (ends []persistence.End, err error) {
	if err := checkHosting(h); err != nil {
		return nil, err
	}
	var broken error // of each, or of what is stored
	err = s.repeat(ctx, "load", h, func() error {
		l := loading{reads: reads, each: each, ends: make([]persistence.End, len(reads)), sums: newSummer(), at: -1}
		rows, err := s.pool.Query(ctx, s.sql.load, l.arguments(h)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() && broken == nil {
			broken, err = l.row(rows)
			if err != nil {
				return err
			}
		}
		if broken != nil {
			return nil
		}
		if err := rows.Err(); err != nil {
			return err
		}
		broken, ends = l.finish(), l.ends
		return nil
	})
	if err != nil || broken != nil {
		return nil, firstOf(err, broken)
	}
	return ends, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// loading follows the rows of one Load.
type loading struct {
	reads []persistence.Read
	each  func(int, persistence.Event) error
	ends  []persistence.End
	sums  summer
	at    int   // the read whose rows come
	next  int64 // the sequence number that comes next
}

func (l *loading) arguments(h persistence.Hosting) []any {
	entities, afters := make(pgtype.FlatArray[[]byte], len(l.reads)), make(pgtype.FlatArray[int64], len(l.reads))
	for i, r := range l.reads {
		entities[i], afters[i] = []byte(r.Entity), int64(min(r.After, math.MaxInt64))
	}
	return []any{[]byte(h.Type), int64(h.Shard), h.Token.Bytes(), entities, afters}
}

// row takes one row. broken ends the call as it is; err is the store's.
func (l *loading) row(rows pgx.Rows) (broken, err error) {
	var passed bool
	var i, deleted, last int64
	var seq, version, at, sum *int64
	var name, tags, body pgtype.DriverBytes
	if err := rows.Scan(&passed, &i, &deleted, &last, &seq, &name, &version, &at, &tags, &body, &sum); err != nil {
		return nil, err
	}
	if passed {
		return nil, persistence.ErrFenced
	}
	if broken, err := l.turn(int(i-1), deleted, last); broken != nil || err != nil {
		return broken, err
	}
	if seq == nil {
		return nil, nil
	}
	id := l.reads[l.at].Entity
	if *seq != l.next {
		return damaged(id, l.next, "the event is missing"), nil
	}
	l.next++
	e, err := event(id, row{
		seq: *seq, name: name, version: *version, at: *at, tags: tags, body: whole(body),
	}, *sum, l.sums)
	if err != nil {
		return err, nil
	}
	return l.each(l.at, e), nil
}

// turn goes on to the read of a row, if it is another one than before.
func (l *loading) turn(i int, deleted, last int64) (broken, err error) {
	if i == l.at {
		return nil, nil
	}
	if i != l.at+1 {
		return nil, fmt.Errorf("the server answers read %d after %d", i, l.at)
	}
	if broken := l.finish(); broken != nil {
		return broken, nil
	}
	l.at = i
	l.ends[i] = persistence.End{Deleted: uint64(deleted), Last: uint64(last)}
	l.next = max(deleted, int64(min(l.reads[i].After, math.MaxInt64-1))) + 1
	return nil, nil
}

// finish reports an event that should have come last.
func (l *loading) finish() error {
	if l.at >= 0 && l.next <= int64(l.ends[l.at].Last) {
		return damaged(l.reads[l.at].Entity, l.next, "the event is missing")
	}
	return nil
}

// event makes an event of a row, and compares its checksum.
func event(id protocol.EntityID, r row, sum int64, sums summer) (persistence.Event, error) {
	r.entity = []byte(id)
	if sums.sum(r) != sum {
		return persistence.Event{}, damaged(id, r.seq, "the checksum of the event is wrong")
	}
	tags, err := readTags(r.tags)
	if err != nil {
		return persistence.Event{}, damaged(id, r.seq, err.Error())
	}
	return persistence.Event{
		Seq: uint64(r.seq), Name: string(r.name), Version: uint32(r.version), Body: r.body, Tags: tags,
		At: fromMicros(r.at),
	}, nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

const (
	pageFirst = 8       // events in the first page of a query, when their size is not known yet
	pageMax   = 1000    // events in a page
	pageBytes = 8 << 20 // bytes of bodies that a page should have

	pollFirst = 5 * time.Millisecond // after news, and doubled while no event comes
	outageMax = 30 * time.Second     // for which a live query waits for the server
)

// readPage has the next transaction of the server and the last event of the type before the horizon,
// and beside them each event of the page. The horizon is the oldest transaction that has not ended:
// later ones wait for it.
//
// A reader goes on after the last event, not after the horizon: 1. A transaction without an event
// gets a number. 2. A reader sees that it has ended, and goes on after it. 3. The server crashes,
// before the transaction is on disk, and gives its number to one that stores an event. 4. The reader
// does not see the event. The transaction of an event that was seen is on disk.
//
// While no event of this run of the server is there, all that can be seen is of earlier ones, and complete:
// the horizon is after it, and the numbers of transactions say nothing. That is also so for a dump of
// another server. A standby is in the run of its primary.
const readPage = `
SELECT h.era, h.next, COALESCE(l.era, 0), COALESCE(l.xid, 0), COALESCE(l.n, 0),
  e.era, e.xid, e.n, e.entity, e.seq, e.name, e.version, e.at, e.tags, e.body, e.sum
FROM (SELECT CASE WHEN m.started = pg_postmaster_start_time() OR pg_is_in_recovery() THEN m.era
      ELSE 9223372036854775807 END AS era,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next FROM @.meta m) h
LEFT JOIN LATERAL (
  SELECT x.era, x.xid, x.n FROM @.events x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1) AND (x.era, x.xid) < (h.era, h.xid)
    ORDER BY x.era DESC, x.xid DESC, x.n DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (
  SELECT x.* FROM @.events x
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1)
      AND (x.era, x.xid, x.n) > ($2::bigint, $3::bigint, $4::int) AND (x.era, x.xid) < (h.era, h.xid)
      AND x.slice BETWEEN $5::int AND $6::int AND ($7::bytea IS NULL OR position($7::bytea IN x.tags) > 0)
    ORDER BY x.era, x.xid, x.n LIMIT $8) e ON true`

// Events returns the events that a query asks for. See persistence.Reader. A transaction that writes
// and stays open, in any database of the server, holds back the events that were stored after it has
// begun. A live query waits for a server that is away, for half a minute. One that has lost events
// yields what it stores afterwards, also under numbers that lost ones had. An offset that is ahead of the
// server all the same is persistence.ErrDamaged.
func (s *Store) Events(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		err := s.events(ctx, q, yield)
		if err == nil || errors.Is(err, errEnough) || q.Live && ctx.Err() != nil {
			return
		}
		yield(persistence.Recorded{}, explain(fmt.Sprintf("events of %q", q.Type), err))
	}
}

// errEnough says that the caller has seen enough.
var errEnough = errors.New("enough")

func (s *Store) events(
	ctx context.Context, q persistence.Query, yield func(persistence.Recorded, error) bool,
) error {
	if err := q.Check(); err != nil {
		return err
	}
	at, err := parsePlace(q.After)
	if err != nil {
		return err
	}
	r := &reading{store: s, query: q, at: at, limit: pageFirst, sums: newSummer()}
	var w waiting
	if q.Live {
		var leave func()
		w.news, leave = s.listener.join(ofEvents)
		defer leave()
	}
	for {
		full, err := r.read(ctx)
		for _, e := range r.page {
			if !yield(e.Recorded, e.broken) {
				return errEnough
			}
		}
		switch {
		case err != nil && !(q.Live && w.outage(err)):
			return err
		case err == nil && !q.Live && !full:
			return nil
		case err == nil:
			w.wellAgain(len(r.page) > 0)
		}
		if !full {
			if err := w.wait(ctx, s.poll); err != nil {
				return err
			}
		}
	}
}

// reading is a query on its way.
type reading struct {
	store *Store
	query persistence.Query
	sums  summer
	at    place // all up to it was seen, or is not asked for
	limit int   // of the next page
	page  []recorded
}

// recorded is an event, or what is wrong with it.
type recorded struct {
	persistence.Recorded
	broken error
}

// read reads the next page, and reports whether there may be more at once. With an error there may
// be events before it.
func (r *reading) read(ctx context.Context) (full bool, err error) {
	r.page = r.page[:0]
	q := r.query
	var tag []byte
	if q.Tag != "" {
		tag = appendTags([]string{q.Tag})
	}
	first, end := q.Slices()
	rows, err := r.store.pool.Query(ctx, r.store.sql.readPage, []byte(q.Type), r.at.era, r.at.xid, r.at.n,
		int32(first), int32(end-1), tag, r.limit)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var next, last place
	count, bytes := 0, 0
	for rows.Next() {
		found, e, err := r.scan(rows, &next, &last)
		if err != nil {
			return false, err
		}
		if !found {
			break
		}
		count, bytes = count+1, bytes+len(e.Event.Body)
		if q.Tag == "" || e.broken != nil || slices.Contains(e.Event.Tags, q.Tag) {
			r.page = append(r.page, e)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return false, err
	}
	if full = count == r.limit; !full && last.compare(r.at) > 0 {
		r.at = last
	}
	r.limit = nextLimit(r.limit, count, bytes)
	return full, nil
}

// nextLimit returns the length of the next page, from what one of limit has held.
func nextLimit(limit, count, bytes int) int {
	if count == 0 {
		return limit
	}
	return max(1, min(pageMax, 4*limit, pageBytes/(bytes/count+1)))
}

// scan takes one row. The event is a copy, so that it outlives the row.
func (r *reading) scan(rows pgx.Rows, next, last *place) (found bool, e recorded, err error) {
	var n *int32
	var era, xid, seq, version, at, sum *int64
	var entity, name, tags pgtype.DriverBytes
	var body []byte
	err = rows.Scan(&next.era, &next.xid, &last.era, &last.xid, &last.n,
		&era, &xid, &n, &entity, &seq, &name, &version, &at, &tags, &body, &sum)
	if err == nil && r.at.compare(*next) > 0 {
		err = fmt.Errorf("the offset %s is ahead of the server, whose next one is %s, so that the query would pass "+
			"over new events; start the server anew, if a dump was loaded while it ran, or its memory was put back: "+
			"%w", r.at.offset(), next.offset(), persistence.ErrDamaged)
	}
	if err != nil || era == nil {
		return false, e, err
	}
	p := place{era: *era, xid: *xid, n: *n}
	if p.compare(r.at) <= 0 {
		return false, e, fmt.Errorf("the server answers %v after %v", p, r.at)
	}
	r.at = p
	e.Entity, e.Offset = protocol.EntityID(entity), p.offset()
	e.Event, e.broken = event(e.Entity, row{name: name, tags: tags, body: body, seq: *seq, version: *version, at: *at},
		*sum, r.sums)
	if e.broken != nil {
		e.Event = persistence.Event{Seq: uint64(*seq), Name: string(name), Version: uint32(*version)}
	}
	return true, e, nil
}

// waiting is what a live query does between its pages.
type waiting struct {
	news  <-chan struct{}
	pause time.Duration // before the next page
	since time.Time     // of the first error after the last success; zero: there was none
}

// outage reports whether an error is one of a server that may come back.
func (w *waiting) outage(err error) bool {
	if w.since.IsZero() {
		w.since = time.Now()
	}
	code := codeOf(err)
	return (lost(err) || code == "57P01" || code == "57P02" || code == "57P03") && time.Since(w.since) < outageMax
}

func (w *waiting) wellAgain(found bool) {
	w.since = time.Time{}
	if found {
		w.pause = 0
	}
}

// wait waits for news, at most as long as poll, and less soon after news: the events that they are
// about may be held back for a moment by an older transaction.
func (w *waiting) wait(ctx context.Context, poll time.Duration) error {
	w.pause = min(max(2*w.pause, pollFirst), poll)
	t := time.NewTimer(w.pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.news:
		w.pause = 0
	case <-t.C:
	}
	return nil
}

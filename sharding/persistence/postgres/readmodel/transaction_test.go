package readmodel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/projection"
)

// wrong says what is wrong with the effects of events 1 to some of each entity.
func wrong(t testing.TB, s *Store, table string) (found []string) {
	t.Helper()
	rows, err := s.cfg.Pool.Query(context.WithoutCancel(t.Context()), `
SELECT entity, seq, count(*) FROM `+table+` GROUP BY entity, seq HAVING count(*) > 1
UNION ALL SELECT entity, max(seq), count(DISTINCT seq) - max(seq) FROM `+table+`
  GROUP BY entity HAVING count(DISTINCT seq) <> max(seq)
UNION ALL SELECT entity, seq, 0 FROM (
  SELECT entity, seq, lag(seq, 1, 0::bigint) OVER (PARTITION BY entity ORDER BY n) AS before FROM `+table+`) x WHERE seq <= before`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var entity string
		var seq, count int64
		if err := rows.Scan(&entity, &seq, &count); err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("event %d of %s: %d", seq, entity, count))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// rivals has several owners of one part carry events 1 to n. Each claims again and again, as if the
// others were not there; handlers take their time, are cancelled, and connections are ended.
func rivals(t *testing.T, target projection.Target[event], s *Store, n uint64) {
	const owners = 6
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	var all sync.WaitGroup
	for i := range owners {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		all.Go(func() {
			for ctx.Err() == nil {
				c, at, err := target.Claim(ctx, "p", projection.Part{Of: 1})
				for k := r.IntN(8); err == nil && k >= 0 && at.Handled < n; k-- {
					b := batch(at, "e", int(min(1+r.Uint64N(5), n-at.Handled)))
					batchCtx, cancel := ctx, context.CancelFunc(func() {})
					if r.IntN(10) == 0 {
						batchCtx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(3000))*time.Microsecond)
					}
					if r.IntN(40) == 0 {
						_, _ = s.cfg.Pool.Exec(ctx, endIdle) // it may end the connection of another one of these
					}
					_, err = target.Handle(batchCtx, c, b)
					cancel()
					at = b.After
				}
				if err == nil && at.Handled >= n {
					done()
				}
			}
		})
	}
	all.Wait()
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Fatal("it has not come to the end")
	}
}

// endIdle ends connections with an open transaction. They may be about another one when they hear of it.
const endIdle = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
	"WHERE state LIKE 'idle in%' AND datname = current_database()"

func insert(table string) func(ctx context.Context, tx pgx.Tx, e projection.Recorded[event]) error {
	return func(ctx context.Context, tx pgx.Tx, e projection.Recorded[event]) error {
		_, err := tx.Exec(ctx, "INSERT INTO "+table+" (entity, seq) VALUES ($1, $2)", string(e.Entity), int64(e.Seq))
		return err
	}
}

const rivalEvents = 400

// However many own a part at one time, each event takes effect once, and in order.
func TestRivals(t *testing.T) {
	s := open(t, Config{Schema: newSchema(), CallTimeout: patience})
	table := effects(t, s)
	rivals(t, ExactlyOnce(s, insert(table)), s, rivalEvents)
	if w := wrong(t, s, table); len(w) > 0 {
		t.Errorf("%d are wrong: %v", len(w), w[0])
	}
	if got := count(t, s, table); got != rivalEvents {
		t.Errorf("%d effects, want %d", got, rivalEvents)
	}
}

// A database that has lost commits has nothing committed on top of what is not there. The part begins
// again, with the events whose effects are lost.
func TestLostCommits(t *testing.T) {
	s := open(t, Config{Schema: newSchema()})
	table := effects(t, s)
	target := ExactlyOnce(s, insert(table))
	c, at, err := target.Claim(t.Context(), "p", projection.Part{Of: 1})
	if err != nil {
		t.Fatal(err)
	}
	handle := func(events int) error {
		b := batch(at, "e", events)
		_, err := target.Handle(t.Context(), c, b)
		if err == nil {
			at = b.After
		}
		return err
	}
	if err := errors.Join(handle(1), handle(2)); err != nil {
		t.Fatal(err)
	}
	exec(t, s, "DELETE FROM "+table+" WHERE seq > 1")
	exec(t, s, strings.ReplaceAll("UPDATE @.parts SET handled = 1", "@", pgx.Identifier{s.cfg.Schema}.Sanitize()))
	if err := handle(1); !errors.Is(err, errLost) {
		t.Errorf("got %v, want %v", err, errLost)
	}
	if c, at, err = target.Claim(t.Context(), "p", projection.Part{Of: 1}); err != nil || at.Handled != 1 {
		t.Fatalf("it goes on at %+v, %v", at, err)
	}
	if err := handle(3); err != nil {
		t.Error(err)
	}
	if w := wrong(t, s, table); len(w) > 0 || count(t, s, table) != 4 {
		t.Errorf("%d effects, of these are wrong %v", count(t, s, table), w)
	}
}

// early saves the offset in a transaction before that of the handler: a planted mistake.
type early struct{ *exactlyOnce[event] }

func (e early) Handle(
	ctx context.Context, c projection.Claim, b *projection.Batch[event],
) (none projection.Outcome, err error) {
	if err := e.Save(ctx, c, b.After); err != nil {
		return none, err
	}
	tx, err := e.begin(ctx)
	if err != nil {
		return none, err
	}
	defer e.abandon(ctx, tx)
	n, err := b.Each(ctx, func(ctx context.Context, x projection.Recorded[event]) error { return e.handle(ctx, tx, x) })
	if err == nil {
		err = tx.Commit(ctx)
	}
	return projection.Outcome{Handled: n, Saved: true}, err
}

// Planted mistakes are found: the fence left out, and the offset saved before the handler.
func TestRivalsMistakes(t *testing.T) {
	for name, plant := range map[string]func(s *Store, table string) projection.Target[event]{
		"no fence": func(s *Store, table string) projection.Target[event] {
			s.sql.follow = mustReplace(t, s.sql.save, "claim = $3", "$3::bigint IS NOT NULL AND $8::bigint IS NOT NULL")
			return ExactlyOnce(s, insert(table))
		},
		"an early offset": func(s *Store, table string) projection.Target[event] {
			return early{&exactlyOnce[event]{s, insert(table)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 50 { // rivals that do not meet do no harm
				s := open(t, Config{Schema: newSchema(), CallTimeout: patience})
				table := effects(t, s)
				rivals(t, plant(s, table), s, rivalEvents)
				if len(wrong(t, s, table)) > 0 || count(t, s, table) != rivalEvents {
					return
				}
			}
			t.Error("nothing is wrong")
		})
	}
}

func mustReplace(t *testing.T, text, old, with string) string {
	t.Helper()
	out := strings.Replace(text, old, with, 1)
	if out == text {
		t.Fatalf("no %q in %q", old, text)
	}
	return out
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

var _ remind.Store = (*Reminders)(nil)

// Reminders are those of one entity type, in the tables of a Store. They go into
// sharding.EntityType.Reminders.Store. Their methods may be called concurrently, until the Store is closed.
//
// A reminder that cannot be read stays in its table, and Due is remind.ErrDamaged each time it is due, beside
// the others. A change of its name without a condition replaces it or takes it away.
type Reminders struct {
	s   *Store
	typ string // of the store
}

// RemindersTypePrefix begins the name of each type in a Store that has reminders. The name of an entity type
// has no slash, so that none can begin so.
const RemindersTypePrefix = "coterie/reminders/"

// RemindersTypeName is the name under which a Store has the reminders of an entity type.
func RemindersTypeName(entityType string) string { return RemindersTypePrefix + entityType }

// Reminders are those of an entity type.
func (s *Store) Reminders(entityType string) *Reminders {
	return &Reminders{s: s, typ: RemindersTypeName(entityType)}
}

// EntityType is the name of the entity type.
func (r *Reminders) EntityType() string { return strings.TrimPrefix(r.typ, RemindersTypePrefix) }

// ID is that of the Store.
func (r *Reminders) ID() string { return r.s.ID() }

// Due implements remind.Store.
func (r *Reminders) Due(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
) (due []remind.Reminder, next time.Time, err error) {
	// One more than wanted, which is the next one; and one more for each that is damaged.
	for rows := limit + 1; ; {
		found, err := r.read(ctx, "due reminders", by, shard, r.s.sql.dueReminders, nanos(until), int32(rows))
		if err != nil {
			return nil, time.Time{}, err
		}
		enough := len(found.sound) > limit || len(found.sound)+found.damaged < rows
		if !enough {
			rows += found.damaged
			continue
		}
		// The rows of a function have no order by any promise.
		slices.SortFunc(found.sound, func(a, b remind.Reminder) int { return a.At.Compare(b.At) })
		if due, next = found.sound, found.next; len(due) > limit {
			due, next = due[:limit], due[limit].At
		}
		return due, next, found.damage
	}
}

// Of implements remind.Store.
func (r *Reminders) Of(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) ([]remind.Reminder, error) {
	found, err := r.read(ctx, "reminders", by, shard, r.s.sql.remindersOf, []byte(id))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found.sound, func(a, b remind.Reminder) int { return strings.Compare(a.Name, b.Name) })
	return found.sound, found.damage
}

// All implements remind.Store.
func (r *Reminders) All(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) (all []remind.Reminder, last remind.Key, err error) {
	found, err := r.read(ctx, "all reminders", by, shard, r.s.sql.allReminders, []byte(after.Entity),
		[]byte(after.Name), int32(limit))
	if err != nil {
		return nil, last, err
	}
	slices.SortFunc(found.sound, func(a, b remind.Reminder) int { return a.Key().Compare(b.Key()) })
	return found.sound, found.last, found.damage
}

// allReminders are those of a shard behind a key, in the order of keys, or one row without a reminder.
const allReminders = `
SELECT a.entered, NULL::bigint, r.entity, r.name, r.due, r.at, r.every, r.tries, r.version, r.body, r.sum
FROM @.admit($1, $2, $3) a LEFT JOIN LATERAL (
  SELECT x.* FROM @.reminders x
    WHERE x.kind = a.kind AND x.shard = $2 AND (x.entity, x.name) > ($4, $5) AND a.entered >= 0
    ORDER BY x.entity, x.name LIMIT $6) r ON true`

// hosting is that of a shard of the reminders.
func (r *Reminders) hosting(by singleton.FencingToken, shard protocol.ShardID) persistence.Hosting {
	return persistence.Hosting{Type: r.typ, Shard: shard, Token: by}
}

// enter makes a call of a hosting.
func (r *Reminders) enter(ctx context.Context, op string, h persistence.Hosting, f func() (*int64, error)) error {
	if err := checkHosting(h); err != nil {
		return err
	}
	err := r.s.enter(ctx, op, h, f)
	if errors.Is(err, persistence.ErrFenced) {
		return fmt.Errorf("%w: %w", remind.ErrFenced, err)
	}
	return err
}

// foundReminders are what a statement has found.
type foundReminders struct {
	sound   []remind.Reminder
	damaged int
	damage  error      // of the first that is damaged
	next    time.Time  // At of the first one that is not due; zero: none
	last    remind.Key // the last in the order of keys, damaged ones too
}

// read makes a call that reads reminders. Its first arguments are those that each has.
func (r *Reminders) read(
	ctx context.Context, op string, by singleton.FencingToken, shard protocol.ShardID, sql string, more ...any,
) (found foundReminders, err error) {
	h := r.hosting(by, shard)
	err = r.enter(ctx, op, h, func() (entered *int64, err error) {
		found = foundReminders{}
		arguments := append([]any{[]byte(h.Type), int64(h.Shard), h.Token.Bytes()}, more...)
		rows, err := r.s.pool.Query(ctx, sql, arguments...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		sums := newSummer()
		for rows.Next() {
			if entered, err = found.scan(rows, shard, sums); err != nil {
				return nil, err
			}
		}
		return entered, rows.Err()
	})
	return found, err
}

// scan takes one row.
func (f *foundReminders) scan(rows pgx.Rows, shard protocol.ShardID, sums summer) (entered *int64, err error) {
	var next, due, at, every, tries, version, sum *int64
	var entity, name pgtype.DriverBytes
	var body []byte
	err = rows.Scan(&entered, &next, &entity, &name, &due, &at, &every, &tries, &version, &body, &sum)
	if err != nil || entered == nil || *entered < 0 {
		return entered, err
	}
	if next != nil {
		f.next = fromNanos(*next)
	}
	if due == nil {
		return entered, nil
	}
	r := remind.Reminder{
		Entity: protocol.EntityID(entity), Name: string(name), Due: fromNanos(*due), At: fromNanos(*at),
		Every: time.Duration(*every), Tries: uint32(*tries), Version: uint64(*version), Body: body,
	}
	if f.last.Compare(r.Key()) < 0 {
		f.last = r.Key()
	}
	if *tries < 0 || *tries > math.MaxUint32 || sums.reminder(shard, r) != *sum {
		f.damaged++
		if f.damage == nil {
			f.damage = fmt.Errorf("postgres: reminder %v of shard %d: its checksum is wrong: %w", r.Key(), shard,
				remind.ErrDamaged)
		}
		return entered, nil
	}
	f.sound = append(f.sound, r)
	return entered, nil
}

// nanos is a time in nanoseconds since 1970, or the first or the last that there is.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func fromNanos(at int64) time.Time { return time.Unix(0, at).UTC() }

// reminder is the checksum of a reminder.
func (s summer) reminder(shard protocol.ShardID, r remind.Reminder) int64 {
	numbers := []int64{
		int64(shard), nanos(r.Due), nanos(r.At), int64(r.Every), int64(r.Tries), int64(r.Version),
	}
	return s.all(numbers, []byte(r.Entity), []byte(r.Name), r.Body)
}

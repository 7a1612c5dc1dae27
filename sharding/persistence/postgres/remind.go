package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Update implements remind.Store. It is one statement, and takes effect as a whole or not at all.
func (r *Reminders) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64,
	changes []remind.Change,
) error {
	for _, c := range changes {
		if err := checkEntity(c.Entity, 0); err != nil {
			return err
		}
	}
	columns := newReminderColumns(shard, changes)
	h := r.hosting(by, shard)
	defer r.s.reminderNews.announce()
	return r.enter(ctx, "update of reminders", h, func() (entered *int64, err error) {
		err = r.s.pool.QueryRow(ctx, r.s.sql.remind, columns.arguments(ctx, h, number)...).Scan(&entered)
		if err == nil && entered != nil && *entered == overtaken {
			err = remind.ErrOvertaken
		}
		return entered, err
	})
}

// overtaken is what the function of the schema answers to an update after which a later one was here.
const overtaken = -3

// reminderColumns are the columns of the changes of one statement. The second change of a reminder is of the
// second round, and so on: the changes of one round are of different reminders, and their order is of no
// matter.
type reminderColumns struct {
	sums   summer
	rounds int32
	seen   map[remind.Key]int32 // the last round of each

	round                                    pgtype.FlatArray[int32]
	remove                                   pgtype.FlatArray[bool]
	was, due, at, every, tries, version, sum pgtype.FlatArray[int64]
	entity, name, body                       pgtype.FlatArray[[]byte]
}

func newReminderColumns(shard protocol.ShardID, changes []remind.Change) *reminderColumns {
	c := &reminderColumns{sums: newSummer(), seen: make(map[remind.Key]int32, len(changes))}
	for i := range changes {
		c.add(shard, &changes[i])
	}
	return c
}

func (c *reminderColumns) add(shard protocol.ShardID, x *remind.Change) {
	round := c.seen[x.Key()] + 1
	c.seen[x.Key()], c.rounds = round, max(c.rounds, round)
	c.round, c.remove, c.was = append(c.round, round), append(c.remove, x.Remove), append(c.was, int64(x.If))
	c.entity, c.name = append(c.entity, []byte(x.Entity)), append(c.name, []byte(x.Name))
	r := x.Reminder
	if x.Remove {
		r = remind.Reminder{} // of it only the name is of use
	}
	c.due, c.at = append(c.due, nanos(r.Due)), append(c.at, nanos(r.At))
	c.every, c.tries = append(c.every, int64(r.Every)), append(c.tries, int64(r.Tries))
	c.version, c.body = append(c.version, int64(r.Version)), append(c.body, whole(r.Body))
	c.sum = append(c.sum, c.sums.reminder(shard, r))
}

// arguments are the columns as the function of the schema takes them.
func (c *reminderColumns) arguments(ctx context.Context, h persistence.Hosting, number uint64) []any {
	return entry(ctx, h, int64(number), c.rounds, c.round, c.remove, c.was, c.entity, c.name, c.due, c.at, c.every,
		c.tries, c.version, c.body, c.sum)
}

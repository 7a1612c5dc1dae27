package postgres

import (
	"context"
	"fmt"
)

const countReminders = `
SELECT count(*) FROM @.reminders x WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1)`

// Count returns how many reminders there are. It looks at all of them.
func (r *Reminders) Count(ctx context.Context) (n int64, err error) {
	err = r.s.pool.QueryRow(ctx, r.s.sql.countReminders, []byte(r.typ)).Scan(&n)
	return n, explain(fmt.Sprintf("count of %q", r.typ), err)
}

// Remove forgets the reminders, and the tokens of their hostings, while all nodes of the type are stopped. It
// returns how many there were. The Store must have been opened with Config.Alone.
func (r *Reminders) Remove(ctx context.Context) (n int64, err error) {
	if n, err = r.Count(ctx); err == nil {
		_, err = r.s.Remove(ctx, r.typ)
	}
	return n, err
}

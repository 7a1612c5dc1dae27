package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// watchPause is the least time between two looks of a watch.
const watchPause = 100 * time.Millisecond

// changedShards has the run of the server, its oldest transaction that has not ended, and beside them each
// shard whose last change is of that transaction of an earlier answer, or a later one. Those before had ended
// by then, and were seen. The numbers of transactions are of one run of the server: in another one all shards
// count as changed.
const changedShards = `
SELECT pg_postmaster_start_time(), pg_snapshot_xmin(pg_current_snapshot())::text::bigint, s.shard, s.xid,
  COALESCE(s.has, false)
FROM (VALUES (1)) one LEFT JOIN LATERAL (
  SELECT x.shard, x.xid, r.has FROM @.reminded x
    LEFT JOIN LATERAL (
      SELECT true AS has FROM @.reminders y WHERE y.kind = x.kind AND y.shard = x.shard LIMIT 1) r ON true
    WHERE x.kind = (SELECT k.id FROM @.kinds k WHERE k.name = $1)
      AND x.xid >= CASE WHEN pg_postmaster_start_time() = $2 THEN $3 ELSE 0 END) s ON true`

// Watch implements remind.Store. It hears of changes by LISTEN, and looks for them at intervals of
// Config.PollInterval: at a short row for each shard that ever had reminders. While the server cannot be
// reached it tells nothing, and all that it has missed afterwards. fn is called by one goroutine, and once
// more perhaps while cancel is being called.
func (r *Reminders) Watch(fn func(shard protocol.ShardID, any bool)) (cancel func()) {
	ctx, cancel := context.WithCancel(r.s.life)
	w := &watch{of: r, tell: fn}
	r.s.watches.Go(func() { w.run(ctx) })
	return cancel
}

// watch finds the shards whose reminders change.
type watch struct {
	of      *Reminders
	tell    func(shard protocol.ShardID, any bool)
	started time.Time                  // the run of the server
	oldest  int64                      // changes of transactions before this were seen
	told    map[protocol.ShardID]int64 // the transaction of the last change
}

func (w *watch) run(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	news, leave := w.of.s.listener.join(ofReminders)
	defer leave()
	for {
		// An error is not told: the calls of the store have it, too. Those that follow make it good.
		if changes, err := w.look(ctx); err == nil {
			w.note(ctx, changes)
		}
		if !sleep(ctx, watchPause) || !w.wait(ctx, news) {
			return
		}
	}
}

// wait reports whether there is news, or the time has come to look without.
func (w *watch) wait(ctx context.Context, news <-chan struct{}) bool {
	t := time.NewTimer(w.of.s.poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-news:
	case <-t.C:
	}
	return true
}

// changedShard is a row of an answer. Without a shard it has only the state of the server.
type changedShard struct {
	Started time.Time
	Oldest  int64
	Shard   *int64
	XID     *int64
	Any     bool
}

func (w *watch) look(ctx context.Context) ([]changedShard, error) {
	rows, err := w.of.s.pool.Query(ctx, w.of.s.sql.changedShards, []byte(w.of.typ), w.started, w.oldest)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[changedShard])
}

// note tells of what has changed since the last time.
func (w *watch) note(ctx context.Context, changes []changedShard) {
	for _, c := range changes {
		if !c.Started.Equal(w.started) {
			w.started, w.told = c.Started, map[protocol.ShardID]int64{}
		}
		w.oldest = c.Oldest
		if c.Shard == nil || ctx.Err() != nil {
			return
		}
		if shard := protocol.ShardID(*c.Shard); w.told[shard] != *c.XID {
			w.told[shard] = *c.XID
			w.tell(shard, c.Any)
		}
	}
}

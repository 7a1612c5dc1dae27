package survival

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/proptest/sim/judge"
)

// kill is a fault that is made while the callers increment.
type kill struct {
	name string
	do   func(c *cluster)
}

func kills() []kill {
	return []kill{
		{"the node of the coordinator is killed", func(c *cluster) { c.process(c.coordinator()).Kill() }},
		{"an owner is killed", func(c *cluster) { c.process(c.another()).Kill() }},
		{"the server is killed, and starts again", func(c *cluster) {
			if err := c.server.Kill(); err != nil {
				c.t.Error(err)
			}
			if err := c.server.Start(c.patient()); err != nil {
				c.t.Fatal(err)
			}
		}},
		{"the server is paused", func(c *cluster) {
			d := 10 * time.Second
			if testing.Short() {
				d = time.Second
			}
			if err := c.server.Pause(); err != nil {
				c.t.Error(err)
			}
			pause(c.t.Context(), d)
			if err := c.server.Resume(); err != nil {
				c.t.Error(err)
			}
		}},
	}
}

// another is a node that hosts entities, and has not the coordinator.
func (c *cluster) another() int {
	c.t.Helper()
	coordinator := c.coordinator()
	for i := range manyCounters {
		e := entity(counters, i)
		if n := c.owner(e.Type, e.ID); n != coordinator {
			return n
		}
	}
	c.t.Fatal("one node hosts all")
	return 0
}

// Each increment that was acknowledged is there, and each of them once, whatever is killed.
func TestKills(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	c := startCluster(t, nil)
	all := everyEntity()
	l := startLoad(c)
	l.more(1000)
	c.lookAt(all)
	for range rounds {
		for _, k := range kills() {
			c.say("%s", k.name)
			k.do(c)
			l.more(500)
			c.lookAt(all)
			c.say("every entity has answered")
			c.settle()
		}
	}
	l.rest()
	c.judge(l, all)
	c.judgeSpoilt(l)
}

// judge judges the callers, the store, and what the entities say in the end.
func (c *cluster) judge(l *load, all []judge.Entity) {
	c.t.Helper()
	v := c.judgeStore(l.log, nil)
	for e, r := range c.lookAt(all) { // order: each is judged by itself
		v.Answered(v.Asks(e, r.Command, false), r)
		if r.Seq != v.lengths[e] {
			c.t.Errorf("%v says that it has %d increments; %d are stored", e, r.Seq, v.lengths[e])
		}
	}
	for i, text := range v.complaints {
		if i == 20 {
			c.t.Errorf("and %d complaints more", len(v.complaints)-i)
			break
		}
		c.t.Error(text)
	}
	n := v.Counts()
	c.say("%d increments are stored by %d incarnations, and %d snapshots; %d receipts",
		n.Records, n.Writers, n.Snapshots, n.Receipts)
	if n.Writers <= uint64(len(v.lengths)) || n.Snapshots == 0 {
		c.t.Error("no entity was written by two incarnations, or none has a snapshot: nothing was tried")
	}
}

// judgeSpoilt shows that the judge sees what it is there for: it judges what is stored again, after a
// change, which is undone.
func (c *cluster) judgeSpoilt(l *load) {
	c.t.Helper()
	const newest = `(SELECT entity, seq FROM survival.events ORDER BY seq DESC, entity LIMIT 1)`
	for _, x := range []struct{ check, sql string }{
		{"replies come after commits", `
			DELETE FROM seen.log WHERE what = 'event' AND (entity, seq) = ` + newest + `;
			DELETE FROM survival.events WHERE (entity, seq) = ` + newest},
		{"one history", `DELETE FROM survival.events WHERE (entity, seq) = ` + newest},
		{"one history", `UPDATE survival.events SET seq = seq + 1 WHERE (entity, seq) = ` + newest},
		{"one history", `UPDATE survival.states SET revision = revision + 1`},
		{"stored once", `
			INSERT INTO seen.log (what, kind, hosting, entity, seq, body)
				SELECT 'event', kind, hosting, entity, seq + 1, body FROM survival.events
				WHERE (entity, seq) = ` + newest},
		{"no write after the fence", `UPDATE seen.log SET n = n - 1000000000 WHERE what = 'fence'`},
	} {
		v := c.judgeStore(l.log, func(tx pgx.Tx) error {
			ctx := c.patient()
			_, err := tx.Conn().PgConn().Exec(ctx, "SET session_replication_role = replica; "+x.sql).ReadAll()
			return err // without triggers
		})
		if !slices.ContainsFunc(v.complaints, func(s string) bool { return strings.HasPrefix(s, x.check+":") }) {
			c.t.Errorf("the judge does not complain of %q after\n%s\nbut of %q", x.check, x.sql, v.complaints)
		}
	}
}

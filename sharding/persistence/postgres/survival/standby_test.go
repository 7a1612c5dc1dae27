package survival

import (
	"context"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// startPair starts a cluster whose server has a standby.
func startPair(t *testing.T) (c *cluster, standby *postgrestest.Server) {
	t.Helper()
	c = startCluster(t, func(_ int, server *postgrestest.Server) string {
		if standby == nil {
			standby = postgrestest.StartStandby(t, server)
		}
		return postgrestest.Either(server, standby)
	})
	return c, standby
}

// askServer asks a server until the answer is yes.
func (c *cluster) askServer(server *postgrestest.Server, sql string) {
	c.t.Helper()
	ctx := c.patient()
	conn := c.connectTo(server)
	defer conn.Close(context.WithoutCancel(ctx))
	for yes := false; !yes; {
		if err := conn.QueryRow(ctx, sql).Scan(&yes); err != nil {
			c.t.Fatal(sql, err)
		}
	}
}

// failOver kills the primary and has the standby take over.
func (c *cluster) failOver(standby *postgrestest.Server) {
	c.t.Helper()
	if err := c.server.Kill(); err != nil {
		c.t.Error(err)
	}
	if err := standby.Start(c.patient()); err != nil { // if it does not run
		c.t.Fatal(err)
	}
	if err := standby.Promote(c.patient()); err != nil {
		c.t.Fatal(err)
	}
	c.server = standby
	c.say("the standby has taken over")
}

// A synchronous standby takes over under load: each increment that was acknowledged is there, once.
func TestStandbyTakesOver(t *testing.T) {
	c, standby := startPair(t)
	c.exec("ALTER SYSTEM SET synchronous_standby_names = '" + postgrestest.StandbyName + "'")
	c.exec("SELECT pg_reload_conf()")
	c.askServer(c.server, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	all := everyEntity()
	l := startLoad(c)
	l.more(1500)
	c.failOver(standby)
	l.more(2000)
	c.lookAt(all)
	c.process(c.another()).Kill() // so that what is there is read, too
	l.more(1500)
	c.lookAt(all)
	c.settle()
	l.rest()
	c.judge(l, all)
	c.judgeSpoilt(l)
}

// An asynchronous standby takes over that lacks the last commits. Entities that know them have their next
// write refused, and start again from what is there. A live query, which has seen them, passes over none
// of the events that are stored afterwards.
func TestStandbyLacksCommits(t *testing.T) {
	const many = 20 // entities, of which the first half loses an increment
	c, standby := startPair(t)
	l := &load{c: c, failures: map[string]int{}}
	add := func(n, turn int) {
		t.Helper()
		for i := range n {
			number := uint64(callers*turn + i) // of a caller for each
			for e, ctx := entity(counters, i), c.patient(); !l.increment(e, number); {
				if ctx.Err() != nil {
					t.Fatalf("%v does not answer: %s", e, l.errors())
				}
			}
		}
	}
	seen := c.follow(postgrestest.Either(c.server, standby))
	add(many, 1)
	c.askServer(c.server, "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication")
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	add(many/2, 2)
	for want := many + many/2; want > 0; want-- {
		<-seen
	}
	c.failOver(standby)
	add(many, 3)
	again := map[string]bool{}
	for range many {
		again[<-seen] = true
	}
	var all []judge.Entity
	for i := range many {
		e := entity(counters, i)
		all = append(all, e)
		if !again[fmt.Sprint(e.ID, " 2")] {
			t.Errorf("the reader has passed over the second event of %s; it saw %v", e.ID, again)
		}
	}
	for e, r := range c.lookAt(all) {
		if r.Seq != 2 {
			t.Errorf("%v says that it has %d increments, want 2", e, r.Seq)
		}
	}
	if n := c.count("SELECT count(*) FROM survival.events"); n != 2*many {
		t.Errorf("%d events are stored, want %d", n, 2*many)
	}
	misfits := uint64(0)
	for i := range nodes {
		s, err := c.status(c.patient(), i)
		if err != nil {
			t.Fatal(err)
		}
		misfits += s.Misfits
	}
	if misfits != many/2 {
		t.Errorf("%d writes did not fit, want %d", misfits, many/2)
	}
}

// follow reads the events of the counters live, and returns where each is told.
func (c *cluster) follow(dsn string) (seen <-chan string) {
	c.t.Helper()
	store, err := openStore(c.patient(), dsn, schemaOf)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(store.Close)
	told := make(chan string, 1000)
	ctx, stop := context.WithCancel(c.patient())
	c.t.Cleanup(stop)
	go func() {
		q := persistence.Query{Type: counters, Live: true}
		for r, err := range store.Events(ctx, q) {
			if err != nil {
				c.t.Error("the live query:", err)
				stop()
				return
			}
			told <- fmt.Sprint(string(r.Entity), " ", r.Event.Seq)
		}
	}()
	return told
}

package diskless

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// Nodes without directories lose nothing that is remembered: while entities are started the node of
// the coordinator is killed, and another one paused until the others have gone on without it; then
// all are killed, and later stopped in order. Each time what was started runs again by itself, once,
// at the home that the journal has. No coordinator writes after a later one.
func TestStops(t *testing.T) {
	server := postgrestest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	store, err := openStore(ctx, server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tr, l, began := &truth{store: store}, &load{tried: map[string]bool{}}, time.Now()
	say := func(what string) {
		t.Logf("%4.1f s: %s; %d entities, %d terms", time.Since(began).Seconds(), what, l.count(), tr.terms)
	}

	c := found(ctx, t, server)
	say("the cluster is founded")
	it, other := c.coordinator()
	stop := l.through(ctx, c.all[other])
	l.progress(c, 100)
	c.all[it].Kill()
	l.progress(c, 100)
	c.replace(it)
	stop()
	c.allRun("after a kill of the coordinator", l, tr)
	say("the coordinator was killed")

	pauseCoordinator(c, l, tr)
	say("the coordinator was paused")

	for _, p := range c.all {
		p.Kill()
	}
	c = found(ctx, t, server)
	c.allRun("after a kill of all", l, tr)
	say("all were killed")

	if err := c.all[0].Call(ctx, "prepare", nil, nil); err != nil {
		t.Fatal(err)
	}
	c.together(func(i int) error { return c.all[i].Call(ctx, "leave", nil, nil) })
	c = found(ctx, t, server)
	c.allRun("after a stop of all", l, tr)
	say("all were stopped")
}

// pauseCoordinator pauses the coordinator's node until another coordinator has written, and resumes
// it: it does nothing any more, and the journal would not take it.
func pauseCoordinator(c *cluster, l *load, tr *truth) {
	c.t.Helper()
	it, other := c.coordinator()
	stop := l.through(c.ctx, c.all[other])
	defer stop()
	l.progress(c, 20)
	paused := c.all[it]
	if err := paused.Pause(); err != nil {
		c.t.Fatal(err)
	}
	if err := tr.follow(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	stale := tr.latest
	c.until("another coordinator", func() error {
		if err := tr.follow(c.ctx); err != nil {
			c.t.Fatal(err)
		}
		if tr.latest == stale {
			return errors.New("the journal has none")
		}
		return nil
	})
	l.progress(c, 20)
	if err := paused.Resume(); err != nil {
		c.t.Fatal(err)
	}
	c.until("the end of the paused node", func() error {
		switch s, err := c.status(paused); {
		case errors.Is(err, nodetest.ErrEnded):
			return nil
		case err != nil:
			return err
		case !s.Ended || len(s.Running) > 0:
			return errors.New("it runs")
		}
		return nil
	})
	tr.demandDeposed(c.ctx, c.t, stale)
	paused.Kill()
	c.replace(it)
	l.progress(c, 20)
	stop()
	c.allRun("after a pause of the coordinator", l, tr)
}

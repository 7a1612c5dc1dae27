package survival

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// A paused owner cannot write over its successor: a write that it has sent before, and that arrives
// when the successor has begun, has no effect. Without the check of the token it has one, which shows
// that it does arrive.
func TestPausedOwner(t *testing.T) {
	c, at := startWired(t)
	l := &load{c: c, failures: map[string]int{}}
	p := &pausing{c: c, l: l, at: at, held: map[string]uint64{}}
	t.Run("sound", func(t *testing.T) { p.play(t, 0, false) })
	c.exec(c.withoutToken())
	t.Run("without the check of the token", func(t *testing.T) { p.play(t, 1, true) })
}

// startWired starts a cluster whose nodes have wires to the server.
func startWired(t *testing.T) (c *cluster, at []*wires) {
	t.Helper()
	c = startCluster(t, func(_ int, server *postgrestest.Server) string {
		w := newWires(t, server)
		at = append(at, w)
		return w.dsn()
	})
	return c, at
}

// withoutToken changes the functions of the schema that look at the tokens of calls.
func (c *cluster) withoutToken() (sql string) {
	return c.changed("enter", "v_token > p_token", "false") + ";" +
		c.changed("append", "WHEN f.token > h.token THEN -1", "WHEN f.token > h.token THEN f.hosting")
}

// changed returns a function of the schema with a check that does not look.
func (c *cluster) changed(function, check, with string) (sql string) {
	conn := c.connect()
	defer conn.Close(c.patient())
	err := conn.QueryRow(c.patient(), "SELECT pg_get_functiondef($1::regproc)", "survival."+function).Scan(&sql)
	if err != nil {
		c.t.Fatal(err)
	}
	if !strings.Contains(sql, check) {
		c.t.Fatalf("the function %s does not say %q:\n%s", function, check, sql)
	}
	return strings.Replace(sql, check, with, 1)
}

// pausing pauses owners.
type pausing struct {
	c  *cluster
	l  *load // without callers
	at []*wires

	last uint64            // number of an increment
	held map[string]uint64 // by type: of the one that is held
}

// play pauses the owner of two entities with writes on the way. stored says that these are stored.
func (p *pausing) play(t *testing.T, turn int, stored bool) {
	c := p.c
	c.lookAt(everyEntity()) // all shards have hosts then
	paused := c.another()
	held := map[string]judge.Entity{}   // by type: an entity whose write is held
	beside := map[string]judge.Entity{} // and one of the same shard
	for _, typ := range []string{counters, accounts} {
		held[typ], beside[typ] = p.pair(typ, paused, turn)
		p.add(held[typ])
		p.add(beside[typ])
	}
	w := p.at[paused]
	w.hold(held[counters].ID, held[accounts].ID)
	owner, answers := c.process(paused), make(chan error, len(held))
	for typ, e := range held { // order: each by itself
		number := p.number()
		p.held[typ] = number
		p.l.note(told{entity: e, number: number})
		go func() {
			q := question{Type: e.Type, ID: e.ID, Number: number, Adds: true, Within: patience}
			answers <- owner.Call(c.patient(), "ask", q, nil)
		}()
	}
	if err := w.heldAll(c.patient()); err != nil {
		t.Fatal("the writes are not on the way:", err)
	}
	c.silence(paused)
	c.say("node %d is paused with writes on the way", paused)
	for typ := range held { // order: each by itself
		p.add(beside[typ])
		if r, err := c.lookUntil(c.patient(), held[typ]); err != nil || r.Seq != 1 {
			t.Errorf("the successor of %v has %d increments, want 1: %v", held[typ], r.Seq, err)
		}
	}
	c.say("their successors have written")
	w.release()
	if err := w.answered(c.patient()); err != nil {
		t.Fatal("the server does not answer what was held:", err)
	}
	v := c.judgeStore(p.l.log, nil)
	for typ, e := range held { // order: each by itself
		if n := v.lengths[e]; n != 1 && !stored || n != 2 && stored {
			t.Errorf("%s %v: %d increments are stored; by the write of the paused owner: %v", typ, e, n, stored)
		}
	}
	c.speak()
	for range held {
		if answer := <-answers; answer == nil {
			t.Error("the paused owner has answered")
		}
	}
	c.settle()
	if !stored {
		p.repeat(t, held)
	}
}

// add increments an entity, as the only caller.
func (p *pausing) add(e judge.Entity) { p.until(e, p.number()) }

// until repeats an increment until it is answered.
func (p *pausing) until(e judge.Entity, number uint64) {
	p.c.t.Helper()
	for ctx := p.c.patient(); !p.l.increment(e, number); {
		if ctx.Err() != nil {
			p.c.t.Fatalf("%v does not answer", e)
		}
	}
}

func (p *pausing) number() uint64 {
	p.last += callers
	return p.last
}

// pair chooses two entities of one shard that a node hosts.
func (p *pausing) pair(typ string, host, turn int) (a, b judge.Entity) {
	p.c.t.Helper()
	seen := map[sharding.ShardID]judge.Entity{}
	for i := range 20 * shards {
		e := entity(typ, turn*1000+i)
		s := sharding.ShardOf(e.ID, shards)
		first, again := seen[s]
		if !again {
			seen[s] = e
			continue
		}
		if p.c.owner(typ, e.ID) == host {
			return first, e
		}
	}
	p.c.t.Fatalf("node %d hosts no two %ss of one shard", host, typ)
	return a, b
}

// repeat has the callers repeat what was held, and judges all.
func (p *pausing) repeat(t *testing.T, held map[string]judge.Entity) {
	for typ, e := range held { // order: each by itself
		p.until(e, p.held[typ])
	}
	v := p.c.judgeStore(p.l.log, nil)
	for _, text := range v.complaints {
		t.Error(text)
	}
	for _, e := range held { // order: each by itself
		if n := v.lengths[e]; n != 2 {
			t.Errorf("%v: %d increments are stored, want 2", e, n)
		}
	}
}

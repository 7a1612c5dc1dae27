package eventsourced

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
)

// What an entity reads and writes belongs to the trace of the message that it does so for. The span of the
// handler ends when the event is stored.
func TestStoredInATrace(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := tracingtest.New()
		_, nodes := cluster(t, 1, func(c *ddata.Config) { c.Tracer = r })
		g := start(t, newShelf().on(sumType(), sums()), nodes...)[0]
		if _, err := g.StartEntity(within(t, time.Minute), elsewhere(g, "a")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.Clear()
		for range 2 {
			if _, err := sharding.Ask(within(t, time.Minute), g.Ref("a"), add{N: 3}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		all := r.Spans()
		var second []tracingtest.Recorded
		for _, s := range all {
			if s.Trace == all[len(all)-1].Trace {
				second = append(second, s)
			}
		}
		if tree := tracingtest.Tree(second); tree != "ask sum\n  answer sum\n    save sum\n" {
			t.Errorf("the second question is\n%s", tree)
		}
		calls := map[string]int{}
		for _, s := range all {
			if s.Name == "recover sum" || s.Name == "save sum" {
				calls[s.Name+": "+s.Attrs["db.operation.name"]]++
			}
		}
		if len(calls) != 2 || calls["recover sum: load"] != 1 || calls["save sum: append"] != 2 {
			t.Errorf("%v in\n%s", calls, tracingtest.Tree(all))
		}
	})
}

package sharding

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/sharding/control"
)

// A machine of an entity type that panics ends its node, without the lease, and the process goes
// on: the other nodes take over.
func TestBrokenMachineEndsItsNode(t *testing.T) {
	for name, breaks := range map[string]func(c *control.Plane){
		"region of entity type Cart": func(c *control.Plane) {
			c.Inbox.Do(func(*control.Plane, time.Time) { panic("an invariant") })
		},
		"coordinator of entity type Cart": func(c *control.Plane) {
			c.Coord.Do(func(time.Time) { panic("an invariant") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan events.MachineBroken, 2)
			nodes := ddatatest.StartWith(t, 3, func(_ int, c *ddata.Config) {
				c.Roles = []string{"backend"}
				c.OnEvent = eventstest.On(func(e events.MachineBroken) { told <- e })
			})
			var regions []*Region[message_]
			for _, n := range nodes {
				regions = append(regions, begin(t, n, cartType(&cartLog{})))
			}
			askThirty(t, "all run", regions[0])
			breaks(regions[0].run.control)
			<-nodes[0].Done()
			if err := nodes[0].Err(); !errors.Is(err, ddata.ErrBroken) ||
				!strings.Contains(err.Error(), name) || nodes[0].HoldsLease() {
				t.Errorf("ended with %v; holds a lease: %t", err, nodes[0].HoldsLease())
			}
			if e := <-told; e.Machine != name || e.State == "" || !strings.Contains(e.Stack, "broken_test.go") {
				t.Errorf("told %v", e)
			}
			askThirty(t, "the others have taken over", regions[1])
		})
	}
}

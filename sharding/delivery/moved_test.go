package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// What was in the hands of a node that leaves, or dies, is delivered again when its shards have
// moved, and not only after ResendFirst, which is far longer than this test waits.
func TestMovedIsDeliveredAtOnce(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, gone, other *ddata.Node){
		"left": func(t *testing.T, gone, _ *ddata.Node) {
			if err := gone.Leave(within(t, time.Minute)); err != nil {
				t.Error(err)
			}
		},
		"killed": func(t *testing.T, gone, other *ddata.Node) {
			_ = gone.Close() // a crash, to the others
			if err := other.Down(gone.UID()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := ddatatest.Start(t, "backend", "backend", "frontend")
			l := newHistory()
			l.hold = make(chan *delivery.Confirmation, 1000)
			var gs []*sharding.Region[message]
			for _, n := range ns {
				gs = append(gs, region(t, n, l.entityType(t)))
			}
			ctx := within(t, time.Minute)
			const entities = 40
			var keys []string
			p := producer(t, gs[2], delivery.Config{ID: "p", ResendFirst: time.Hour})
			for e := range entities {
				keys = append(keys, fmt.Sprint("p/e", e))
				for n := 1; n <= 3; n++ {
					if err := p.Send(ctx, fmt.Sprint("e", e), step{"p", n}); err != nil {
						t.Fatal(err)
					}
				}
			}
			var held []*delivery.Confirmation
			for range entities { // all are in their handlers' hands, and none is confirmed
				held = append(held, <-l.hold)
			}
			end(t, ns[0], ns[1])
			go func() {
				for _, c := range held { // those of the first node are stale now
					_ = c.Confirm()
				}
				for c := range l.hold {
					_ = c.Confirm()
				}
			}()
			if err := p.Flush(ctx); err != nil {
				t.Errorf("%v: %+v", err, p.Stats())
			}
			close(l.hold)
			if again, missing := l.check(3, keys...); again == 0 || missing > 0 || len(l.wrong) > 0 {
				t.Errorf("%d twice, %d missing, %v", again, missing, l.wrong)
			}
			st := p.Stats()
			if st.Timeouts > 0 || st.Moves == 0 || st.Resent > 10*entities {
				t.Errorf("%+v", st)
			}
			t.Logf("%+v", st)
		})
	}
}

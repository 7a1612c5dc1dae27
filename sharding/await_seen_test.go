package sharding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// An operator sees what waits: it is counted, the errors of Ask and Leave name it, and what waits for
// long is told of, a few entities at a time, and the oldest again when its age has doubled.
func TestAwaitIsSeen(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Timeouts.HandlerSlow = time.Second
		g, _ := localRegion(t, typ)
		control := g.plane.Ctl.(*fakeControl)
		told := func() (all []string) {
			synctest.Wait()
			control.mu.Lock()
			defer control.mu.Unlock()
			for _, e := range control.notes {
				if e.Kind != protocol.ResultAwaited || !e.Alarm() {
					t.Error(e)
				}
				all = append(all, fmt.Sprintf("%s of %d after %v", string(e.Entity), e.Count, e.Took))
			}
			control.notes = nil
			return all
		}
		counts := func(waiting, overdue int) {
			t.Helper()
			if st := dataplane.CountStats(g.plane); st.Results != waiting || st.Overdue != overdue {
				t.Errorf("%d wait, %d overdue, want %d and %d", st.Results, st.Overdue, waiting, overdue)
			}
		}
		for i := range 10 {
			if err := g.Tell(t.Context(), fmt.Sprint("e", i), echo{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // their order
		}
		<-time.After(900 * time.Millisecond)
		if got := told(); len(got) > 0 {
			t.Errorf("told early: %v", got)
		}
		counts(10, 0)
		if s := g.plane.Entities.Waits.Oldest(); !strings.Contains(s, `entity "e0": a handler of it has waited`) ||
			!strings.HasSuffix(s, "; and 7 more") {
			t.Error(s)
		}
		<-time.After(200 * time.Millisecond)
		got := told()
		if len(got) != 8 || got[0] != "e0 of 10 after 1s" {
			t.Errorf("told of %v", got)
		}
		counts(10, 10)
		_, err := Ask(within(t, time.Second), g.Ref("e1"), total{})
		if want := "on this node: a handler of it has waited for a result for 2.1s"; !errors.Is(err, ErrTimeout) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		if got := told(); !slices.Equal(got, []string{"e0 of 10 after 2s"}) {
			t.Errorf("told of %v", got)
		}
		for range 10 {
			d.result(none)
		}
		counts(0, 0)
		synctest.Wait()
		_, err = Ask(t.Context(), g.Ref("e1"), total{})
		<-time.After(time.Minute)
		if got := told(); err != nil || len(got) > 0 {
			t.Error(err, got)
		}
	})
}

// A message of another node that waits for a result takes its room until its rest has run, or its
// incarnation ends.
func TestAwaitTakesRoom(t *testing.T) {
	for _, forced := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			var d desk
			g, _ := localRegion(t, clerks(&d))
			s := shardOf(g, "a")
			for range 2 {
				s.Deliver("a", mailbox.Envelope{Msg: echo{}}, 100)
			}
			synctest.Wait()
			e := s.Find("a")
			if n := g.plane.Entities.Held.Used(); n != 200 || e.Bytes() != 200 {
				t.Errorf("%d bytes in the region, %d in the mailbox", n, e.Bytes())
			}
			if forced {
				<-d.waits
				e.Force()
			} else {
				d.result(none)
			}
			synctest.Wait()
			if n := g.plane.Entities.Held.Used(); n != 100 || e.Bytes() != 100 {
				t.Errorf("%d bytes in the region, %d in the mailbox after the first", n, e.Bytes())
			}
			d.result(none)
			synctest.Wait()
			if n := g.plane.Entities.Held.Used(); n != 0 || e.Bytes() != 0 {
				t.Errorf("%d bytes in the region, %d in the mailbox at the end", n, e.Bytes())
			}
		})
	}
}

// What a New that has failed has set its timeout for is no message, and makes no incarnation.
func TestTimeoutOfAFailedNew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		made, handled := 0, 0
		typ := cartType(&cartLog{})
		typ.Supervision.Decide = Always(Resume)
		typ.New = func(c *Context[message_]) Entity[message_] {
			if made++; made == 1 {
				if err := c.SetReceiveTimeout(time.Second, addItem{}); err != nil {
					t.Error(err)
				}
				panic("no store")
			}
			return receiveFunc(func(*Context[message_], message_) error { handled++; return nil })
		}
		g, _ := localRegion(t, typ)
		if err := g.Tell(t.Context(), "a", echo{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if made != 1 || handled != 0 {
			t.Errorf("%d made, %d messages handled", made, handled)
		}
	})
}

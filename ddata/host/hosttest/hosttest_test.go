package hosttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// The node tells of what happens to it in order, and of nothing after its end but that.
func TestNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := NewNode(Config{Scheduler: scheduler.Goroutines{}, Roles: []string{"a"}})
		h := n.Host()
		var mu sync.Mutex
		var told []string
		tell := func(what ...any) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(what...))
		}
		h.Lease.OnLease(func(held bool) { tell("lease ", held) })
		h.Cluster.OnView(func(v *view.View) { tell("view ", v != nil) })
		h.Lifecycle.OnEnd(func(err error) { tell("end ", errors.Is(err, ErrEnded)) })
		n.HoldLease(true) // it does
		n.HoldLease(false)
		if h.Lease.Holds() {
			t.Error("the lease was taken away, and it holds it")
		}
		n.HoldLease(true)
		s := view.Service{Role: "a", Name: "x"}
		before := h.Cluster.View().Epoch
		h.Cluster.Offer(s)
		h.Cluster.Offer(view.Service{Role: "b", Name: "y"}) // it has not the role
		synctest.Wait()
		v := h.Cluster.View()
		if m, ok := v.InCharge(s); !ok || m.UID != n.UID() || v.Epoch != before+1 {
			t.Errorf("in charge is %v, %t, in %v", m, ok, v.Epoch)
		}
		n.End()
		n.End()
		if h.Lease.Holds() || h.Lifecycle.Ended() == nil {
			t.Error("it has ended, and has its lease")
		}
		want := []string{"lease false", "lease true", "view true", "end true", "view false"}
		slices.Sort(told[3:])
		if !slices.Equal(told, want) {
			t.Errorf("told: %q", told)
		}
		h.Lifecycle.OnEnd(func(error) { tell("late") })
		synctest.Wait()
		if !slices.Contains(told, "late") {
			t.Error("an end that was is not told")
		}
		next := NewNode(Config{Scheduler: scheduler.Goroutines{}, Roles: []string{"a"}, Before: n, Data: n.Data()})
		if w := next.View(); w.Epoch <= v.Epoch || w.Has(n.UID()) || !w.Has(next.UID()) || len(w.Lines) != 0 {
			t.Errorf("the next incarnation has %v", w)
		}
		if _, err := next.Host().Data("b"); err == nil {
			t.Error("it has data of a role that it has not")
		}
	})
}

// Reads and writes can be stalled and slow.
func TestData(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := NewData(scheduler.Goroutines{})
		var seen []string
		cancel := d.Watch("k", func(key string, _ crdt.Reader) { seen = append(seen, key) })
		write := func(key string) <-chan error {
			done := make(chan error, 1)
			d.Update(key, quorum.Local, time.Second, func(tx *crdt.Tx) error {
				return crdt.GCounter{}.Mutator(tx).Increment(1)
			}, func(err error) { done <- err })
			return done
		}
		if err := <-write("k1"); err != nil {
			t.Error(err)
		}
		goOn := d.Stall("k2")
		late := write("k2")
		synctest.Wait()
		if len(late) > 0 || !slices.Equal(d.Keys("k"), []string{"k1"}) {
			t.Error("it was written while it stalled", d.Keys("k"))
		}
		goOn()
		if err := <-late; err != nil {
			t.Error(err)
		}
		cancel()
		d.WritesTake(time.Minute, func(key string) bool { return key == "k3" })
		if err := <-write("k3"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		d.ReadsTake(time.Millisecond)
		read := make(chan error, 1)
		d.Get("k3", quorum.Local, time.Second, func(_ crdt.Reader, err error) { read <- err })
		if err := <-read; err != nil {
			t.Error(err)
		}
		if !slices.Equal(seen, []string{"k1", "k2"}) || d.Asked()[Asked{quorum.Local, time.Second}] != 4 {
			t.Errorf("seen %q, asked %v", seen, d.Asked())
		}
	})
}

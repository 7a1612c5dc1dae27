package doc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/replicator/operation"
)

var stock = ddata.NewKey[crdt.PNCounter]("stock/pen")

// take takes pens from the stock, on as many replicas as the level says.
func take(ctx context.Context, r *ddata.Replicator, n int64, level ddata.WriteLevel) error {
	return ddata.Update(ctx, r, stock, level, func(c *crdt.PNCounterTx) error { return c.Decrement(n) })
}

// left reads the stock.
func left(ctx context.Context, r *ddata.Replicator, level ddata.ReadLevel) (int64, error) {
	pens, err := ddata.Get(ctx, r, stock, level)
	return pens.Value(), err
}

// A write that has reached a majority is seen by each read from a majority, whatever node asks.
func readsYourWrites(ctx context.Context, writer, reader *ddata.Replicator) error {
	if err := take(ctx, writer, 3, ddata.WriteMajority); err != nil {
		return err
	}
	n, err := left(ctx, reader, ddata.ReadMajority)
	if err != nil {
		return err
	}
	if n != -3 {
		return fmt.Errorf("the reader sees %d", n)
	}
	return nil
}

// how says what became of a write that has failed.
func how(err error) string {
	var late *operation.TimeoutError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &late):
		return "not known: it is here, and spreads" // it is not taken back
	case errors.Is(err, operation.ErrOverloaded):
		return "nothing happened: try again later"
	default:
		return err.Error()
	}
}

func TestLevels(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, nil)
		data := []*ddata.Replicator{}
		for i := range 3 {
			data = append(data, c.Replicator(i, ddata.DefaultRole))
		}
		if err := readsYourWrites(t.Context(), data[0], data[1]); err != nil {
			t.Fatal(err)
		}
		has := func(node int, want int64) {
			t.Helper()
			ddatatest.AwaitValue(t, data[node], stock, func(pens crdt.PNCounter) error {
				if pens.Value() != want {
					return fmt.Errorf("node %d has %d", node, pens.Value())
				}
				return nil
			})
		}
		has(2, -3) // soon after
		c.Isolate(2)
		if err := take(t.Context(), data[0], 1, ddata.WriteMajority); err != nil {
			t.Errorf("two of three are enough: %v", err)
		}
		// The node that is cut off reads what it has, and writes for later. It has no majority.
		if n, err := left(t.Context(), data[2], ddata.ReadLocal); n != -3 || err != nil {
			t.Errorf("it has %d, %v", n, err)
		}
		if err := take(t.Context(), data[2], 5, ddata.WriteLocal); err != nil {
			t.Error(err)
		}
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if got := how(take(short, data[2], 7, ddata.WriteMajority)); got != "not known: it is here, and spreads" {
			t.Error(got)
		}
		c.HealAll()
		for i := range 3 {
			has(i, -16)
		}
		// A linearizable read never goes back behind what another one has seen.
		if n, err := left(t.Context(), data[1], ddata.ReadLinearizable); n != -16 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// changed yields the elements of a set that came between two states, with true, and those that went.
func changed(before, now crdt.Reader) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		last := ""
		for item := range crdt.Diff(before, now) { // by path: one item for each write that added the element
			was, is := before.Has(item.Path), now.Has(item.Path)
			if was == is || item.Path == last {
				continue
			}
			last = item.Path
			name, err := crdt.DecodeElement[string](last[1:]) // behind the byte that says what the key is
			if err != nil || !yield(name, is) {
				return
			}
		}
	}
}

// follow tells of each element of a set that comes or goes. It looks at what has changed only.
func follow(ctx context.Context, r *ddata.Replicator, key string, tell func(name string, there bool)) error {
	var last crdt.Reader
	for c, err := range r.Watch(ctx, key) {
		if err != nil {
			return err
		}
		for name, there := range changed(last, c.Value) {
			tell(name, there)
		}
		last = c.Value
	}
	return nil
}

// A follower of a set has the same elements in the end, whatever nodes have added and removed at one time. No element
// comes that is there, or goes that is not.
func TestFollow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const elements = 89
		tags := ddata.NewKey[crdt.ORSet[string]]("tags")
		c := ddatatest.NewCluster(t, 3, nil)
		data := func(i int) *ddata.Replicator { return c.Replicator(i, ddata.DefaultRole) }
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		mirror := map[string]bool{}
		ended := make(chan error, 1)
		go func() {
			ended <- follow(ctx, data(2), "tags", func(name string, there bool) {
				mu.Lock()
				defer mu.Unlock()
				if mirror[name] == there {
					t.Errorf("%q: told %v twice", name, there)
				}
				mirror[name] = there
			})
		}()
		agreed := func() error {
			mu.Lock()
			defer mu.Unlock()
			for i := range 3 {
				set, err := ddata.Get(ctx, data(i), tags, ddata.ReadLocal)
				if err != nil {
					return err
				}
				for k := range elements {
					if name := fmt.Sprint(k); set.Contains(name) != mirror[name] {
						return fmt.Errorf("%q is %v in the set of node %d", name, set.Contains(name), i)
					}
				}
			}
			return nil
		}
		for i := range 600 {
			if i%100 == 0 {
				c.Isolate(i / 100 % 3)
			}
			if err := ddata.Update(ctx, data(i%3), tags, ddata.WriteLocal, func(s *crdt.ORSetTx[string]) error {
				if name := fmt.Sprint(i * i % elements); i%7 >= 2 {
					return s.Add(name)
				} else {
					return s.Remove(name)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if i%100 == 99 {
				c.HealAll()
				ddatatest.Eventually(t, "the mirror is the set", agreed)
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

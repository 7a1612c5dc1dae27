package ddatatest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

var _ ddatatest.TB = &test{}

// test stands for the *testing.T of a test, which an example does not have.
type test struct{ cleanups []func() }

func (t *test) Helper()                   {}
func (t *test) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (t *test) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (t *test) Logf(string, ...any)       {}
func (t *test) Failed() bool              { return false }
func (t *test) Cleanup(fn func())         { t.cleanups = append(t.cleanups, fn) }
func (t *test) end() {
	for _, fn := range t.cleanups {
		fn()
	}
}

var hits = ddata.NewKey[crdt.GCounter]("hits")

// hit counts one on a replica, at a level.
func hit(r *ddata.Replicator, level ddata.WriteLevel) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return ddata.Update(ctx, r, hits, level, func(tx *crdt.GCounterTx) error { return tx.Increment(1) })
}

func Example() {
	t := &test{} // a test has its *testing.T
	defer t.end()

	c := ddatatest.NewCluster(t, 3, nil)
	c.Isolate(2)
	fmt.Println(hit(c.Replicator(0, ddata.DefaultRole), ddata.WriteMajority))
	fmt.Println(hit(c.Replicator(2, ddata.DefaultRole), ddata.WriteLocal))
	c.HealAll()
	for i := range 3 {
		ddatatest.AwaitValue(t, c.Replicator(i, ddata.DefaultRole), hits, func(n crdt.GCounter) error {
			if n.Value() != 2 {
				return fmt.Errorf("node %d has %d", i, n.Value())
			}
			return nil
		})
	}
	fmt.Println("all have both")
	// Output:
	// <nil>
	// <nil>
	// all have both
}

package doc_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// runInvoices writes invoices on one node of the role, the oldest. Every node calls it.
func runInvoices(node *ddata.Node, s *invoices, every time.Duration) (*ddata.Singleton, error) {
	return node.RunSingleton(ddata.SingletonConfig{
		Name: "invoices", Role: "backend",
		Run: func(ctx context.Context, token ddata.FencingToken) error {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done(): // the node leaves, ends, or has lost its lease
					return nil
				case <-tick.C:
					if err := s.write(token); err != nil {
						return err // it is told as an event, and Run is called again after RestartAfter
					}
				}
			}
		},
	})
}

var errFenced = errors.New("a later run has written")

// invoices stands for a store outside of the cluster. A database does the same with one statement:
// UPDATE … SET token = $1 … WHERE token <= $1.
type invoices struct {
	mu      sync.Mutex
	highest []byte // the token of the last write
	written int
}

// write refuses what an earlier run sends.
func (s *invoices) write(token ddata.FencingToken) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Compare(token.Bytes(), s.highest) < 0 {
		return errFenced
	}
	s.highest = token.Bytes()
	s.written++
	return nil
}

func (s *invoices) state() (highest []byte, written int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest, s.written
}

// One node writes. When it is killed another goes on, and nothing of the first run counts any more.
func TestSingletonsOfTheGuide(t *testing.T) {
	c := ddatatest.NewCluster(t, 3, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })
	s := &invoices{}
	all := make([]*ddata.Singleton, c.Len())
	for i := range all {
		var err error
		if all[i], err = runInvoices(c.Node(i), s, time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	running := func() (on []int) {
		for _, i := range c.Running() {
			if all[i].State().String() == "running" {
				on = append(on, i)
			}
		}
		return on
	}
	writes := func() {
		_, before := s.state()
		ddatatest.Eventually(t, "an invoice", func() error {
			if _, now := s.state(); now == before {
				return errors.New("none was written")
			}
			return nil
		})
	}
	writes()
	old, _ := s.state()
	first := running()
	if len(first) != 1 {
		t.Fatalf("it runs on nodes %v", first)
	}
	c.Kill(first[0])
	ddatatest.Eventually(t, "a run with a higher token", func() error {
		if token, _ := s.state(); bytes.Compare(token, old) <= 0 {
			return errors.New("no other node has written")
		}
		return nil
	})
	if next := running(); len(next) != 1 || next[0] == first[0] {
		t.Errorf("after the end of node %d it runs on %v", first[0], next)
	}
	if err := s.write(ddata.FencingToken{}); !errors.Is(err, errFenced) {
		t.Errorf("the token of no run: %v", err)
	}
	writes()
}

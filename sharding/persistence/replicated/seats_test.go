package replicated_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A later hosting takes its seat while an earlier one takes its own, at each of two steps: the earlier
// one is fenced, and the later one has what was there.
func TestSeatsCross(t *testing.T) {
	for _, step := range []string{"announced", "read"} {
		t.Run(step, func(t *testing.T) {
			c := start(t, t.TempDir(), t.TempDir(), t.TempDir())
			a, b := open(t, c.nodes[0]), open(t, c.nodes[1])
			appended(t, b, hosting(1), write("e", 0, "first"))
			replicated.Reach(a, step, func() {
				must(t, b.Fence(patience(t), hosting(3)))
				eventually(t, "the news of the later seat", func() bool { return a.HasSeat(t, hosting(3)) })
			})
			if err := a.Fence(patience(t), hosting(2)); !errors.Is(err, persistence.ErrFenced) {
				t.Errorf("the earlier hosting begins: %v", err)
			}
			for i, n := range c.nodes {
				if got := bodies(t, open(t, n), hosting(3), "e"); !slices.Equal(got, []string{"first"}) {
					t.Errorf("node %d finds %q", i, got)
				}
			}
		})
	}
}

// A call that is fenced between two of its transactions does not say ErrFenced, for that says that
// nothing was stored.
func TestFencedBetweenTransactions(t *testing.T) {
	c := start(t, t.TempDir(), t.TempDir())
	a, b := open(t, c.nodes[0]), open(t, c.nodes[1])
	must(t, a.Fence(patience(t), hosting(1)))
	replicated.Reach(a, "flushed", func() { must(t, b.Fence(patience(t), hosting(2))) })
	body := strings.Repeat("x", 3<<20)
	_, err := a.Append(patience(t), hosting(1), []persistence.Write{write("e", 0, body), write("f", 0, body)})
	if err == nil || errors.Is(err, persistence.ErrFenced) || !strings.Contains(err.Error(), "some writes were") {
		t.Errorf("it says %v", err)
	}
	if e, f := bodies(t, b, hosting(2), "e"), bodies(t, b, hosting(2), "f"); len(e) != 1 || len(f) != 0 {
		t.Errorf("%d events are stored, and %d", len(e), len(f))
	}
}

// An owner that is cut off replaces a value twice. Neither counts, and so the second does not drop the
// value that does: the successor has it, also when it hears of both.
func TestWhatIsReplacedTwiceAndVoid(t *testing.T) {
	at := time.UnixMicro(1)
	for name, c := range map[string]struct {
		save func(s *replicated.Store, n uint64, body string) error
		load func(s *replicated.Store) (body string, err error)
	}{
		"state": {
			func(s *replicated.Store, n uint64, body string) error {
				_, err := s.SaveStates(patience(t), hosting(1), []persistence.StateWrite{
					{Entity: "e", After: n, ID: n, State: persistence.State{Body: []byte(body), At: at}},
				})
				return err
			},
			func(s *replicated.Store) (body string, err error) {
				err = s.LoadStates(patience(t), hosting(2), []protocol.EntityID{"e"},
					func(_ int, one persistence.State) error { body = string(one.Body); return nil })
				return body, err
			},
		},
		"snapshot": {
			func(s *replicated.Store, _ uint64, body string) error {
				_, err := s.SaveSnapshots(patience(t), hosting(1), []persistence.Snapshot{
					{Entity: "e", Seq: 1, Body: []byte(body), At: at},
				})
				return err
			},
			func(s *replicated.Store) (body string, err error) {
				err = s.LoadSnapshots(patience(t), hosting(2), []persistence.SnapshotRead{{Entity: "e"}},
					func(_ int, one persistence.Snapshot) error { body = string(one.Body); return nil })
				return body, err
			},
		},
	} { // order: each has a cluster of its own
		t.Run(name, func(t *testing.T) {
			p := startParted(t)
			a, b := p.stores[0], p.stores[1]
			must(t, c.save(a, 0, "one"))
			p.cut()
			answers := make(chan error, 2)
			for i, body := range []string{"two", "three"} {
				go func() { answers <- c.save(a, uint64(i)+1, body) }()
				eventually(t, body, func() bool { return a.HasBody(t, hosting(1), "e", body) })
			}
			must(t, b.Fence(patience(t), hosting(2)))
			p.wires.HealAll()
			for range cap(answers) {
				if err := <-answers; !errors.Is(err, persistence.ErrFenced) {
					t.Errorf("the old owner got %v", err)
				}
			}
			eventually(t, "the meeting", func() bool { return b.HasBody(t, hosting(1), "e", "three") })
			if body, err := c.load(b); body != "one" || err != nil {
				t.Errorf("the successor finds %q, %v", body, err)
			}
		})
	}
}

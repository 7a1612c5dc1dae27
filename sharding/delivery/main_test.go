package delivery_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

func TestMain(m *testing.M) {
	if what := strings.Fields(os.Getenv(childEnv)); len(what) == 3 {
		round, err := strconv.Atoi(what[2])
		if err == nil {
			err = runProducer(what[0], what[1], round)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

type (
	message interface{ message() }
	step    struct {
		By string
		N  int
	}
	count struct{ sharding.Returns[message, int] }
	big   struct{ Bytes []byte }
	alien struct{}
)

func (step) message()  {}
func (count) message() {}
func (big) message()   {}
func (alien) message() {}

// history is what all entities of a test have seen.
type history struct {
	mu    sync.Mutex
	seen  map[string]map[int]int // by producer and entity: how often each number was handled
	wrong []string
	fail  map[int]int // by number: how often its handler fails
	hold  chan *delivery.Confirmation
}

func newHistory() *history { return &history{seen: map[string]map[int]int{}, fail: map[int]int{}} }

// walker is the entity: the numbers of each producer come in order, and once.
type walker struct {
	l    *history
	last map[string]int
}

func (w *walker) Receive(c *sharding.Context[message], m message) error {
	switch m := m.(type) {
	case step:
		return w.step(c.ID(), m)
	case count:
		return c.Reply(w.last["p"])
	}
	return nil
}

func (w *walker) step(id string, m step) error {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	if w.l.fail[m.N] > 0 {
		w.l.fail[m.N]--
		return fmt.Errorf("step %d fails", m.N)
	}
	if m.N <= w.last[m.By] {
		w.l.wrong = append(w.l.wrong, fmt.Sprintf("%s: %d of %s after %d in one incarnation",
			id, m.N, m.By, w.last[m.By]))
	}
	w.last[m.By] = m.N
	key := m.By + "/" + id
	if w.l.seen[key] == nil {
		w.l.seen[key] = map[int]int{}
	}
	w.l.seen[key][m.N]++
	return nil
}

// again is how many were handled more than once, missing those never, of 1 to n by each producer to
// each entity.
func (l *history) check(n int, keys ...string) (again, missing int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		for i := 1; i <= n; i++ {
			switch l.seen[key][i] {
			case 0:
				missing++
			case 1:
			default:
				again++
			}
		}
	}
	return again, missing
}

func (l *history) entityType(t testing.TB) sharding.EntityType[message] {
	t.Helper()
	return consuming(t, l.plainType())
}

// plainType is the type before it consumes.
func (l *history) plainType() sharding.EntityType[message] {
	return sharding.EntityType[message]{
		Identity: sharding.Identity{Name: "Walker", Role: "backend", Shards: 20},
		Messages: sharding.CBOR[message](step{}, count{}, big{}),
		New: func(*sharding.Context[message]) sharding.Entity[message] {
			w := &walker{l: l, last: map[string]int{}}
			if l.hold != nil {
				return &late{w}
			}
			return w
		},
	}
}

// consuming makes a type consume.
func consuming(t testing.TB, typ sharding.EntityType[message]) sharding.EntityType[message] {
	t.Helper()
	typ, err := delivery.Consume(typ, delivery.ConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// late confirms later.
type late struct{ *walker }

func (w *late) Deliver(c *sharding.Context[message], d *delivery.Delivery[message]) error {
	if err := w.Receive(c, d.Message); err != nil {
		return err
	}
	w.l.hold <- d.Later()
	return nil
}

func region(t testing.TB, n *ddata.Node, typ sharding.EntityType[message]) *sharding.Region[message] {
	t.Helper()
	g, err := sharding.Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func producer(t testing.TB, g *sharding.Region[message], cfg delivery.Config) *delivery.Producer[message] {
	t.Helper()
	if cfg.ResendFirst == 0 {
		cfg.ResendFirst = 200 * time.Millisecond
	}
	p, err := delivery.NewProducer(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

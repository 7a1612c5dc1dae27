package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// added is the event of the tests.
type added struct{ N int }

func addedEvents() schema.Schema[added] { return schema.CBOR(schema.Type("added", added{})) }

// journal is the history of some entities, in memory.
type journal struct {
	*memory.Store
	mu   sync.Mutex
	ends map[protocol.EntityID]uint64
}

func newJournal() *journal {
	return &journal{Store: &memory.Store{}, ends: map[protocol.EntityID]uint64{}}
}

// add appends an event to entities, in one write each.
func (j *journal) add(t testing.TB, ids ...protocol.EntityID) {
	t.Helper()
	for _, id := range ids {
		body, err := addedEvents().Encode(added{1})
		if err != nil {
			t.Fatal(err)
		}
		j.append(t, id, persistence.Event{Name: body.Name, Version: body.Version, Body: body.Body})
	}
}

// append appends an event as it is.
func (j *journal) append(t testing.TB, id protocol.EntityID, e persistence.Event) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	h := persistence.Hosting{Type: "sum", Token: singleton.FencingToken{Era: 1, Epoch: 1, Up: 1, Seq: 1}}
	e.Seq, e.At = j.ends[id]+1, time.Now()
	w := persistence.Write{Entity: id, After: j.ends[id], ID: e.Seq, Events: []persistence.Event{e}}
	refused, err := j.Append(context.Background(), h, []persistence.Write{w})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	j.ends[id]++
}

// names returns ids of entities, of many slices.
func names(n int) (out []protocol.EntityID) {
	for i := range n {
		out = append(out, protocol.EntityID(fmt.Sprint("e", i)))
	}
	return out
}

// settings are what the tests begin with.
func settings(j *journal, t Target[added]) Config[added] {
	return Config[added]{Name: "sums", Role: "backend", Type: "sum", Reader: j, Events: addedEvents(), Target: t}
}

// node is the workers of a node.
func newWorkers(t testing.TB, cfg Config[added]) *workers[added] {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	p := &workers[added]{cfg: cfg.WithDefaults()}
	p.figures.log, p.figures.onFailure = slog.New(slog.DiscardHandler), cfg.OnFailure
	return p
}

// start runs all workers of a revision, on nodes in turn. stop ends them, and waits.
func start(count int, nodes ...*workers[added]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for n := range count {
		w := daemon.Worker{Number: n, Total: count}
		running.Go(func() { _ = nodes[n%len(nodes)].work(ctx, w) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// diary is the effects of handlers. Its methods may be called concurrently.
type diary struct {
	mu    sync.Mutex
	seqs  map[protocol.EntityID][]uint64 // in the order of the effects
	calls atomic.Int64
}

func newDiary() *diary { return &diary{seqs: map[protocol.EntityID][]uint64{}} }

func (d *diary) note(events ...Recorded[added]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range events {
		d.seqs[e.Entity] = append(d.seqs[e.Entity], e.Seq)
	}
}

// of returns the effects of an entity.
func (d *diary) of(id protocol.EntityID) []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seqs[id])
}

// handle is a handler that writes at once.
func (d *diary) handle(_ context.Context, e Recorded[added]) error {
	d.calls.Add(1)
	d.note(e)
	return nil
}

// gap returns an error if an event was left out: each must come before the next one of its entity has
// come for the first time.
func (d *diary) gap(ends map[protocol.EntityID]uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, end := range ends {
		var most uint64
		for _, seq := range d.seqs[id] {
			if seq > most+1 {
				return fmt.Errorf("event %d of %v comes after %d", seq, id, most)
			}
			most = max(most, seq)
		}
		if most != end {
			return fmt.Errorf("the last event of %v is %d, want %d", id, most, end)
		}
	}
	return nil
}

// double returns an error if an event has taken effect twice.
func (d *diary) double() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, seqs := range d.seqs {
		for i, seq := range seqs {
			if seq != uint64(i)+1 {
				return fmt.Errorf("effect %d of %v is that of event %d", i+1, id, seq)
			}
		}
	}
	return nil
}

// within is a target with transactions in memory: effects and offset at one moment, or neither.
type within struct {
	Memory
	diary  *diary
	commit sync.Mutex
	pause  func() // before each event
}

// Handle implements Target.
func (w *within) Handle(ctx context.Context, c Claim, b *Batch[added]) (Outcome, error) {
	var written []Recorded[added]
	_, err := b.Each(ctx, func(_ context.Context, e Recorded[added]) error {
		w.pause()
		written = append(written, e)
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	w.commit.Lock()
	defer w.commit.Unlock()
	if err := w.Save(ctx, c, b.After); err != nil {
		return Outcome{}, err
	}
	w.diary.note(written...)
	return Outcome{Handled: len(b.Events), Saved: true}, nil
}

// settle waits until nothing moves, in a bubble.
func settle(d time.Duration) {
	sleep(context.Background(), d)
	synctest.Wait()
}

var errDown = errors.New("down")

// nap is a pause of a handler, in a bubble.
func nap(r *rand.Rand) func() {
	var mu sync.Mutex
	return func() {
		mu.Lock()
		d := time.Duration(r.IntN(3)) * time.Millisecond
		mu.Unlock()
		sleep(context.Background(), d)
	}
}

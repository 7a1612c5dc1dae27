package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// inBubble runs a cluster test in virtual time; every goroutine must have ended at its end.
func inBubble(t *testing.T, fn func(t *testing.T, w *world)) {
	bubble.Test(t, func(t *testing.T) { fn(t, newWorld(t)) })
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestClusterTellAndAsk(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var regions []*Region[message_]
		for range 3 {
			n := w.join("backend")
			regions = append(regions, start(n, cartType(&cartLog{})))
		}
		proxy := start(w.join("frontend"), cartType(&cartLog{}))
		regions = append(regions, proxy)
		w.install()
		ctx := within(t, time.Minute)
		for i := range 100 {
			id := fmt.Sprint("cart-", i)
			if err := regions[i%4].Tell(ctx, id, addItem{"x", i}); err != nil {
				t.Fatal(err)
			}
			n, err := Ask(ctx, regions[i%4].Ref(id), total{})
			if err != nil || n != i {
				t.Fatalf("%s: %d, %v", id, n, err)
			}
		}
		homes := map[any]int{}
		for i := range 100 {
			if home, ok := homeOf(regions[0], fmt.Sprint("cart-", i)); ok {
				homes[home]++
			}
		}
		if len(homes) != 3 {
			t.Errorf("shards live on %v", homes)
		}
	})
}

// three starts a cluster whose nodes all host what rec records.
func (w *world) three(rec *recorder) (nodes []*fakeNode, regions []*Region[message_]) {
	for range 3 {
		n := w.join("backend")
		nodes = append(nodes, n)
		regions = append(regions, start(n, rec.entityType()))
	}
	w.install()
	return nodes, regions
}

// A node that leaves hands its shards over: nothing is lost, nothing is reordered.
func TestPlannedMoveLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		rec := newRecorder()
		nodes, regions := w.three(rec)
		ctx := within(t, 5*time.Minute)
		const senders, each = 6, 400
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for i := 1; i <= each; i++ {
					id := fmt.Sprint("e", i%10)
					if err := regions[s%3].Tell(ctx, id, numbered{Sender: s, N: i}); err != nil {
						t.Error(err)
						return
					}
					if i%20 == 0 {
						<-time.After(time.Millisecond)
					}
				}
			})
		}
		<-time.After(5 * time.Millisecond)
		if err := w.handsOver(nodes[0], time.Minute); err != nil {
			t.Error(err)
		}
		wg.Wait() // some tell by the node that leaves: what it accepts when it is no member any more is lost
		<-time.After(time.Second)
		nodes[0].gone = true
		w.install()
		for i := range 10 {
			if _, err := Ask(ctx, regions[1].Ref(fmt.Sprint("e", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := rec.count(); n != senders*each {
			t.Errorf("%d of %d messages arrived", n, senders*each)
		}
		for _, f := range rec.faults() {
			t.Error(f)
		}
	})
}

func TestKilledNode(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		rec := newRecorder()
		rec.kills = true
		nodes, regions := w.three(rec)
		ctx := within(t, 5*time.Minute)
		for i := range 100 {
			if _, err := Ask(ctx, regions[1].Ref(fmt.Sprint("e", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		w.kill(nodes[0]) // the oldest: the coordinator too
		began := time.Now()
		for i := range 100 {
			if _, err := Ask(ctx, regions[1].Ref(fmt.Sprint("e", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%v until all entities answered again", took)
		}
		for _, f := range rec.faults() {
			t.Error(f)
		}
	})
}

// A remembered entity runs again wherever its shard goes, with no message, and not once it was
// passivated.
func TestRememberedEntities(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		logs := []*cartLog{{}, {}, {}}
		var nodes []*fakeNode
		var regions []*Region[message_]
		for i := range 3 {
			n := w.join("backend")
			typ := cartType(logs[i])
			typ.Remember.Entities = true
			nodes = append(nodes, n)
			regions = append(regions, start(n, typ))
		}
		w.install()
		ctx := within(t, 5*time.Minute)
		for i := range 60 {
			id := fmt.Sprint("cart-", i)
			if loc, err := regions[1].StartEntity(ctx, id); err != nil || !loc.Active ||
				loc.Shard != ShardOf(id, len(regions[1].plane.Routes.Slots)) ||
				!slices.ContainsFunc(w.nodes, func(n *fakeNode) bool {
					return n.UID() == loc.Node && n.member.Addr == loc.Addr
				}) {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := logs[0].made.Load() + logs[1].made.Load() + logs[2].made.Load(); n != 60 {
			t.Fatalf("%d made", n)
		}
		for i := range 10 {
			if err := regions[2].Passivate(ctx, fmt.Sprint("cart-", i)); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		w.kill(nodes[0])
		<-time.After(10 * time.Second)
		live := int64(0)
		for _, l := range logs[1:] {
			live += l.made.Load() - l.stopped.Load()
		}
		if live != 50 {
			t.Errorf("%d entities live, want 50", live)
		}
	})
}

func TestStopMessageOnHandOff(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		logs := []*cartLog{{}, {}}
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, cartType(logs[0]))
		rb := start(b, cartType(logs[1]))
		w.install()
		ctx := within(t, 5*time.Minute)
		for i := range 40 {
			if err := ra.Tell(ctx, fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		made := logs[0].made.Load()
		if made == 0 || made == 40 {
			t.Fatalf("%d entities on the first node", made)
		}
		if err := w.leaves(a, time.Minute); err != nil {
			t.Fatal(err)
		}
		if n := logs[0].stopped.Load(); n != made {
			t.Errorf("%d of %d entities were stopped in order", n, made)
		}
		if n, err := Ask(ctx, rb.Ref("cart-1"), total{}); err != nil || n > 1 {
			t.Errorf("%d %v", n, err)
		}
	})
}

// A handler of a shard that moves must not wait for an answer that waits for the move.
func TestAskOfMovingShardFails(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.join("backend"), w.join("backend")
		entered := make(chan struct{})
		go1 := make(chan struct{})
		asked := make(chan error, 1)
		typ := cartType(&cartLog{})
		typ.Shards = 1
		var ra *Region[message_]
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(addItem); ok && c.ID() == "asker" {
					close(entered)
					<-go1
					_, err := Ask(c, ra.Ref("other"), total{})
					asked <- err
				}
				return nil
			})
		}
		ra = start(a, typ)
		start(b, typ)
		w.install()
		ctx := within(t, 5*time.Minute)
		if err := ra.Tell(ctx, "asker", addItem{}); err != nil {
			t.Fatal(err)
		}
		<-entered
		go func() { _ = w.leaves(a, time.Minute) }()
		<-time.After(time.Second)
		close(go1)
		if err := <-asked; !errors.Is(err, ErrMoving) {
			t.Errorf("ask: %v", err)
		}
		synctest.Wait()
	})
}

// recorder checks what entities see: one live incarnation per id, order per sender and entity.
type recorder struct {
	mu    sync.Mutex
	last  map[string]int
	live  map[string]int
	seen  int
	kills bool
	wrong []string
}

type numbered struct {
	_      struct{} `cbor:",toarray"`
	Sender int
	N      int
}

func (numbered) command() {}

func newRecorder() *recorder { return &recorder{last: map[string]int{}, live: map[string]int{}} }

func (r *recorder) entityType() EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](numbered{}, total{})
	typ.New = func(c *Context[message_]) Entity[message_] {
		r.alive(c.ID(), +1)
		return &recorded{r: r}
	}
	return typ
}

// alive counts incarnations: there is never more than one per id. Those of a killed node never
// stop, so a test that kills does not check it.
func (r *recorder) alive(id string, d int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[id] += d
	if r.live[id] > 1 && !r.kills {
		r.wrong = append(r.wrong, fmt.Sprintf("%s lives %d times", id, r.live[id]))
	}
}

// Stop notes the end of an incarnation.
func (e *recorded) Stop(c *Context[message_]) error {
	e.r.alive(c.ID(), -1)
	return nil
}

type recorded struct {
	r      *recorder
	inside atomic.Int32
}

func (e *recorded) Receive(c *Context[message_], m message_) error {
	if e.inside.Add(1) != 1 {
		e.r.fault("two handlers of one entity at a time")
	}
	defer e.inside.Add(-1)
	switch m := m.(type) {
	case numbered:
		e.r.note(c.ID(), m)
	case total:
		return c.Reply(0)
	}
	return nil
}

func (r *recorder) note(id string, m numbered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprint(id, "/", m.Sender)
	if m.N <= r.last[key] {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %d after %d", key, m.N, r.last[key]))
	}
	r.last[key] = m.N
	r.seen++
}

func (r *recorder) fault(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, s)
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

func (r *recorder) faults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

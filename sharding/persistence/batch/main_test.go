package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("the store is broken")

func hostingOn(shard protocol.ShardID, token uint64) persistence.Hosting {
	return persistence.Hosting{Type: "cart", Shard: shard, Token: singleton.FencingToken{Epoch: 1, Seq: token}}
}

func writeOf(id protocol.EntityID, after uint64, body string) persistence.Write {
	return persistence.Write{Entity: id, After: after, Events: []persistence.Event{{
		Seq: after + 1, Name: "added", Version: 1, Body: []byte(body), At: time.Unix(1, 0),
	}}}
}

// heard is the events of a client.
type heard struct {
	mu  sync.Mutex
	all []events.Event
}

func (h *heard) emit(e events.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

func (h *heard) kinds() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var s []string
	for _, e := range h.all {
		s = append(s, fmt.Sprintf("%T", e))
	}
	return fmt.Sprint(s)
}

// world is a client over a store in memory.
type world struct {
	t     *testing.T
	store *memory.Store
	c     *Client
	heard heard
	meter *eventstest.Meter
}

func newWorld(t *testing.T, s Settings) *world {
	t.Helper()
	meter := eventstest.NewMeter("coterie_persistence_", "type")
	w := newWorldWith(t, s, meter)
	w.meter = meter
	return w
}

func newWorldWith(t *testing.T, s Settings, meter events.Meter) *world {
	t.Helper()
	w := &world{t: t, store: &memory.Store{}}
	c, err := New(Config{
		Name: "cart", Journal: w.store, Snapshots: w.store, States: w.store, Settings: s, Emit: w.heard.emit,
		Meter: meter,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	return w
}

func (w *world) close() {
	w.t.Helper()
	if err := w.c.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
}

// await returns what begin's done is called with.
func await(begin func(done func(error))) error {
	got := make(chan error, 2)
	begin(func(err error) { got <- err })
	err := <-got
	synctest.Wait()
	if len(got) > 0 {
		return errors.New("done was called twice")
	}
	return err
}

func (w *world) append(h persistence.Hosting, x persistence.Write) error {
	return await(func(done func(error)) { w.c.Append(h, x, done) })
}

// load returns the bodies of an entity.
func (w *world) load(h persistence.Hosting, id protocol.EntityID, after uint64) (
	bodies string, end persistence.End, err error,
) {
	err = await(func(done func(error)) {
		w.c.Load(h, persistence.Read{Entity: id, After: after}, func(e persistence.Event) error {
			bodies += string(e.Body)
			return nil
		}, func(e persistence.End, err error) {
			end = e
			done(err)
		})
	})
	return bodies, end, err
}

// wantErr demands an error.
func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

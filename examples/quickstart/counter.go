package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// Command is what a counter understands.
type Command interface{ command() }

// Increment adds one and answers with the new count, once a majority of the nodes has it on disk.
type Increment struct {
	sharding.Returns[Command, uint64]
}

// Total answers with the count.
type Total struct {
	sharding.Returns[Command, uint64]
}

func (Increment) command() {}
func (Total) command()     {}

// counter is one entity. Its count lives in the replicated data, so nothing is lost with the
// process.
type counter struct {
	host *counters
	id   string
	key  ddata.Key[crdt.GCounter]
}

// counters is what the counters of one process share.
type counters struct {
	data *ddata.Replicator
	dir  string // of the lock files, the same for all processes

	doubled atomic.Int64 // times that an entity was found to run twice
	mu      sync.Mutex
	running map[string]*os.File // by id: its lock, held from its start to its stop
	busy    map[string]bool     // whose handler runs now
}

func (h *counters) start(c *sharding.Context[Command]) sharding.Entity[Command] {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[c.ID()] == nil { // after a failure the lock is here already
		h.running[c.ID()] = h.acquire(c.ID())
	}
	return &counter{host: h, id: c.ID(), key: ddata.NewKey[crdt.GCounter]("count/" + c.ID())}
}

// acquire locks the entity's file; that another process holds it means that the entity runs twice.
func (h *counters) acquire(id string) *os.File {
	f, err := os.OpenFile(filepath.Join(h.dir, id), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		h.doubled.Add(1) // without the lock nothing is proven
	}
	return f
}

// enter notes that a handler runs; that another one of the same entity does so too means that it
// runs twice.
func (h *counters) enter(id string) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[id] {
		h.doubled.Add(1)
	}
	h.busy[id] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.busy, id)
	}
}

// ids lists the entities that run in this process.
func (h *counters) ids() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]string, 0, len(h.running))
	for id := range h.running {
		ids = append(ids, id)
	}
	return ids
}

// Receive implements sharding.Entity.
func (e *counter) Receive(c *sharding.Context[Command], msg Command) error {
	defer e.host.enter(e.id)()
	ctx, cancel := context.WithTimeout(c, 3*time.Second)
	defer cancel()
	switch msg.(type) {
	case Increment:
		err := ddata.Update(ctx, e.host.data, e.key, ddata.WriteMajority,
			func(g *crdt.GCounterTx) error { return g.Increment(1) })
		if err != nil {
			return c.Fail(err) // the caller's affair: it does not know whether the increment counts
		}
		g, err := ddata.Get(ctx, e.host.data, e.key, ddata.ReadLocal)
		if err != nil {
			return c.Fail(err)
		}
		return c.Reply(g.Value())
	case Total:
		g, err := ddata.Get(ctx, e.host.data, e.key, ddata.ReadMajority)
		if err != nil {
			return c.Fail(err)
		}
		return c.Reply(g.Value())
	}
	return fmt.Errorf("counter %s: unknown command %T", e.id, msg)
}

// Stop implements sharding.Stopper.
func (e *counter) Stop(*sharding.Context[Command]) error {
	e.host.mu.Lock()
	lock := e.host.running[e.id]
	delete(e.host.running, e.id)
	e.host.mu.Unlock()
	return lock.Close() // and with it the lock goes
}

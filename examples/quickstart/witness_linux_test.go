package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/hosts"
	"github.com/coterie-go/coterie/sharding"
)

// envWitness makes the test binary a node whose entities write evidence: "PRESET FILE DIRECTORY
// ADDRESS SEEDS…".
const envWitness = "QUICKSTART_WITNESS"

func init() { programs = append(programs, program{envWitness, runWitness}) }

const witnesses = 100 // entities

func witnessID(i int) string { return fmt.Sprint("witness-", i) }

// mark is a message to a witness, which answers with the number of its line.
type mark struct {
	sharding.Returns[Command, uint64]
}

func (mark) command() {}

// witnessNode is one process: a node with entities that write down what they do.
type witnessNode struct {
	n      *ddata.Node
	region *sharding.Region[Command]
	file   *os.File
	woken  atomic.Bool

	// An entity holds gate from the look at its lease until its line is written. A goroutine that
	// stops the process holds it too, so that no entity is between the two when the process stops.
	// An entity that gets through after that has to look again.
	gate sync.RWMutex

	mu      sync.Mutex
	changed sync.Cond
	waiting map[string]bool // entities whose handler is before the gate, or has it
	running map[string]bool

	load numbersLoad
}

// witness is one entity.
type witness struct {
	w   *witnessNode
	seq uint64
}

func (w *witnessNode) write(l line) {
	l.PID, l.At = os.Getpid(), monotonic()
	b, err := json.Marshal(l)
	if err == nil {
		_, err = w.file.Write(append(b, '\n')) // one call, so that the lines of several processes never mix
	}
	if err != nil {
		panic(err) // without evidence nothing is proven
	}
}

// monotonic is the machine's clock, the same for all processes. Go's own monotonic time has an
// origin in each.
func monotonic() time.Duration {
	const clockMonotonic = 1
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic,
		uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Nano())
}

func (w *witnessNode) make(c *sharding.Context[Command]) sharding.Entity[Command] {
	e := &witness{w: w}
	w.enter(c.ID())
	defer w.leave(c.ID())
	w.running[c.ID()] = true
	e.act(c, line{What: lineMade})
	return e
}

func (w *witnessNode) enter(id string) {
	w.mu.Lock()
	w.waiting[id] = true
	w.changed.Broadcast()
	w.mu.Unlock()
	w.gate.RLock()
	w.mu.Lock()
}

func (w *witnessNode) leave(id string) {
	delete(w.waiting, id) // before the gate is left: the goroutine that closes it sees only those that have to wait
	w.mu.Unlock()
	w.gate.RUnlock()
}

// Receive implements sharding.Entity.
func (e *witness) Receive(c *sharding.Context[Command], m Command) error {
	if e.w.woken.Load() {
		e.w.write(line{What: lineLate, Entity: c.ID()})
	}
	e.w.enter(c.ID())
	defer e.w.leave(c.ID())
	l := line{What: lineHandled}
	if n, ok := m.(numbered); ok {
		l.From, l.N = n.From, n.N
	}
	if e.act(c, l) && c.Asked() {
		return c.Reply(e.seq)
	}
	return nil
}

// Stop implements sharding.Stopper.
func (e *witness) Stop(c *sharding.Context[Command]) error {
	e.w.write(line{What: lineStopped, Entity: c.ID()})
	return nil
}

// act writes a line under the lease, as an entity should do whatever others see.
func (e *witness) act(c *sharding.Context[Command], l line) bool {
	var err error
	l.Entity = c.ID()
	if l.Token, err = c.Fence(); err != nil {
		e.w.write(line{What: lineRefused, Entity: c.ID(), Text: err.Error()})
		return false
	}
	l.Seq = e.seq
	e.w.write(l)
	e.seq++
	return true
}

// ids lists the entities that were made here.
func (w *witnessNode) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.running))
}

// freeze stops this process when each of its entities has a handler that runs and messages behind
// that, and returns when it was continued. So at the moment of waking each of them has something to
// do.
func (w *witnessNode) freeze(ctx context.Context) error {
	w.gate.Lock()
	defer w.gate.Unlock()
	ids := w.ids()
	for _, id := range ids {
		for range 3 { // one for the handler, and two that wait in the mailbox
			if err := w.region.Tell(ctx, id, mark{}); err != nil {
				return err
			}
		}
	}
	if err := w.await(ctx, func() bool { return len(w.waiting) == len(ids) }); err != nil {
		return fmt.Errorf("%w: %d of %d handlers run", err, len(w.waiting), len(ids))
	}
	w.write(line{What: lineStopping})
	stopped := stopThisProcess()
	w.woken.Store(true) // before any handler can start: each entity still has one that waits for the gate
	w.write(line{What: lineWoke})
	return stopped
}

func (w *witnessNode) await(ctx context.Context, done func() bool) error {
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !done() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.changed.Wait()
	}
	return nil
}

// stopThisProcess is SIGSTOP to the calling thread, which stops all: unlike one to the process it
// does not come back before that.
func stopThisProcess() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()),
		uintptr(syscall.SIGSTOP)); errno != 0 {
		return errno
	}
	return nil
}

// runWitness is main of a process, on loopback or on a host of its own.
func runWitness() error {
	if _, err := hosts.Enter(); err != nil {
		return err
	}
	words := strings.Fields(os.Getenv(envWitness))
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	requests := hear(end)
	w, err := startWitness(ctx, words)
	if err != nil {
		return err
	}
	defer w.n.Close()
	go func() {
		<-w.n.Done()
		err := w.n.Err()
		w.write(line{What: lineEnded, Downed: errors.Is(err, ddata.ErrDowned), Text: err.Error()})
		end(err)
	}()
	return serve(ctx, requests, w.do)
}

func startWitness(ctx context.Context, words []string) (*witnessNode, error) {
	path, dir, addr, seeds := words[1], words[2], words[3], words[4:]
	preset := ddata.Local
	if words[0] == ddata.LAN.String() {
		preset = ddata.LAN
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	w := &witnessNode{waiting: map[string]bool{}, running: map[string]bool{}}
	w.changed.L = &w.mu
	var err error
	if w.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	w.n, err = ddata.Start(ctx, ddata.Config{
		Name: "witness", Bind: addr, Seeds: seeds, BootstrapExpect: len(seeds),
		Roles: []string{role}, Dir: dir, Preset: preset, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, err
	}
	w.region, err = sharding.Start(w.n, sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Witness", Role: role, Shards: shards},
		Remember: sharding.Remember{Entities: true},
		Messages: sharding.CBOR[Command](mark{}, numbered{}), New: w.make,
		// a third of the shards for each, for as long as it lives
		Coordination: sharding.Coordination{MinRegions: len(seeds)}, Rebalance: sharding.Rebalance{Interval: -1},
	})
	return w, err
}

// do answers one request.
func (w *witnessNode) do(ctx context.Context, r request) answer {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch r.Do {
	case "running":
		return answer{Coordinates: w.region.Coordinator() == w.n.UID(), Running: w.ids()}
	case "mark":
		return failed(w.markAll(ctx))
	case "freeze":
		return failed(w.freeze(ctx))
	case "leave":
		leaving, stop := context.WithTimeout(ctx, 8*time.Second)
		defer stop()
		return failed(w.n.Leave(leaving))
	case "stop":
		return failed(w.n.Close())
	}
	return failed(w.doNumbers(ctx, r.Do))
}

func failed(err error) (a answer) {
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// markAll has every entity answer.
func (w *witnessNode) markAll(ctx context.Context) error {
	errs := make([]error, witnesses)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = askUntil(ctx, w.region, witnessID(i), mark{}) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

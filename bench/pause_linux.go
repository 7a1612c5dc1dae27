package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/sharding"
)

const (
	pauseNodes    = 3
	pauseEntities = 100
	// the process stands still for so many times what a case takes elsewhere: a minute, unless -d
	// says otherwise
	pauseFactor = 30
)

// runPause stops one process of three, continues it after a minute, and has it count what its
// entities still did. Peers that take nodes for gone after a time, and have no leases, run all of
// the entities twice then.
func runPause(ctx context.Context, o options) error {
	stand := pauseFactor * o.d
	addrs, err := ports.Free(pauseNodes)
	if err != nil {
		return err
	}
	var nodes []*child.Process
	for i := range addrs {
		t, err := child.Start(ctx, "pause", i, strings.Join(addrs, " "))
		if err != nil {
			return err
		}
		defer t.End()
		nodes = append(nodes, t)
	}
	for _, t := range nodes { // each has asked all entities by then
		if _, err := t.Ask("mark"); err != nil {
			return err
		}
	}
	victim, others := nodes[0], nodes[1:]
	if err := victim.Tell("freeze"); err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(victim.Cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil ||
		!status.Stopped() {
		return fmt.Errorf("the process did not stop: %w, status %#x", err, status)
	}
	stopped := time.Now()
	var answered time.Duration
	for round := time.NewTicker(200 * time.Millisecond); time.Since(stopped) < stand; <-round.C {
		for _, t := range others {
			if _, err := t.Ask("mark"); err != nil {
				return err
			}
		}
		if answered == 0 {
			answered = time.Since(stopped)
		}
	}
	if err := victim.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	said, err := victim.Answer()
	if err != nil {
		return err
	}
	measure.Report("pause", "sigstop", measure.Figures{
		fmt.Sprintf("stopped_s=%.0f all_answer_again_ms=%d %s", stand.Seconds(), answered.Milliseconds(), said),
	})
	return nil
}

// pauseNode is one of the three processes.
type pauseNode struct {
	n      *ddata.Node
	region *sharding.Region[Message]

	// Each handler holds gate, and so does the goroutine that stops the process: so no handler is
	// in the middle when it stops.
	gate   sync.RWMutex
	atGate atomic.Int64
	woken  atomic.Bool

	mu  sync.Mutex
	own map[string]bool

	delivered, acted, refused atomic.Int64 // after it was continued: handlers that started; had a lease; had none
}

// Receive implements sharding.Entity for all entities of a node.
func (p *pauseNode) Receive(c *sharding.Context[Message], _ Message) error {
	if p.woken.Load() {
		p.delivered.Add(1)
	}
	p.atGate.Add(1)
	p.gate.RLock()
	defer p.gate.RUnlock()
	p.atGate.Add(-1)
	if p.woken.Load() {
		if _, err := c.Fence(); err != nil {
			p.refused.Add(1)
			return nil
		}
		p.acted.Add(1)
	}
	if c.Asked() {
		return c.Reply(uint64(0))
	}
	return nil
}

// pauseChild is main of such a process.
func pauseChild(self int, addrs []string) error {
	ctx := context.Background()
	p := &pauseNode{own: map[string]bool{}}
	var err error
	p.n, err = ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: addrs[self], Seeds: addrs, BootstrapExpect: len(addrs),
		Roles: []string{role}, Preset: ddata.Local,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	defer p.n.Close()
	p.region, err = sharding.Start(p.n, sharding.EntityType[Message]{
		Identity:     sharding.Identity{Name: "Paused", Role: role, Shards: 30},
		Coordination: sharding.Coordination{MinRegions: len(addrs)},
		Messages:     sharding.CBOR[Message](Note{}, Query{}),
		New: func(c *sharding.Context[Message]) sharding.Entity[Message] {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.own[c.ID()] = true
			return p
		},
	})
	if err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "mark":
			if err := p.mark(ctx); err != nil {
				return err
			}
			fmt.Println("marked")
		case "freeze":
			if err := p.freeze(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark has every entity answer, wherever it is.
func (p *pauseNode) mark(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	errs := make([]error, pauseEntities)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for {
				once, cancel := context.WithTimeout(ctx, time.Second)
				_, errs[i] = sharding.Ask(once, p.region.Ref("entity-"+strconv.Itoa(i)), Query{})
				cancel()
				if errs[i] == nil || ctx.Err() != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// freeze stops this process while each of its entities has a handler before the gate and messages
// behind it, and says what they did when it was continued.
func (p *pauseNode) freeze(ctx context.Context) error {
	p.gate.Lock()
	p.mu.Lock()
	own := slices.Collect(maps.Keys(p.own))
	p.mu.Unlock()
	for _, id := range own {
		for range 3 {
			if err := p.region.Tell(ctx, id, note()); err != nil {
				return err
			}
		}
	}
	for p.atGate.Load() < int64(len(own)) {
		runtime.Gosched()
	}
	runtime.LockOSThread()
	pid, tid := uintptr(os.Getpid()), uintptr(syscall.Gettid())
	// to the own thread: comes back when it is continued
	_, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, pid, tid, uintptr(syscall.SIGSTOP))
	if errno != 0 {
		return errno
	}
	woke := time.Now()
	p.woken.Store(true)
	p.gate.Unlock()
	<-p.n.Done()
	ended := time.Since(woke)
	if err := p.n.Err(); !errors.Is(err, ddata.ErrDowned) {
		return err
	}
	fmt.Printf("entities=%d deliveries_after_sigcont=%d effects_after_sigcont=%d effects_refused=%d ended_ms=%.1f\n",
		len(own), p.delivered.Load(), p.acted.Load(), p.refused.Load(), float64(ended.Microseconds())/1e3)
	return nil
}

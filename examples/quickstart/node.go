package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// The environment that makes this program a node.
const (
	envAddr  = "QUICKSTART_ADDR"
	envSeeds = "QUICKSTART_SEEDS"
	envDir   = "QUICKSTART_DIR"
	envLocks = "QUICKSTART_LOCKS"
	envLog   = "QUICKSTART_LOG" // any value: the nodes log to standard error
)

const (
	role     = "counter"
	entities = 300
	shards   = 30
	founders = 3
)

// node is the program of one node process.
type node struct {
	n        *ddata.Node
	counters *counters
	region   *sharding.Region[Command]
	traffic  traffic
}

func entityID(i int) string { return "counter-" + strconv.Itoa(i) }

// runNode is main of a node process: it starts the node and serves, until it is told to stop, until
// the demo is gone, or until the others have removed the node from the cluster.
func runNode() error {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	requests := hear(end)
	x, err := startNode(ctx)
	if err != nil {
		return serve(ctx, requests, func(context.Context, request) answer { return answer{Error: err.Error()} })
	}
	defer x.n.Close()
	go func() {
		<-x.n.Done()
		end(x.n.Err())
	}()
	return serve(ctx, requests, x.do)
}

func startNode(ctx context.Context) (*node, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if os.Getenv(envLog) != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	n, err := ddata.Start(ctx, ddata.Config{
		Name: "quickstart", Bind: os.Getenv(envAddr), Seeds: strings.Split(os.Getenv(envSeeds), ","),
		BootstrapExpect: founders,
		Roles:           []string{role}, Dir: os.Getenv(envDir), DurableKeys: []string{"count/*"},
		Preset: ddata.Local, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	data, err := n.Replicator(role)
	if err != nil {
		return nil, err
	}
	x := &node{
		n: n, counters: &counters{
			data: data, dir: os.Getenv(envLocks), running: map[string]*os.File{}, busy: map[string]bool{},
		},
	}
	x.region, err = sharding.Start(n, sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Counter", Role: role, Shards: shards},
		Remember: sharding.Remember{Entities: true},
		Messages: sharding.CBOR[Command](Increment{}, Total{}),
		New:      x.counters.start,
	})
	if file := os.Getenv(envSamples); err == nil && file != "" {
		out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		go x.record(out, n.Done())
	}
	return x, err
}

// do answers one request.
func (x *node) do(ctx context.Context, r request) answer {
	switch r.Do {
	case "running":
		return answer{
			UID: x.n.UID().String(), Coordinates: x.region.Coordinator() == x.n.UID(),
			Running: x.counters.ids(), Doubled: x.counters.doubled.Load(),
		}
	case "traffic":
		x.traffic.start(ctx, x.region)
		return answer{}
	case "more":
		if err := x.traffic.more(ctx); err != nil {
			return answer{Error: err.Error()}
		}
		return answer{}
	case "rest":
		acked, attempted := x.traffic.rest()
		return answer{Acked: acked, Attempted: attempted}
	case "probe":
		totals, err := x.probe(ctx)
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answer{Totals: totals}
	case "stop":
		_ = x.n.Close()
		return answer{}
	}
	return answer{Error: "unknown request " + r.Do}
}

// probe asks every entity for its total, side by side, and returns when all have answered.
func (x *node) probe(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit/2)
	defer cancel()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		totals = map[string]uint64{}
		last   error
	)
	for i := range entities {
		wg.Go(func() {
			total, err := askUntil(ctx, x.region, entityID(i), Total{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				last = fmt.Errorf("%s did not answer: %w", entityID(i), err)
				return
			}
			totals[entityID(i)] = total
		})
	}
	wg.Wait()
	return totals, last
}

// askUntil repeats a question until it is answered or ctx ends: what a caller should do that must
// survive the death of another node. With its own node the region stops for good, and there is
// nothing to repeat.
func askUntil(ctx context.Context, r *sharding.Region[Command], id string,
	q sharding.Request[Command, uint64]) (uint64, error) {
	for {
		once, cancel := context.WithTimeout(ctx, time.Second)
		total, err := sharding.Ask(once, r.Ref(id), q)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, sharding.ErrStopped) {
			return total, err
		}
	}
}

// traffic increments random counters all the time and keeps account of it.
type traffic struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu               sync.Mutex
	acked, attempted map[string]uint64
	sum              uint64        // of acked
	goal             uint64        // when sum gets here,
	reached          chan struct{} // this is closed
}

const (
	trafficCallers = 8
	trafficMore    = 1000
)

func (t *traffic) start(ctx context.Context, r *sharding.Region[Command]) {
	ctx, cancel := context.WithCancel(ctx)
	t.cancel = cancel
	t.acked, t.attempted = map[string]uint64{}, map[string]uint64{}
	for range trafficCallers {
		t.wg.Go(func() {
			for ctx.Err() == nil {
				if err := t.increment(ctx, r, entityID(rand.IntN(entities))); errors.Is(err, sharding.ErrStopped) {
					return // the node has ended
				}
			}
		})
	}
}

func (t *traffic) increment(ctx context.Context, r *sharding.Region[Command], id string) error {
	t.mu.Lock()
	t.attempted[id]++
	t.mu.Unlock()
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if _, err := sharding.Ask(once, r.Ref(id), Increment{}); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acked[id]++
	t.sum++
	if t.sum == t.goal {
		close(t.reached)
	}
	return nil
}

// answered counts the increments that were acknowledged.
func (t *traffic) answered() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

// more waits until the callers have had another thousand increments acknowledged, or until ctx
// ends.
func (t *traffic) more(ctx context.Context) error {
	t.mu.Lock()
	t.goal, t.reached = t.sum+trafficMore, make(chan struct{})
	reached := t.reached
	t.mu.Unlock()
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rest ends the traffic and returns its account.
func (t *traffic) rest() (acked, attempted map[string]uint64) {
	if t.cancel != nil {
		t.cancel()
	}
	t.wg.Wait()
	return maps.Clone(t.acked), maps.Clone(t.attempted)
}

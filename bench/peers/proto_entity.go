package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/coterie-go/coterie/bench/measure"
)

const (
	loaded = 100 // entities that are asked while a process is killed or stopped
	behind = 3   // messages for each when its process is stopped
	// A clock that jumps that far was stopped.
	jump = time.Second
)

// protoGate is what the entities of a process share. Handlers wait at it, if it is closed.
type protoGate struct {
	addr               string
	gate               sync.RWMutex
	woken              atomic.Bool
	delivered, effects atomic.Int64 // after the process was continued

	mu  sync.Mutex
	own map[string]*actor.PID
}

func newProtoGate(addr string) *protoGate {
	return &protoGate{addr: addr, own: map[string]*actor.PID{}}
}

// props make entities of this process.
func (g *protoGate) props() *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &protoSink{gate: g} })
}

// protoSink is the measured entity.
type protoSink struct {
	gate *protoGate
	id   string
	got  uint64
}

// Receive implements actor.Actor.
func (s *protoSink) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *cluster.ClusterInit:
		s.id = m.Identity.Identity
		s.gate.lives(s.id, c.Self())
	case *actor.Stopped:
		s.gate.lives(s.id, nil)
	case *wrapperspb.BytesValue:
		s.got++
	case *wrapperspb.UInt64Value:
		c.Respond(m)
	case *wrapperspb.StringValue:
		switch m.Value {
		case "count":
			c.Respond(wrapperspb.UInt64(s.got))
		case "where":
			c.Respond(wrapperspb.String(s.gate.addr))
		case "mark":
			s.gate.pass()
			if c.Sender() != nil {
				c.Respond(wrapperspb.String(s.gate.addr))
			}
		}
	}
}

func (g *protoGate) lives(id string, at *actor.PID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at == nil {
		delete(g.own, id)
	} else {
		g.own[id] = at
	}
}

func (g *protoGate) living() map[string]*actor.PID {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.own)
}

// pass is a handler with an effect behind the gate.
func (g *protoGate) pass() {
	if g.woken.Load() {
		g.delivered.Add(1)
	}
	g.gate.RLock()
	defer g.gate.RUnlock()
	if g.woken.Load() {
		g.effects.Add(1)
	}
}

// freeze closes the gate, sends messages to the entities of this process, and waits until the process was stopped and
// continued. It says what the entities did in the time after that.
func (g *protoGate) freeze(ctx context.Context, n *protoNode, watched time.Duration) error {
	g.gate.Lock()
	own := g.living()
	for _, pid := range own {
		for range behind {
			n.ActorSystem.Root.Send(pid, wrapperspb.String("mark"))
		}
	}
	fmt.Println("frozen")
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for last := time.Now(); ; {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if time.Since(last) > jump {
			break
		}
		last = time.Now()
	}
	g.woken.Store(true)
	g.gate.Unlock()
	select {
	case <-time.After(watched):
	case <-ctx.Done():
	}
	twice := 0
	for id := range g.living() {
		if _, ok := own[id]; ok {
			twice++
		}
	}
	fmt.Printf("case=thaw entities=%d deliveries_after_sigcont=%d effects_after_sigcont=%d live_twice=%d\nthawed\n",
		len(own), g.delivered.Load(), g.effects.Load(), twice)
	return nil
}

// mark has every entity answer, wherever it is.
func (n *protoNode) mark(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	errs := make([]error, loaded)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for {
				_, errs[i] = n.request("entity-"+strconv.Itoa(i), wrapperspb.String("mark"), askLimit)
				if errs[i] == nil || ctx.Err() != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Println("marked")
	return nil
}

// protoLoad asks entities of one host again and again.
type protoLoad struct {
	*protoNode
	victim string
	failed atomic.Int64
	mu     sync.Mutex
	first  map[string]time.Time // when an entity first answered elsewhere
	all    chan struct{}        // closed when all have
}

// begin finds entities that live at the victim, and asks them for some time.
func (l *protoLoad) begin(ctx context.Context, warm time.Duration, victim string) error {
	l.victim, l.first, l.all = victim, map[string]time.Time{}, make(chan struct{})
	var ids []string
	for i := 0; len(ids) < loaded && ctx.Err() == nil; i++ {
		id := "entity-" + strconv.Itoa(i)
		if at, err := l.where(id, 10*askLimit); err != nil {
			return err
		} else if at == victim {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		go func() {
			for pace := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-pace.C {
				go l.once(id)
			}
		}()
	}
	select {
	case <-time.After(warm):
		l.failed.Store(0)
		fmt.Println("loaded")
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (l *protoLoad) where(id string, limit time.Duration) (string, error) {
	got, err := l.request(id, wrapperspb.String("where"), limit)
	if err != nil {
		return "", err
	}
	v, ok := got.(*wrapperspb.StringValue)
	if !ok {
		return "", fmt.Errorf("%s answers with a %T", id, got)
	}
	return v.Value, nil
}

func (l *protoLoad) once(id string) {
	at, err := l.where(id, askLimit)
	if err != nil {
		l.failed.Add(1)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at == l.victim || !l.first[id].IsZero() {
		return
	}
	l.first[id] = time.Now()
	if len(l.first) == loaded {
		close(l.all)
	}
}

// back waits until all entities have answered elsewhere.
func (l *protoLoad) back(ctx context.Context, killed time.Time) error {
	select {
	case <-l.all:
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var took []time.Duration
	for _, t := range l.first {
		took = append(took, t.Sub(killed))
	}
	slices.Sort(took)
	fmt.Printf("case=failover entities=%d median_ms=%.1f last_ms=%.1f failed=%d\nback\n", len(took),
		measure.Millis(measure.PercentileOf(took, 0.5)), measure.Millis(took[len(took)-1]), l.failed.Load())
	return nil
}

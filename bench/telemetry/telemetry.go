package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/sharding"
)

// Case is one way to run the nodes. The first one of a run is what the others are compared with.
type Case struct {
	Name   string
	Tracer tracing.Tracer // nil: nothing is traced
	Meter  events.Meter   // nil: there is none
}

// RunAll measures what the library itself costs: headers that are handed on, and a Meter. Command cost of
// package ddata/events/otel measures OpenTelemetry.
func RunAll(ctx context.Context, d time.Duration, meter events.Meter) error {
	return Run(ctx, d, []Case{
		{Name: "off"}, {Name: "handed-on", Tracer: &Propagator{}}, {Name: "meter", Meter: meter},
	})
}

// Message is what the measured entities understand.
type Message interface{ message() }

// Note is told.
type Note struct{ Body []byte }

// Query is asked, and answered with its own number.
type Query struct {
	sharding.Returns[Message, uint64]
	N uint64
}

func (Note) message()  {}
func (Query) message() {}

type sink struct{}

// Receive implements sharding.Entity.
func (sink) Receive(c *sharding.Context[Message], msg Message) error {
	if q, is := msg.(Query); is {
		return c.Reply(q.N)
	}
	return nil
}

const (
	hosts   = "hosts" // the role of the node that hosts all entities
	rounds  = 20
	callers = 4
	batch   = 2000 // tells between two questions that wait for them
)

// pair is two nodes of one case.
type pair struct {
	nodes     []*ddata.Node
	here, far *sharding.Region[Message] // of the node that hosts, and of the other one
	ids       []string
}

// Run measures the cases for d each, and prints a line for each of them and each operation.
func Run(ctx context.Context, d time.Duration, cases []Case) error {
	var pairs []*pair
	defer func() {
		for _, p := range pairs {
			p.close()
		}
	}()
	for _, c := range cases {
		p, err := start(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		pairs = append(pairs, p)
	}
	for _, op := range []struct {
		name string
		run  func(p *pair, d time.Duration) (measure.Load, error)
	}{
		{"tell-here", func(p *pair, d time.Duration) (measure.Load, error) { return tell(ctx, p.here, p.ids, d) }},
		{"ask-here", func(p *pair, d time.Duration) (measure.Load, error) { return ask(ctx, p.here, p.ids, d) }},
		{"tell-far", func(p *pair, d time.Duration) (measure.Load, error) { return tell(ctx, p.far, p.ids, d) }},
		{"ask-far", func(p *pair, d time.Duration) (measure.Load, error) { return ask(ctx, p.far, p.ids, d) }},
	} {
		all := make([]result, len(cases))
		for range rounds {
			for i, p := range pairs {
				l, err := op.run(p, d/rounds)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", op.name, cases[i].Name, err)
				}
				all[i].add(l)
			}
		}
		for i := range all {
			measure.Report("telemetry", op.name+"-"+cases[i].Name, all[i].figures(&all[0]))
		}
	}
	return nil
}

// result is what all rounds of a case have found.
type result struct{ wall, cpu []float64 } // ns of an operation, by round

func (r *result) add(l measure.Load) {
	r.wall = append(r.wall, measure.NsPerOp(l))
	r.cpu = append(r.cpu, 1e3*l.CPUMicros())
}

// median of rounds, and how far the middle half of them lies apart.
func median(rounds []float64) (mid, spread float64) {
	s := slices.Sorted(slices.Values(rounds))
	return s[len(s)/2], s[len(s)*3/4] - s[len(s)/4]
}

// figures are the medians of the rounds, beside those of the first case.
func (r *result) figures(first *result) (f measure.Figures) {
	wall, wallSpread := median(r.wall)
	cpu, cpuSpread := median(r.cpu)
	limitWall, _ := median(first.wall)
	limitCPU, _ := median(first.cpu)
	f.Add("ns_per_op", wall)
	f.Add("ns_spread", wallSpread)
	f.Add("cpu_ns_per_op", cpu)
	f.Add("cpu_ns_spread", cpuSpread)
	f.Add("limit_ns_per_op", limitWall)
	f.Add("limit_cpu_ns_per_op", limitCPU)
	f.Add("more_cpu_ns", cpu-limitCPU)
	return f
}

func start(ctx context.Context, c Case) (p *pair, err error) {
	p = &pair{}
	hub, roles := memory.NewHub(), []string{hosts, "asks"}
	addrs := []string{memory.Addr(1), memory.Addr(2)}
	p.nodes = make([]*ddata.Node, len(addrs))
	errs := make([]error, len(addrs))
	var wg sync.WaitGroup
	for i := range addrs {
		wg.Go(func() {
			p.nodes[i], errs[i] = ddata.Start(ctx, ddata.Config{
				Name: "telemetry", Bind: addrs[i], Seeds: addrs, Network: hub.At(addrs[i]), BootstrapExpect: len(addrs),
				Roles: roles[i : i+1], Preset: ddata.Local, Logger: slog.New(slog.DiscardHandler),
				Tracer: c.Tracer, Meter: c.Meter,
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			p.close()
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.here, err = startEntities(p.nodes[0]); err != nil {
		return nil, err
	}
	if p.far, err = startEntities(p.nodes[1]); err != nil {
		return nil, err
	}
	for i := range 64 {
		id := "entity-" + strconv.Itoa(i)
		p.ids = append(p.ids, id)
		for _, g := range []*sharding.Region[Message]{p.here, p.far} {
			if _, err := sharding.Ask(ctx, g.Ref(id), Query{}); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (p *pair) close() {
	for _, n := range p.nodes {
		if n != nil {
			_ = n.Close()
		}
	}
}

func startEntities(n *ddata.Node) (*sharding.Region[Message], error) {
	return sharding.Start(n, sharding.EntityType[Message]{
		Identity: sharding.Identity{Name: "Sink", Role: hosts, Shards: 20},
		Messages: sharding.CBOR[Message](Note{}, Query{}),
		New:      func(*sharding.Context[Message]) sharding.Entity[Message] { return sink{} },
	})
}

// tell is one sender for d. The time runs until all that was told has been handled.
func tell(ctx context.Context, g *sharding.Region[Message], ids []string, d time.Duration) (measure.Load, error) {
	var note Message = Note{Body: make([]byte, 80)}
	refs := make([]*sharding.EntityRef[Message], len(ids))
	for i, id := range ids {
		refs[i] = g.Ref(id)
	}
	var l measure.Load
	cpu, start := measure.CPUTime(), time.Now()
	for time.Since(start) < d {
		for i := range batch {
			if err := refs[i%len(refs)].Tell(ctx, note); err != nil {
				return l, err
			}
		}
		l.Ops += batch
		for _, r := range refs { // a question is behind every note to the same entity
			if _, err := sharding.Ask(ctx, r, Query{}); err != nil {
				return l, err
			}
		}
	}
	l.Elapsed, l.CPU = time.Since(start), measure.CPUTime()-cpu
	return l, nil
}

// ask is several callers for d.
func ask(ctx context.Context, g *sharding.Region[Message], ids []string, d time.Duration) (measure.Load, error) {
	refs := make([]*sharding.EntityRef[Message], len(ids))
	for i, id := range ids {
		refs[i] = g.Ref(id)
	}
	return measure.Callers(callers, d, func(c, i int) error {
		_, err := sharding.Ask(ctx, refs[(c+i*callers)%len(refs)], Query{N: uint64(i)})
		return err
	})
}

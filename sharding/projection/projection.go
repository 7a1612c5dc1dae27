package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Projection is this node's part in a projection. It ends with the node. Its methods may be called
// concurrently, on any node of the role.
type Projection[E any] struct {
	workers workers[E]
	process *daemon.Process
}

// Start takes part in running a projection. Every node of the role starts it.
//
// Errors: ErrConfig, and those of daemon.Start.
func Start[E any](node *ddata.Node, cfg Config[E]) (*Projection[E], error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	host := node.Host()
	p := &Projection[E]{workers: workers[E]{cfg: cfg}}
	p.workers.figures.log, p.workers.figures.onFailure = host.Log, cfg.OnFailure
	var d daemon.Config
	if cfg.Adapt != nil {
		cfg.Adapt(&d)
	}
	d.Name, d.Role, d.Count, d.WorkersMax, d.Run = "p-"+cfg.Name, cfg.Role, cfg.Workers, cfg.Parts, p.workers.work
	process, err := daemon.Start(node, d)
	if err != nil {
		return nil, fmt.Errorf("projection %q: %w", cfg.Name, err)
	}
	p.process = process
	if host.Meter != nil {
		cancel := host.Meter.Read(func(report func(*events.Metric, float64, ...string)) {
			p.workers.figures.report(cfg.Name, p.Status(), cfg.HandleTimeout, report)
		})
		host.Lifecycle.OnEnd(func(error) { cancel() })
	}
	return p, nil
}

// Status returns the status of each part that this node has, by number.
func (p *Projection[E]) Status() []PartStatus { return p.workers.status(time.Now()) }

// Stored returns what is saved of all parts, as far as this node knows.
//
// Errors: those of Offsets.Look.
func (p *Projection[E]) Stored(ctx context.Context) (State, error) {
	return p.workers.cfg.Target.Look(ctx, p.workers.cfg.Name)
}

// Behind counts the events after what is saved, up to most. It reads them, so it costs as much as
// they do.
//
// Errors: those of Stored and of the Reader.
func (p *Projection[E]) Behind(ctx context.Context, most int) (count int, err error) {
	state, err := p.Stored(ctx)
	if err != nil {
		return 0, err
	}
	cfg := &p.workers.cfg
	for part := range cfg.Parts {
		var after persistence.Offset
		if part < len(state.Parts) {
			after = state.Parts[part].Progress.Offset
		}
		for r, err := range cfg.Reader.Events(ctx, cfg.query(part, after)) {
			if err != nil && r.Offset == "" {
				return count, err
			}
			if count++; count >= most {
				return count, nil
			}
		}
	}
	return count, nil
}

// Pause stops all parts on all nodes, and those that move, until Resume. What runs ends with its
// event, or with its transaction, within Config.LookInterval. Status says so.
//
// Errors: those of Offsets.Pause.
func (p *Projection[E]) Pause(ctx context.Context) error {
	return p.workers.cfg.Target.Pause(ctx, p.workers.cfg.Name, true)
}

// Resume ends a Pause.
//
// Errors: those of Offsets.Pause.
func (p *Projection[E]) Resume(ctx context.Context) error {
	return p.workers.cfg.Target.Pause(ctx, p.workers.cfg.Name, false)
}

// Reset lets all parts go on at an offset of the Reader: at "" with the first event. What was
// written by the handler stays: to build it again, Pause, clear it, Reset and Resume.
//
// Errors: those of Offsets.Reset.
func (p *Projection[E]) Reset(ctx context.Context, at persistence.Offset) error {
	return p.workers.cfg.Target.Reset(ctx, p.workers.cfg.Name, p.workers.cfg.Parts, at)
}

// Rescale changes the number of workers, among which the parts are dealt out. See
// daemon.Process.Rescale. More workers than Config.Parts are an error.
func (p *Projection[E]) Rescale(ctx context.Context, workers int) error {
	return p.process.Rescale(ctx, workers)
}

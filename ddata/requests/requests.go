package requests

import (
	"context"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// The histograms; the table in package events explains them.
var (
	mRequestTime = &events.Metric{
		Name: "coterie_request_duration_seconds",
		Help: "Time of reads and writes of replicated data that took the Replicator's goroutine.",
		Kind: events.Histogram, Labels: []string{"role", "data", "op", "level"},
		Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}
	mRepairTime = &events.Metric{
		Name: "coterie_repair_duration_seconds", Help: "Time of repairs that were done.",
		Kind: events.Histogram, Labels: []string{"role", "data"},
		Buckets: []float64{.001, .01, .1, 1, 10, 100, 1000},
	}
)

// Requests are those of a Replicator. Took and Repaired are for its goroutine, the others for any.
type Requests struct {
	set    keyspace.Dataset
	meter  events.Meter   // nil: there is none
	tracer tracing.Tracer // nil: nothing is traced
	kinds  map[kind]*timed
	repair events.Observer
}

// kind is what requests of one histogram have in common.
type kind struct {
	op    string
	level quorum.Level
}

// timed takes the time of requests, under a context with their trace.
type timed struct {
	to  events.Observer
	ctx context.Context
}

var _ drivers.Observer = (*timed)(nil)

// Observe implements drivers.Observer.
func (t *timed) Observe(seconds float64) { t.to.Observe(t.ctx, seconds) }

// New makes the Requests of a dataset. meter and tracer may be nil.
func New(meter events.Meter, tracer tracing.Tracer, set keyspace.Dataset) *Requests {
	r := &Requests{set: set, meter: meter, tracer: tracer, kinds: map[kind]*timed{}}
	if meter != nil {
		r.repair = meter.Histogram(mRepairTime, set.Role, set.Kind())
	}
	return r
}

// Timed reports whether requests are timed.
func (r *Requests) Timed() bool { return r.meter != nil }

// Took is where the time of a request goes; nil: it is not timed. ctx has the trace of the request;
// nil: it has none.
func (r *Requests) Took(ctx context.Context, in replicator.Input, level quorum.Level) drivers.Observer {
	if r.meter == nil {
		return nil
	}
	k := kind{"update", level}
	switch in.(type) {
	case replicator.Get:
		k.op = "get"
	case replicator.Delete, replicator.DeleteForever:
		k.op = "delete"
	}
	t, ok := r.kinds[k]
	if !ok {
		to := r.meter.Histogram(mRequestTime, r.set.Role, r.set.Kind(), k.op, level.String())
		t = &timed{to, context.Background()}
		r.kinds[k] = t
	}
	if ctx != nil {
		return &timed{t.to, ctx}
	}
	return t
}

// Repaired takes the time of a repair that was done.
func (r *Requests) Repaired(took time.Duration) {
	if r.repair != nil {
		r.repair.Observe(context.Background(), took.Seconds())
	}
}

// Begin begins the span of a request; nil: it has none, and traced is nil, too. traced has the trace of
// the request.
func (r *Requests) Begin(
	ctx context.Context, op, key string, level quorum.Level,
) (traced context.Context, s tracing.Span) {
	if r.tracer == nil {
		return nil, nil
	}
	traced, s = r.tracer.Start(ctx, tracing.Client, op+" "+r.set.Role)
	if s.Records() {
		s.Add(slog.String("db.system.name", "coterie"), slog.String("db.operation.name", op),
			slog.String("db.collection.name", r.set.Role), slog.String("coterie.key", key),
			slog.String("coterie.consistency", level.String()))
	}
	return traced, s
}

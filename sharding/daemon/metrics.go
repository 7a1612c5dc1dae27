package daemon

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/events"
)

// The metrics of a set of workers on one node; the table in design.md explains them.
var (
	mWorkers = metric("coterie_daemon_workers", "Workers whose Run runs here.", events.Gauge)
	mWanted  = metric("coterie_daemon_workers_wanted",
		"Workers that shall run, on the node that keeps them alive.", events.Gauge)
	mRescaling  = metric("coterie_daemon_rescaling", "1 while a rescale is in progress, on that node.", events.Gauge)
	mRescales   = metric("coterie_daemon_rescales_total", "Rescales that this node has completed.", events.Counter)
	mKeepAlives = metric("coterie_daemon_keep_alives_total",
		"How often this node has told a worker to run.", events.Counter)
	mUnreached = metric("coterie_daemon_keep_alives_failed_total",
		"Of these, those that did not get on their way.", events.Counter)
	mStarts   = metric("coterie_daemon_starts_total", "Calls of Run here.", events.Counter)
	mFailures = metric("coterie_daemon_failures_total",
		"Of these, those that ended with an error or a panic.", events.Counter)
)

func metric(name, help string, kind events.Kind) *events.Metric {
	return &events.Metric{Name: name, Help: help, Kind: kind, Labels: []string{"name"}}
}

// figures are what a Process counts.
type figures struct {
	running, starts, failures       atomic.Int64
	wanted, rescaling               atomic.Int64 // of the coordinator while it is here
	rescales, keepAlives, unreached atomic.Int64
}

// follows notes the revision that the coordinator follows; the zero State: it is not here.
func (f *figures) follows(s State) {
	f.wanted.Store(int64(s.Count))
	f.rescaling.Store(0)
	if s.Count > 0 && !s.Completed {
		f.rescaling.Store(1)
	}
}

// report tells a Meter.
func (f *figures) report(name string, report func(*events.Metric, float64, ...string)) {
	for _, r := range [...]struct {
		m *events.Metric
		v *atomic.Int64
	}{
		{mWorkers, &f.running}, {mWanted, &f.wanted}, {mRescaling, &f.rescaling}, {mRescales, &f.rescales},
		{mKeepAlives, &f.keepAlives},
		{mUnreached, &f.unreached}, {mStarts, &f.starts}, {mFailures, &f.failures},
	} {
		report(r.m, float64(r.v.Load()), name)
	}
}

package projection

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
)

// The metrics of a projection on one node; the table in design.md explains them.
var (
	mParts   = metric("coterie_projection_parts", "Parts that this node has.", events.Gauge)
	mFailing = metric("coterie_projection_failing", "Parts that have failed and wait for their next try.", events.Gauge)
	mOverdue = metric("coterie_projection_overdue",
		"Parts whose handler runs for longer than it may.", events.Gauge)
	mLag = metric("coterie_projection_lag_seconds",
		"Age of the oldest event that was read and is not handled.", events.Gauge)
	mEvents   = metric("coterie_projection_events_total", "Events that were handled here.", events.Counter)
	mSkipped  = metric("coterie_projection_skipped_total", "Events that were left out.", events.Counter)
	mFailures = metric("coterie_projection_failures_total", "Failures of any kind.", events.Counter)
	mFenced   = metric("coterie_projection_fenced_total",
		"Failures because another claim has taken over.", events.Counter)
	mSaves = metric("coterie_projection_saves_total", "How often an offset was saved.", events.Counter)
)

func metric(name, help string, kind events.Kind) *events.Metric {
	return &events.Metric{Name: name, Help: help, Kind: kind, Labels: []string{"name"}}
}

// figures are what a projection counts on a node, and whom it tells.
type figures struct {
	log       *slog.Logger
	onFailure func(*Failure) // nil: none

	handled, skipped, failures, fenced, saves atomic.Int64
}

// failed counts a failure, and tells of it.
func (f *figures) failed(x *Failure) {
	f.failures.Add(1)
	if errors.Is(x, ErrFenced) {
		f.fenced.Add(1)
	}
	f.log.Warn("projection: a part has failed, and begins again", "error", x.Error())
	if f.onFailure == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("projection: Config.OnFailure panicked", "panic", p)
		}
	}()
	f.onFailure(x)
}

// report tells a Meter.
func (f *figures) report(name string, parts []PartStatus, timeout time.Duration,
	report func(*events.Metric, float64, ...string)) {
	var failing, overdue int
	var lag time.Duration
	for _, s := range parts {
		if s.Phase == Failing {
			failing++
		}
		if timeout > 0 && s.Handling > timeout {
			overdue++
		}
		lag = max(lag, s.Lag)
	}
	report(mParts, float64(len(parts)), name)
	report(mFailing, float64(failing), name)
	report(mOverdue, float64(overdue), name)
	report(mLag, lag.Seconds(), name)
	for _, r := range [...]struct {
		m *events.Metric
		v *atomic.Int64
	}{
		{mEvents, &f.handled}, {mSkipped, &f.skipped}, {mFailures, &f.failures}, {mFenced, &f.fenced},
		{mSaves, &f.saves},
	} {
		report(r.m, float64(r.v.Load()), name)
	}
}

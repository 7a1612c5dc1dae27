package reminders

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
)

// Counts are of what has happened to the reminders here.
type Counts struct {
	Fired    atomic.Uint64 // were put into mailboxes
	Handled  atomic.Uint64 // their handlers have returned in order
	Failed   atomic.Uint64 // their handlers have failed, or they could not be handed out; they come again
	UnderWay atomic.Int64  // are with their entities now, or about to be taken off

	lateness events.Observer // nil: there is no Meter
}

// Counts counts.
func (r *Reminders) Counts() *Counts { return &r.counts }

var (
	mFired = metric("coterie_sharding_reminders_fired_total",
		"Reminders that were put into mailboxes.", events.Counter)
	mHandled = metric("coterie_sharding_reminders_handled_total",
		"Reminders whose handlers have returned in order.", events.Counter)
	mFailed = metric("coterie_sharding_reminders_failed_total",
		"Reminders whose handlers have failed, and that come again.", events.Counter)
	mUnderWay = metric("coterie_sharding_reminders_under_way",
		"Reminders that are with their entities, or about to be taken off.", events.Gauge)

	mLate = &events.Metric{
		Name: "coterie_sharding_reminder_lateness_seconds",
		Help: "Time from when a reminder was to come until it was put into a mailbox.",
		Kind: events.Histogram, Labels: []string{"type"},
		Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 5, 10, 60, 600, 3600},
	}
)

func metric(name, help string, kind events.Kind) *events.Metric {
	return &events.Metric{Name: name, Help: help, Kind: kind, Labels: []string{"type"}}
}

func (c *Counts) late(d time.Duration) {
	if c.lateness != nil {
		c.lateness.Observe(context.Background(), max(0, d).Seconds())
	}
}

// Report tells a Meter of the counts.
func (r *Reminders) Report(report func(*events.Metric, float64, ...string)) {
	c := &r.counts
	report(mFired, float64(c.Fired.Load()), r.cfg.Type)
	report(mHandled, float64(c.Handled.Load()), r.cfg.Type)
	report(mFailed, float64(c.Failed.Load()), r.cfg.Type)
	report(mUnderWay, float64(c.UnderWay.Load()), r.cfg.Type)
}

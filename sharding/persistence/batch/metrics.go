package batch

import (
	"context"
	"strings"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
)

// The metrics of clients; the table in design.md explains them.
var (
	mWrites    = metric("coterie_persistence_writes_total", "Writes that are stored.", events.Counter)
	mEvents    = metric("coterie_persistence_events_total", "Events in them.", events.Counter)
	mBytes     = metric("coterie_persistence_written_bytes_total", "Bytes in them.", events.Counter)
	mBatches   = metric("coterie_persistence_batches_total", "Calls that stored them.", events.Counter)
	mLoads     = metric("coterie_persistence_loads_total", "Loads that have succeeded.", events.Counter)
	mSnapshots = metric("coterie_persistence_snapshots_total", "Snapshots that are stored.", events.Counter)
	mFailures  = metric("coterie_persistence_failures_total", "Calls whose outcome is unknown.", events.Counter)
	mGivenUp   = metric("coterie_persistence_given_up_total", "Writes and loads that were given up.", events.Counter)
	mFull      = metric("coterie_persistence_buffer_full_total",
		"Writes and loads for which there was no room.", events.Counter)
	mFenced = metric("coterie_persistence_fenced_total",
		"Hostings that a later one has ended.", events.Counter)
	mConflicts = metric("coterie_persistence_conflicts_total",
		"Writes that did not fit what is stored.", events.Counter)
	mHostings     = metric("coterie_persistence_hostings", "Hostings that have asked for something.", events.Gauge)
	mWaiting      = metric("coterie_persistence_waiting", "Writes and loads that are not done.", events.Gauge)
	mWaitingBytes = metric("coterie_persistence_waiting_bytes", "Bytes in them.", events.Gauge)
	mBroken       = metric("coterie_persistence_broken", "1 if the client is broken.", events.Gauge)
	mInFlight     = metric("coterie_persistence_calls_in_flight", "Calls that are under way.", events.Gauge)

	mRequestTime = &events.Metric{
		Name: "coterie_persistence_request_duration_seconds",
		Help: "Time from a request of an entity until it has succeeded.",
		Kind: events.Histogram, Labels: []string{"type", "kind"}, Buckets: seconds,
	}
	mCallTime = &events.Metric{
		Name: "coterie_persistence_call_duration_seconds", Help: "Time of calls of the store that have succeeded.",
		Kind: events.Histogram, Labels: []string{"type", "kind"}, Buckets: seconds,
	}
	mCallSize = &events.Metric{
		Name: "coterie_persistence_call_requests", Help: "Requests that such a call has carried out.",
		Kind: events.Histogram, Labels: []string{"type", "kind"},
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096},
	}
)

// seconds are the bounds of times: from a store in memory to Settings.GiveUpAfter.
var seconds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
}

func metric(name, help string, kind events.Kind) *events.Metric {
	return &events.Metric{Name: name, Help: help, Kind: kind, Labels: []string{"type"}}
}

// Report reports the client's metrics: hand it to sharding.Region.ReadMetrics, or to the Read of a
// Meter.
func (c *Client) Report(report func(*events.Metric, float64, ...string)) {
	c.mu.Lock()
	s, conflicts := c.stats, c.conflictsRead
	c.mu.Unlock()
	say := func(m *events.Metric, v float64) { report(m, v, c.cfg.Name) }
	say(mWrites, float64(s.Writes))
	say(mEvents, float64(s.Events))
	say(mBytes, float64(s.Bytes))
	say(mBatches, float64(s.Batches))
	say(mLoads, float64(s.Loads))
	say(mSnapshots, float64(s.Snapshots))
	say(mFailures, float64(s.Failures))
	say(mGivenUp, float64(s.GivenUp))
	say(mFull, float64(s.Full))
	say(mFenced, float64(s.Fenced))
	say(mConflicts, float64(conflicts))
	say(mHostings, float64(s.Hostings))
	say(mWaiting, float64(s.Waiting))
	say(mWaitingBytes, float64(s.WaitingBytes))
	say(mInFlight, float64(s.InFlight))
	if c.broken.Load() != nil {
		say(mBroken, 1)
	} else {
		say(mBroken, 0)
	}
}

// meters take the observations of a client. They are its loop's.
type meters struct {
	meter events.Meter // nil: nothing is observed
	name  string
	of    [calls.Fence + 1]kindMeters // by kind; made when the kind comes first
}

type kindMeters struct{ request, call, size events.Observer }

// kind returns those of a kind.
func (m *meters) kind(k calls.Kind) *kindMeters {
	x := &m.of[k]
	if x.call == nil {
		kind := strings.ReplaceAll(k.String(), " ", "-")
		x.call = m.meter.Histogram(mCallTime, m.name, kind)
		if k != calls.Fence {
			x.request = m.meter.Histogram(mRequestTime, m.name, kind)
			x.size = m.meter.Histogram(mCallSize, m.name, kind)
		}
	}
	return x
}

// observe takes what a step has ended.
func (m *meters) observe(fx *calls.Effects) {
	if m.meter == nil {
		return
	}
	none := context.Background() // a call is of many entities
	for _, d := range fx.Done {
		if d.Err == nil {
			m.kind(d.Op.Kind).request.Observe(none, d.Took.Seconds())
		}
	}
	for _, f := range fx.Finished {
		x := m.kind(f.Kind)
		x.call.Observe(none, f.Took.Seconds())
		if f.Kind != calls.Fence {
			x.size.Observe(none, float64(f.Did))
		}
	}
}

package batch

import "github.com/coterie-go/coterie/ddata/events"

// The metrics of clients; the table in the package comment explains them.
var (
	mWrites    = metric("coterie_persistence_writes_total", "Writes that are stored.", events.Counter)
	mEvents    = metric("coterie_persistence_events_total", "Events in them.", events.Counter)
	mBytes     = metric("coterie_persistence_written_bytes_total", "Bytes in them.", events.Counter)
	mBatches   = metric("coterie_persistence_batches_total", "Calls that stored them.", events.Counter)
	mCommit    = metric("coterie_persistence_commit_seconds_total", "Time that these calls took.", events.Counter)
	mLoads     = metric("coterie_persistence_loads_total", "Loads that have succeeded.", events.Counter)
	mSnapshots = metric("coterie_persistence_snapshots_total", "Snapshots that are stored.", events.Counter)
	mFailures  = metric("coterie_persistence_failures_total", "Calls whose outcome is unknown.", events.Counter)
	mGivenUp   = metric("coterie_persistence_given_up_total", "Writes and loads that were given up.", events.Counter)
	mFull      = metric("coterie_persistence_buffer_full_total",
		"Writes and loads for which there was no room.", events.Counter)
	mFenced = metric("coterie_persistence_fenced_total",
		"Hostings that a later one has ended.", events.Counter)
	mHostings     = metric("coterie_persistence_hostings", "Hostings that have asked for something.", events.Gauge)
	mWaiting      = metric("coterie_persistence_waiting", "Writes and loads that are not done.", events.Gauge)
	mWaitingBytes = metric("coterie_persistence_waiting_bytes", "Bytes in them.", events.Gauge)
	mBroken       = metric("coterie_persistence_broken", "1 if the client is broken.", events.Gauge)
	mInFlight     = metric("coterie_persistence_calls_in_flight", "Calls that are under way.", events.Gauge)
)

func metric(name, help string, kind events.Kind) *events.Metric {
	return &events.Metric{Name: name, Help: help, Kind: kind, Labels: []string{"type"}}
}

// Report reports the client's metrics: hand it to sharding.Region.ReadMetrics, or to the Read of a
// Meter.
func (c *Client) Report(report func(*events.Metric, float64, ...string)) {
	c.mu.Lock()
	s := c.stats
	c.mu.Unlock()
	say := func(m *events.Metric, v float64) { report(m, v, c.cfg.Name) }
	say(mWrites, float64(s.Writes))
	say(mEvents, float64(s.Events))
	say(mBytes, float64(s.Bytes))
	say(mBatches, float64(s.Batches))
	say(mCommit, s.CommitTime.Seconds())
	say(mLoads, float64(s.Loads))
	say(mSnapshots, float64(s.Snapshots))
	say(mFailures, float64(s.Failures))
	say(mGivenUp, float64(s.GivenUp))
	say(mFull, float64(s.Full))
	say(mFenced, float64(s.Fenced))
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

package dataplane

import (
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The metrics of an entity type on one node; the table in design.md of package sharding explains them.
var (
	mEntities    = gauge("coterie_sharding_entities", "Entities that are active, starting or stopping here.")
	mActive      = gauge("coterie_sharding_active_entities", "Of these, those that run, or stop.")
	mActiveLimit = gauge("coterie_sharding_active_entity_limit", "Limit on active entities here; 0: none.")
	mShards      = gauge("coterie_sharding_shards", "Shards hosted here.")
	mAwaiting    = gauge("coterie_sharding_shards_awaiting_lease", "Of the shards, those that wait for a lease.")
	mHeld        = gauge("coterie_sharding_mailbox_bytes", "Bytes of other nodes' messages in mailboxes.")
	mBuffered    = gauge("coterie_sharding_buffered_messages", "Messages that wait for a home.")
	mBufferBytes = gauge("coterie_sharding_buffered_bytes", "What they take of BufferBytes.")
	mQueued      = gauge("coterie_sharding_queued_entities", "Entities with messages that wait for a worker.")
	mWorkers     = gauge("coterie_sharding_workers", "Goroutines that run handlers or are ready to.")
	mSlow        = gauge("coterie_sharding_slow_handlers", "Handlers that run for longer than Timeouts.HandlerSlow.")
	mResults     = gauge("coterie_sharding_entities_awaiting_result", "Entities that wait for results (Context.Await).")
	mOverdue     = gauge("coterie_sharding_results_overdue",
		"Of these, those that wait for longer than Timeouts.HandlerSlow.")
	mAsks        = gauge("coterie_sharding_asks", "Questions under way.")
	mRegistered  = gauge("coterie_sharding_registered", "1 while the region is registered with the coordinator.")
	mCoordinates = gauge("coterie_sharding_coordinating", "1 while the type's coordinator acts on this node.")
	mHandled     = counter("coterie_sharding_handled_total", "What handlers have taken from mailboxes.")
	mTimedOut    = counter("coterie_sharding_asks_timed_out_total", "Questions whose time was over.")
	mDrops       = counter("coterie_sharding_dropped_total", "Messages that were lost.", "reason")
	mPanics      = counter("coterie_sharding_panics_total", "Panics of the type's codecs, hooks and stores of leases.")
	mPassivated  = counter("coterie_sharding_passivated_total", "Entities that were told to stop.", "cause")
	mForced      = counter("coterie_sharding_passivations_forced_total",
		"Passivations whose entity did not stop in time.")
	mRestored = counter("coterie_sharding_remembered_starts_total",
		"Entities that were started because they are remembered.")
	mLeasesLost = counter("coterie_sharding_shard_leases_lost_total",
		"Leases of shards that were lost while they were held.")
	mHeaders = counter("coterie_sharding_trace_headers_dropped_total",
		"Headers of traces that messages went without.")
	mMachine = counter("coterie_sharding_machine_total", "What else the machines count.", "machine", "count")

	// mMachines are counts of the machines with a metric of their own, by machine and name.
	mMachines = map[string]map[string]*events.Metric{
		"coordinator": {
			"hand-offs": counter("coterie_sharding_hand_offs_begun_total",
				"Hand-offs that this node's coordinator has begun."),
			"moves": counter("coterie_sharding_hand_offs_done_total",
				"Hand-offs whose shard has a home again, or was stopped for good."),
			"aborts": counter("coterie_sharding_hand_offs_aborted_total", "Hand-offs that it has taken back."),
		},
		"region": {
			"lookups": counter("coterie_sharding_home_lookups_total", "Shards whose home the region has asked for."),
		},
	}
)

func gauge(name, help string, labels ...string) *events.Metric {
	return events.NewGauge(name, help, append([]string{"type"}, labels...)...)
}

func counter(name, help string, labels ...string) *events.Metric {
	return events.NewCounter(name, help, append([]string{"type"}, labels...)...)
}

// ReportMetrics tells a Meter of all counters and gauges of the type.
func ReportMetrics(r *Plane, report func(*events.Metric, float64, ...string)) {
	say := func(m *events.Metric, v int, labels ...string) {
		report(m, float64(v), append([]string{r.Name}, labels...)...)
	}
	is := map[bool]int{true: 1}
	s := CountStats(r)
	say(mEntities, s.Entities)
	say(mActive, s.Active)
	say(mActiveLimit, s.Limit)
	say(mShards, s.Shards)
	say(mAwaiting, s.Awaiting)
	say(mHeld, s.Held)
	say(mBuffered, s.Buffered)
	say(mBufferBytes, int(r.Routes.Limit.Bytes.Load()))
	say(mQueued, s.Queued)
	say(mWorkers, s.Workers)
	say(mSlow, s.Slow)
	say(mResults, s.Results)
	say(mOverdue, s.Overdue)
	say(mAsks, s.Asks)
	say(mRegistered, is[r.Standing.registered.Load()])
	say(mCoordinates, is[r.Standing.Coordinates.Load()])
	say(mHandled, int(r.Entities.Meters.Handled()))
	say(mTimedOut, int(s.AsksTimedOut))
	say(mPanics, int(s.Panics))
	for reason, n := range r.Drops.All() {
		say(mDrops, int(n), strings.ReplaceAll(reason.String(), " ", "-"))
	}
	for cause := range r.Entities.Passivations.ByCause {
		say(mPassivated, int(r.Entities.Passivations.ByCause[cause].Load()), protocol.Cause(cause).String())
	}
	say(mForced, int(s.Forced))
	say(mRestored, int(s.Restored))
	say(mLeasesLost, int(s.LeasesLost))
	headers := uint64(0)
	if r.Entities.Spans != nil {
		headers = r.Entities.Spans.Dropped()
	}
	say(mHeaders, int(headers))
	r.Meters.mu.Lock()
	machines := maps.Clone(r.Meters.machines)
	r.Meters.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		for _, c := range machines[name] {
			if m := mMachines[name][c.Name]; m != nil {
				say(m, int(c.Count))
			} else {
				say(mMachine, int(c.Count), name, c.Name)
			}
		}
	}
	r.Attached.Reports.Range(func(_, fn any) bool {
		fn.(func(func(*events.Metric, float64, ...string)))(report)
		return true
	})
}

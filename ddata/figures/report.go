package figures

import (
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

func perSpace(name, help string) *events.Metric {
	return events.NewGauge("coterie_replica_"+name, help, "role", "data", "space")
}

var (
	mCaughtUp = events.NewGauge("coterie_replica_caught_up", "1 while the replica has what older members had.", "role",
		"data")
	mPending = events.NewGauge("coterie_replica_pending", "Operations under way.", "role", "data")

	mKeys    = perSpace("keys", "Keys that hold something.")
	mItems   = perSpace("items", "Items of all keys.")
	mBytes   = perSpace("bytes", "Bytes of the items as they are encoded; estimated.")
	mOrigins = perSpace("origins", "Incarnations of nodes whose events are in the clock.")
	mLog     = perSpace("log_events", "Events that are kept for members which lag.")
	mWaiting = perSpace("waiting_bytes", "Bytes of own writes that not all members have.")
	mLag     = perSpace("lag_events", "Own events that the member which is furthest behind lacks.")
)

// Report tells of what a replica of a dataset holds.
func Report(report func(*events.Metric, float64, ...string), set keyspace.Dataset, f effect.Figures) {
	caughtUp := 0.0
	if f.CaughtUp {
		caughtUp = 1
	}
	report(mCaughtUp, caughtUp, set.Role, set.Kind())
	report(mPending, float64(f.Pending), set.Role, set.Kind())
	for i, x := range f.Spaces {
		var lag uint64
		for _, p := range x.Peers {
			lag = max(lag, p.Behind)
		}
		tell := func(m *events.Metric, n int) {
			report(m, float64(n), set.Role, set.Kind(), keyspace.Space(i).String())
		}
		tell(mKeys, x.Keys)
		tell(mItems, x.Items)
		tell(mBytes, x.Bytes)
		tell(mOrigins, x.Origins)
		tell(mLog, x.LogEvents)
		tell(mWaiting, x.Waiting)
		tell(mLag, int(lag))
	}
}

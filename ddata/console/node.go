package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// self is what this node says of itself.
func (s *station) self(ctx context.Context) api.Node {
	n, now := s.node, s.host.Scheduler.Now()
	health := n.Health()
	x := api.Node{
		UID: uidText(n.UID()), Addr: n.Addr(), Epoch: uint64(n.View().Epoch), At: now.UTC(),
		Live: health.Live, Ready: health.Ready, Reasons: health.Reasons, Lease: n.HoldsLease(),
		Alarms: s.events.Alarms(), Unreachable: silences(n.Unreachable()), Transport: transportOf(n.TransportStats()),
	}
	if n.View().Ages.Runs() {
		x.RetirementWaits = s.events.RetirementWaits()
	}
	if n.Durable() {
		st := n.StoreStats()
		x.Store = &api.Store{
			FileBytes: st.File, QueuedBytes: st.Queued, Commits: st.Commits, Failed: st.Failed + st.Refused,
		}
	}
	for _, set := range keyspace.Datasets(n.Roles()) {
		x.Roles = append(x.Roles, roleOf(ctx, n, set))
	}
	if e := section.Of(s.host); e != nil {
		x.Types = e.Types()
	}
	return x
}

func silences(since map[view.UID]time.Time) (all []api.Silence) {
	for uid, at := range since { // order: sorted below
		all = append(all, api.Silence{UID: uidText(uid), Since: at.UTC()})
	}
	slices.SortFunc(all, func(a, b api.Silence) int { return cmp.Compare(a.UID, b.UID) })
	return all
}

func transportOf(st transport.Stats) api.Transport {
	x := api.Transport{
		Links: int(st.LinksUp), BytesIn: st.BytesIn, BytesOut: st.BytesOut, Dropped: map[string]uint64{},
	}
	for d, n := range st.Dropped {
		if n > 0 {
			x.Dropped[transport.Drop(d).String()] = n
		}
	}
	return x
}

// roleOf waits for the replica's goroutine, until ctx ends.
func roleOf(ctx context.Context, n *ddata.Node, set keyspace.Dataset) api.Role {
	x := api.Role{Name: set.Role, Data: set.Kind()}
	if r, err := n.Replicator(set.Role); err == nil { // the reserved data has the same replicas
		x.Replicas = r.ReplicaCount()
	}
	f, err := ddata.Figures(ctx, n, set)
	if err != nil {
		x.Silent = true
		return x
	}
	x.CaughtUp, x.Settled, x.Pending = f.CaughtUp, f.Settled, f.Pending
	x.Volatile, x.Durable = spaceOf(f.Spaces[keyspace.Volatile]), spaceOf(f.Spaces[keyspace.Durable])
	x.Applied, x.Repairs = f.Counts.Applied, f.Counts.Repairs
	x.DigestAlarms, x.StoreFailed = f.Counts.DigestAlarms, f.Counts.StoreFailures
	behind := map[string]uint64{}
	for _, space := range f.Spaces {
		for _, l := range space.Peers {
			behind[uidText(view.UID(l.Peer))] += l.Behind
		}
	}
	for uid, n := range behind { // order: sorted below
		x.Lags = append(x.Lags, api.Lag{UID: uid, Events: n})
	}
	slices.SortFunc(x.Lags, func(a, b api.Lag) int { return cmp.Compare(a.UID, b.UID) })
	return x
}

func spaceOf(f effect.SpaceFigures) api.Space {
	return api.Space{
		Keys: f.Keys, Items: f.Items, Bytes: f.Bytes, Events: f.Events, Origins: f.Origins, Digest: f.Digest.String(),
		LogEvents: f.LogEvents, WaitingBytes: f.Waiting,
	}
}

// viewOf is a view with its members in the order of age; those that have none come last.
func viewOf(v *view.View) api.View {
	x := api.View{
		Cluster: v.Cluster.String(), Epoch: uint64(v.Epoch), Format: uint32(v.Format), Closing: v.Closing,
		VotersMax: v.VotersMax,
		Durable:   view.Shown(v.Durable), Moving: view.Shown(v.Moving),
	}
	if a := v.Ages; a != nil {
		x.Retirement = &api.Retirement{Since: uint64(a.AgreedIn), Came: a.Came}
		if !a.Ended.Empty() {
			x.Retirement.Ended = a.Ended.String()
		}
		if a.Runs() {
			x.Retirement.Ending = a.Ending.String()
		}
	}
	voters := v.Voters()
	for _, m := range slices.Concat(v.Full(), v.Learners()) {
		y := api.Member{
			UID: uidText(m.UID), Addr: m.Addr, Status: m.Status.String(), Age: m.UpNumber, Roles: m.Roles,
			Version: m.AppVersion, Formats: [2]uint32{uint32(m.Formats.Min), uint32(m.Formats.Max)},
			Voter: slices.ContainsFunc(voters, func(o view.Member) bool { return o.UID == m.UID }),
		}
		for _, role := range m.Roles {
			if o, ok := v.Oldest(role); ok && o.UID == m.UID {
				y.OldestOf = append(y.OldestOf, role)
			}
		}
		x.Members = append(x.Members, y)
	}
	return x
}

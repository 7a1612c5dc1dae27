package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
)

// ofCluster asks for the cluster, and shows it.
func ofCluster(ctx context.Context, r *remote, table func(*table, api.Cluster)) (api.Cluster, error) {
	x, err := r.Cluster(ctx)
	if err != nil {
		return x, explained(r, err)
	}
	return x, show(r, x, x.Unanswered, table)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func members(ctx context.Context, r *remote, _ []string) error {
	_, err := ofCluster(ctx, r, func(t *table, x api.Cluster) {
		nodes := map[string]api.Node{}
		for _, n := range x.Nodes {
			nodes[n.UID] = n
		}
		t.row("UID", "ADDRESS", "STATUS", "AGE", "ROLES", "VERSION", "FORMATS", "VOTES", "READY", "LEASE", "SHARDS",
			"DOES NOT HEAR")
		for _, m := range x.View.Members {
			ready, lease, hosts, silent := "?", "?", "?", "?"
			if n, ok := nodes[m.UID]; ok {
				ready, lease, hosts, silent = yes(n.Ready), yes(n.Lease), hosted(n), dash(unheard(n))
			}
			t.row(api.Short(m.UID), m.Addr, m.Status, m.Age, strings.Join(m.Roles, ","), dash(m.Version),
				fmt.Sprintf("%d-%d", m.Formats[0], m.Formats[1]), yes(m.Voter), ready, lease, hosts, silent)
		}
	})
	return err
}

// hosted is how many shards a node hosts, and how far it is if it hands them over.
func hosted(n api.Node) string {
	shards, begun, ended := 0, 0, 0
	for _, t := range n.Types {
		shards += t.Hosted
		if t.Drain != nil {
			begun, ended = begun+1, ended+one(t.Drain.Done)
		}
	}
	switch {
	case begun > ended:
		return fmt.Sprintf("%d, draining", shards)
	case begun > 0:
		return fmt.Sprintf("%d, drained", shards)
	}
	return fmt.Sprint(shards)
}

func unheard(n api.Node) string {
	var all []string
	for _, s := range n.Unreachable {
		all = append(all, api.Short(s.UID))
	}
	return strings.Join(all, ",")
}

func roles(ctx context.Context, r *remote, _ []string) error {
	_, err := ofCluster(ctx, r, func(t *table, x api.Cluster) {
		t.row("ROLE", "DATA", "NODE", "ADDRESS", "KEYS", "DURABLE", "ITEMS", "BYTES", "ORIGINS", "EVENTS", "LOG",
			"WAITING BYTES", "LAG", "CAUGHT UP", "DIGESTS")
		for _, set := range datasetsIn(x) {
			for _, n := range x.Nodes {
				for _, p := range n.Roles {
					if dataset(p) == set {
						v, d := p.Volatile, p.Durable
						events, waiting := v.Events+d.Events, v.WaitingBytes+d.WaitingBytes
						t.row(p.Name, p.Data, api.Short(n.UID), n.Addr, v.Keys+d.Keys, d.Keys, v.Items+d.Items,
							v.Bytes+d.Bytes, v.Origins+d.Origins, events, v.LogEvents+d.LogEvents, waiting,
							furthest(p).Events, caughtUp(p), digests(p))
					}
				}
			}
		}
	})
	return err
}

func times(ctx context.Context, r *remote, _ []string) error {
	x, err := r.Metrics(ctx)
	if err != nil {
		return explained(r, err)
	}
	return show(r, x, x.Unanswered, func(t *table, x api.Metrics) {
		t.row("SERIES", "NODE", "COUNT", "P50", "P99", "NOW")
		for _, n := range x.Nodes {
			if !n.Kept {
				t.row("(ddata.Config.Meter is none of package events/recent)", api.Short(n.UID), "", "", "", "")
			}
			for _, m := range n.Timings {
				p99 := fmt.Sprintf("%.3g", m.P99)
				if m.Beyond {
					p99 = ">" + p99
				}
				t.row(series(m.Series), api.Short(n.UID), m.Count, fmt.Sprintf("%.3g", m.P50), p99, "")
			}
			for _, m := range n.Gauges {
				t.row(series(m.Series), api.Short(n.UID), "", "", "", m.Value)
			}
		}
	})
}

// series names a series as Prometheus does, without the first word, which all have.
func series(s api.Series) string {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, k+"="+s.Labels[k])
	}
	return strings.TrimPrefix(s.Name, "coterie_") + "{" + strings.Join(labels, ",") + "}"
}

// dataset names a role's data of one kind, for the order of the rows.
func dataset(p api.Role) [2]string { return [2]string{p.Name, p.Data} }

func datasetsIn(x api.Cluster) (all [][2]string) {
	for _, n := range x.Nodes {
		for _, p := range n.Roles {
			all = append(all, dataset(p))
		}
	}
	slices.SortFunc(all, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

// digests are the beginnings of those of the clocks of both spaces: replicas that have the same events have the same.
func digests(p api.Role) string {
	if p.Silent {
		return "-"
	}
	return fmt.Sprintf("%.8s %.8s", p.Volatile.Digest, p.Durable.Digest)
}

func caughtUp(p api.Role) string {
	if p.Silent {
		return "stands still"
	}
	return yes(p.CaughtUp)
}

// sums are the types, with what the nodes have together.
func sums(x api.Cluster) []api.Type {
	byName := map[string]*api.Type{}
	for _, n := range x.Nodes {
		for _, t := range n.Types {
			s := byName[t.Name]
			if s == nil {
				s = &api.Type{Name: t.Name, Role: t.Role, Shards: t.Shards, Dropped: map[string]uint64{},
					Alarms: map[string]uint64{}}
				byName[t.Name] = s
			}
			if t.Coordinating {
				s.Coordinator = n.UID
			}
			s.Hosted, s.Entities, s.Active = s.Hosted+t.Hosted, s.Entities+t.Entities, s.Active+t.Active
			s.Waiting.Buffered, s.Moves.Done = s.Waiting.Buffered+t.Waiting.Buffered, s.Moves.Done+t.Moves.Done
			s.Moves.UnderWay += t.Moves.UnderWay
			add(s.Dropped, t.Dropped)
			add(s.Alarms, t.Alarms)
		}
	}
	var all []api.Type
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	return all
}

func add(to, from map[string]uint64) {
	for k, n := range from {
		to[k] += n
	}
}

func types(ctx context.Context, r *remote, _ []string) error {
	_, err := ofCluster(ctx, r, func(t *table, x api.Cluster) {
		t.row("TYPE", "ROLE", "SHARDS", "HOSTED", "ENTITIES", "ACTIVE", "COORDINATOR", "BUFFERED", "MOVING", "MOVES",
			"DROPPED", "ALARMS")
		for _, s := range sums(x) {
			t.row(s.Name, s.Role, s.Shards, s.Hosted, s.Entities, s.Active, dash(api.Short(s.Coordinator)),
				s.Waiting.Buffered, s.Moves.UnderWay, s.Moves.Done, counts(s.Dropped), counts(s.Alarms))
		}
	})
	return err
}

// shards asks page by page.
func shards(ctx context.Context, r *remote, args []string) error {
	all, err := r.Shards(ctx, args[0], 0, api.PageMax)
	for err == nil && len(all.Shards) < all.Total {
		var next api.Shards
		next, err = r.Shards(ctx, args[0], len(all.Shards), api.PageMax)
		if err == nil && len(next.Shards) == 0 {
			break
		}
		all.Shards = append(all.Shards, next.Shards...)
		for _, u := range next.Unanswered {
			if !slices.ContainsFunc(all.Unanswered, func(o api.Unanswered) bool { return o.UID == u.UID }) {
				all.Unanswered = append(all.Unanswered, u)
			}
		}
	}
	if err != nil {
		return explained(r, err)
	}
	return show(r, all, all.Unanswered, func(t *table, x api.Shards) {
		t.row("SHARD", "NODE", "ENTITIES", "ACTIVE", "BUFFERED", "WAITS FOR", "MOVES")
		for _, s := range x.Shards {
			t.row(s.Shard, dash(api.Short(s.Node)), s.Entities, s.Active, s.Buffered, dash(s.Waits),
				moving(s.Moving))
		}
	})
}

// moving says how far a shard is on its way.
func moving(m *api.Moving) string {
	if m == nil {
		return "-"
	}
	text := fmt.Sprintf("from %s to %s: %s", dash(api.Short(m.From)), dash(api.Short(m.To)), m.Phase)
	if m.Awaits > 0 {
		text += fmt.Sprintf(", %d nodes have not answered", m.Awaits)
	}
	if m.Since != nil {
		text += ", since " + clock(*m.Since)
	}
	return text
}

func where(ctx context.Context, r *remote, args []string) error {
	x, err := r.Entity(ctx, args[0], args[1])
	if err != nil {
		return explained(r, err)
	}
	return show(r, x, x.Unanswered, func(t *table, x api.Entity) {
		t.row("type", x.Type)
		t.row("id", x.ID)
		shard, at := fmt.Sprint(x.Shard), "no node hosts its shard now, or its home is moving"
		switch {
		case x.Shard < 0:
			shard, at = "unknown", "unknown: no node that answered has started the type"
		case x.Node != "":
			at = api.Short(x.Node) + " " + x.Addr
		}
		t.row("shard", shard)
		t.row("node", at)
		if x.NotFound != "" {
			t.row("not found", x.NotFound)
		}
		t.row("active", yes(x.Active))
		t.row("waiting", fmt.Sprintf("%d messages", x.Waiting))
		if x.Doing != "" {
			t.row("doing", x.Doing)
		}
		if x.Why != "" {
			t.row("passivation", x.Why)
		}
		for _, p := range x.Passivated {
			t.row("passivated", clock(p.At)+" "+p.Text)
		}
	})
}

func runbook(ctx context.Context, r *remote, args []string) error {
	x, err := r.Runbook(ctx, args[0])
	if err != nil {
		return explained(r, err)
	}
	return show(r, x, nil, func(t *table, x api.Runbook) {
		for line := range strings.Lines(x.Text) {
			t.row(strings.TrimSuffix(line, "\n"))
		}
	})
}

package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
)

func statusCommand(flags *flag.FlagSet) task {
	recent := flags.Duration("alarms", 0, "fail with exit code 6 if the last alarm of a node is younger")
	return asking(func(ctx context.Context, r *remote, _ []string) error {
		x, err := ofCluster(ctx, r, statusTable)
		if err != nil {
			return err
		}
		for _, n := range x.Nodes {
			if !n.Ready {
				return errUnready
			}
		}
		for _, n := range x.Nodes {
			for _, a := range n.Alarms {
				if *recent > 0 && n.At.Sub(a.Last) < *recent {
					return fmt.Errorf("%w: %s on %s %s", errAlarms, a.Kind, api.Short(n.UID), n.Addr)
				}
			}
		}
		return nil
	})(flags)
}

func statusTable(t *table, x api.Cluster) {
	up, ready, leases := 0, 0, 0
	for _, m := range x.View.Members {
		if m.Status == "Up" {
			up++
		}
	}
	for _, n := range x.Nodes {
		ready += one(n.Ready)
		leases += one(n.Lease)
	}
	t.row("cluster", x.Name)
	t.row("view", x.View.Epoch)
	t.row("format", formatText(x.View))
	t.row("members", fmt.Sprintf("%d, %d up, %d answered, %d ready, %d with a lease", len(x.View.Members), up,
		len(x.Nodes), ready, leases))
	if x.View.Closing {
		t.row("closing", "the whole cluster is about to be stopped")
	}
	if r := x.View.Retirement; r != nil {
		t.row("retired", retiredText(r))
	}
	for _, n := range x.Nodes {
		if n.RetirementWaits != "" {
			t.row("retirement", "waits for "+n.RetirementWaits)
		}
	}
	for _, s := range sums(x) {
		t.row("type", fmt.Sprintf("%s: %d of %d shards hosted, %d entities active", s.Name, s.Hosted, s.Shards,
			s.Active))
		if n := s.Moves.UnderWay; n > 0 {
			t.row("moving", fmt.Sprintf("%s: %d shards are on their way", s.Name, n))
		}
		if len(s.Dropped) > 0 {
			t.row("dropped", fmt.Sprintf("%s: messages: %s", s.Name, counts(s.Dropped)))
		}
	}
	for _, n := range x.Nodes {
		statusOf(t, n)
	}
	alarmRows(t, x)
}

// formatText says at which format level a cluster writes, and which it will once all members speak it.
func formatText(v api.View) string {
	if len(v.Members) == 0 {
		return fmt.Sprint(v.Format)
	}
	highest, ready := v.Members[0].Formats[1], 0
	for _, m := range v.Members {
		highest = max(highest, m.Formats[1])
	}
	for _, m := range v.Members {
		ready += one(m.Formats[1] == highest)
	}
	if highest == v.Format {
		return fmt.Sprintf("%d, the highest that members speak", v.Format)
	}
	return fmt.Sprintf("%d; %d of %d members speak %d", v.Format, ready, len(v.Members), highest)
}

// retiredText says which incarnations are over, and whether others retire now.
func retiredText(r *api.Retirement) string {
	text := "no incarnations yet"
	if r.Ended != "" {
		text = fmt.Sprintf("incarnations %s, since view %d", r.Ended, r.Since)
	}
	if r.Ending != "" {
		text += fmt.Sprintf("; those %s retire now", r.Ending)
	}
	return text + fmt.Sprintf("; %d have come since", r.Came)
}

// statusOf prints what is not well on a node.
func statusOf(t *table, n api.Node) {
	name := api.Short(n.UID) + " " + n.Addr
	for _, why := range n.Reasons {
		t.row("not ready", name+": "+why)
	}
	for _, s := range n.Unreachable {
		t.row("silent", fmt.Sprintf("%s does not hear %s since %s", api.Short(n.UID), api.Short(s.UID), clock(s.Since)))
	}
	if len(n.Transport.Dropped) > 0 {
		t.row("frames lost", name+": "+counts(n.Transport.Dropped))
	}
	for _, p := range n.Roles {
		of := fmt.Sprintf("%s: role %s, %s data", name, p.Name, p.Data)
		switch {
		case p.Silent:
			t.row("stands still", of)
		case !p.CaughtUp:
			t.row("catches up", of)
		}
		if p.DigestAlarms > 0 {
			t.row("diverged", fmt.Sprintf("%s: %d digests of others did not fit", of, p.DigestAlarms))
		}
		if p.StoreFailed > 0 {
			t.row("disk failed", fmt.Sprintf("%s: %d batches", of, p.StoreFailed))
		}
		if far := furthest(p); far.Events > 0 {
			t.row("lag", fmt.Sprintf("%s: %s is %d events behind", of, api.Short(far.UID), far.Events))
		}
	}
}

// furthest is the member that is furthest behind with what a replica has written.
func furthest(p api.Role) (most api.Lag) {
	for _, l := range p.Lags {
		if l.Events > most.Events {
			most = l
		}
	}
	return most
}

// alarmRows prints the alarms of all nodes, by kind.
func alarmRows(t *table, x api.Cluster) {
	type sum struct {
		count uint64
		nodes []string
		last  time.Time
	}
	sums := map[string]sum{}
	for _, n := range x.Nodes {
		for _, a := range n.Alarms {
			s := sums[a.Kind]
			s.count, s.nodes = s.count+a.Count, append(s.nodes, api.Short(n.UID))
			if a.Last.After(s.last) {
				s.last = a.Last
			}
			sums[a.Kind] = s
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		s := sums[kind]
		t.row("alarm", fmt.Sprintf("%s: %d, on %s, the last at %s", kind, s.count, strings.Join(s.nodes, ", "),
			clock(s.last)))
	}
}

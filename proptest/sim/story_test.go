package sim

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim/options"
)

// TestStoryOfAFailingSeed: what is told of a seed ends with what broke. Messages that arrive were sent before, some
// are lost, and entities and keys have their records.
func TestStoryOfAFailingSeed(t *testing.T) {
	log := story.NewLog(1 << 20)
	r := Run(12, options.Plan{Swarm: options.Cluster, Defect: "handles-meanwhile"}, log)
	records := log.Records()
	if r.Violation == nil || log.Left() > 0 {
		t.Fatalf("%v, %d records are left out", r.Violation, log.Left())
	}
	sent, kinds, keys, entities := map[string]story.Record{}, map[story.Kind]int{}, 0, 0
	broke := ""
	for _, x := range records {
		if kinds[x.Kind]++; len(x.Keys) > 0 {
			keys++
		}
		if x.Type != "" && x.ID != "" {
			entities++
		}
		switch x.Kind {
		case story.Violation:
			broke = x.Text
		case story.Sent:
			sent[x.Message] = x
		case story.Received, story.Lost:
			from, to := x.Peer, x.Node
			if x.Kind == story.Lost {
				from, to = x.Node, x.Peer
			}
			if s := sent[x.Message]; s.Node != from || s.Peer != to || s.ID != x.ID || s.Time > x.Time {
				t.Fatalf("%+v\nwas sent as %+v", x, s)
			}
		}
	}
	if !strings.HasPrefix(broke, r.Violation.Check+" at ") {
		t.Errorf("what broke is %q, not %v", broke, r.Violation)
	}
	for _, k := range []story.Kind{story.Sent, story.Received, story.Lost, story.Fault, story.Started, story.Ended} {
		if kinds[k] == 0 {
			t.Errorf("no record of the kind %v: %v", k, kinds)
		}
	}
	if keys == 0 || entities == 0 {
		t.Errorf("%d records with keys, %d with entities", keys, entities)
	}
}

package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// rolling is a coordinator on node 1, and the settings of nodes 1 to 3, which have reported.
func rolling(t *testing.T, own protocol.Config, theirs ...protocol.Config) *lone {
	own.Identity, own.Self = protocol.Identity{Name: "t", Shards: 4}, 1
	l := newLoneOf(t, own, 1, 2, 3)
	l.report(1)
	for i, cfg := range theirs {
		cfg.Identity = own.Identity
		l.step(protocol.Receive{From: protocol.UID(i + 2), Msg: protocol.Report{
			Floor: l.c.term.registrar.floor, Parts: 1, Compatibility: cfg.WithDefaults().Compatibility(),
		}})
	}
	if !l.c.Acts() {
		t.Fatal("the coordinator does not act")
	}
	return l
}

// passing lets time pass, and returns the lines that tell of an event.
func (l *lone) passing(d time.Duration, event string) (lines []string) {
	l.t.Helper()
	for end := l.now.Add(d); l.now.Before(end); {
		l.now = l.now.Add(time.Minute)
		for line := range strings.Lines(l.step(protocol.Tick{})) {
			if strings.Contains(line, event) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func strategy(name string, changing bool) protocol.Config {
	return protocol.Config{Allocation: protocol.Allocation{Strategy: called(name), Changing: changing}}
}

// That a strategy may still be changed is told after an hour for which all nodes have had the same one, each hour, with
// the names of the nodes; and no more when these have been restarted.
func TestChangingThatIsLeftIsTold(t *testing.T) {
	l := rolling(t, strategy("a", false), strategy("a", true), strategy("b", true))
	if got := l.passing(3*time.Hour, "changing-left"); len(got) > 0 {
		t.Errorf("told while two strategies are there: %q", got)
	}
	register := func(name string, changing bool) {
		cfg := strategy(name, changing)
		cfg.Identity = protocol.Identity{Name: "t", Shards: 4}
		l.step(protocol.Receive{
			From: 3, Msg: protocol.Register{Joined: true, Compatibility: cfg.WithDefaults().Compatibility()},
		})
	}
	register("a", true)
	if got := l.passing(protocol.RolloutMax, "changing-left"); len(got) > 0 {
		t.Errorf("told before an hour has passed: %q", got)
	}
	got := strings.Join(l.passing(protocol.RolloutMax, "changing-left"), "")
	l.expect(got, "changing-left! ", "count=2",
		"the strategy a, and Allocation.Changing is still set on 2, 3")
	register("a", false)
	got = strings.Join(l.passing(protocol.RolloutMax, "changing-left"), "")
	l.expect(got, "count=1", "still set on 2\"")
	l.step(protocol.Receive{From: 2, Msg: protocol.Register{Joined: true, Compatibility: l.c.cfg.Compatibility()}})
	if got := l.passing(3*protocol.RolloutMax, "changing-left"); len(got) > 0 {
		t.Errorf("told although nothing is being changed: %q", got)
	}
}

func leases(shards, coordinator protocol.StoreID, announced bool) protocol.Config {
	return protocol.Config{Leases: protocol.Leases[protocol.StoreID]{
		Shards: shards, Coordinator: coordinator, Announced: announced,
	}}
}

// Nodes that take no leases of a store that another one names are told of by their names, after an hour.
func TestLackingLeasesAreTold(t *testing.T) {
	for name, c := range map[string]struct { // order: each is a cluster of its own
		own, second, third protocol.Config
		want               []string
	}{
		"none has leases": {},
		"one has them not": {
			leases("x", "", true), protocol.Config{}, leases("x", "", true),
			[]string{
				"count=3", "Leases.Shards is not set on 2; ", "is only announced on 1, 3\"",
			},
		},
		"others announce them": {
			protocol.Config{}, leases("x", "y", true), leases("x", "y", true),
			[]string{
				"count=3", "Leases.Shards is not set on 1; ", "is only announced on 2, 3; ",
				"Leases.Coordinator is not set on 1",
			},
		},
		"all take them": {own: leases("x", "", false), second: leases("x", "", false), third: leases("x", "", false)},
		"one only announces them": {
			leases("x", "", false), leases("x", "", false), leases("x", "", true),
			[]string{"count=1", "Leases.Shards is only announced on 3\""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := rolling(t, c.own, c.second, c.third)
			if got := l.passing(protocol.RolloutMax, "leases-lacking"); len(got) > 0 {
				t.Errorf("told before an hour has passed: %q", got)
			}
			got := l.passing(protocol.RolloutMax, "leases-lacking")
			if told := len(got) == 1; len(got) > 1 || told != (c.want != nil) {
				t.Errorf("told: %q", got)
			}
			l.expect(strings.Join(got, ""), c.want...)
		})
	}
}

package options

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// scripted reports whether a scenario replaces the drawn faults.
func scripted(scenario string) bool {
	return !slices.Contains([]string{PlainChaos, ColdRestarts, BadDisks, SmallLogs, SmallBacklogs}, scenario)
}

// TestClusterPlanDrawsAll: what the plan promises does come up.
func TestClusterPlanDrawsAll(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 400; seed++ {
		o := Draw(random.Streams{Seed: seed}, Plan{Swarm: Cluster})
		seen[fmt.Sprint("nodes ", o.Nodes)], seen[o.Strategy.String()], seen[o.Timing.String()] = true, true, true
		seen[fmt.Sprint("voters ", o.VotersMax)], seen[fmt.Sprint(o.Scenario, " of ", o.Nodes, " ", o.Timing)] = true,
			true
		for s, n := range o.Weights {
			seen[Fault(s).String()] = seen[Fault(s).String()] || n > 0
		}
		if !scripted(o.Scenario) && (o.Weights[Join] == 0 || o.Weights[Leave] == 0) || o.ClockDrift > farApart ||
			o.WriteGap < 300*time.Millisecond {
			t.Errorf("seed %d: %v", seed, o)
		}
	}
	want := []string{"nodes 3", "nodes 5", "nodes 7", "nodes 20", "keep-majority", "manual", "keep-oldest",
		"keep-oldest down-if-alone", "down-all", "lease-majority",
		"static-quorum 3", "voters 0", "voters 1", "voters 3", "voters 5", "growing-view of 3 reckless",
		"growing-view of 4 reckless", "growing-view of 3 hostile",
		"rolling-restarts of 3 usual", "closings of 3 usual"}
	for _, w := range append(want, faultNames[:]...) {
		if !seen[w] {
			t.Errorf("no %q in 400 seeds", w)
		}
	}
}

// TestRolesAreDrawn: some worlds have nodes of one role, of both and of neither, and enough of each
// among the first.
func TestRolesAreDrawn(t *testing.T) {
	seen := map[string]int{}
	for seed := uint64(1); seed <= 200; seed++ {
		for _, plan := range []Plan{{}, {Swarm: Cluster}} {
			o := Draw(random.Streams{Seed: seed}, plan)
			count := map[string]int{}
			for i := range o.Nodes + o.Spare {
				roles := o.RolesOf(i)
				seen[fmt.Sprint(plan.Swarm, roles)]++
				for _, role := range roles {
					if i < o.Nodes {
						count[role]++
					}
				}
			}
			if o.Roles != nil && (count[Backend] < 2 || count[Edge] < 2) {
				t.Errorf("seed %d: %v", seed, o)
			}
		}
	}
	for _, want := range []string{"[backend]", "[edge]", "[idle]", "[backend edge]"} {
		if seen[want] == 0 || seen[Cluster+want] == 0 {
			t.Errorf("no node of %s in 200 seeds: %v", want, seen)
		}
	}
}

// TestScenarioBends: what a plan says is played, whatever the seed.
func TestScenarioBends(t *testing.T) {
	for _, scenario := range Scenarios {
		for seed := uint64(1); seed <= 20; seed++ {
			o := Draw(random.Streams{Seed: seed}, Plan{Scenario: scenario, FaultsMax: 3, CheckEvery: -5})
			if o.Scenario != scenario || o.FaultsMax != 3 || o.CheckEvery != -1 || o.Inserts != 200 {
				t.Errorf("%s, seed %d: %v", scenario, seed, o)
			}
			if o.Nodes < 1 || o.Nodes+o.Spare > 64 || o.Calm && (o.DiskFail > 0 || o.HasLeases()) {
				t.Errorf("%s, seed %d: %v", scenario, seed, o)
			}
			if roles := len(o.Roles); roles > 0 && roles != o.Nodes+o.Spare {
				t.Errorf("%s, seed %d: roles of %d slots", scenario, seed, roles)
			}
		}
	}
}

// TestDrawIsRepeatable: a seed draws the same world each time.
func TestDrawIsRepeatable(t *testing.T) {
	for seed := uint64(1); seed <= 50; seed++ {
		for _, plan := range []Plan{{}, {Swarm: Cluster}} {
			a, b := Draw(random.Streams{Seed: seed}, plan), Draw(random.Streams{Seed: seed}, plan)
			if a.String() != b.String() {
				t.Errorf("seed %d: %v, and %v", seed, a, b)
			}
		}
	}
}

// TestRemindPlaysNoJournals: the worlds of reminders draw no scenario that does nothing in them, and all
// others that those of journals draw.
func TestRemindPlaysNoJournals(t *testing.T) {
	played := map[string]map[string]bool{Persist: {}, Remind: {}}
	for seed := uint64(1); seed <= 300; seed++ {
		for swarm, scenarios := range played {
			scenarios[Draw(random.Streams{Seed: seed}, Plan{Swarm: swarm}).Scenario] = true
		}
	}
	for _, only := range []string{Deposed, TwoCoordinators} {
		if !played[Persist][only] || played[Remind][only] {
			t.Errorf("%s: %v", only, played)
		}
		delete(played[Persist], only)
	}
	if !maps.Equal(played[Persist], played[Remind]) {
		t.Errorf("they play %v", played)
	}
}

package sim

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/sim/counts"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/planted"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// TestMain collects garbage as rarely as the command does: worlds are small and live for seconds.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// TestSeeds runs a fixed number of worlds. `go run ./proptest/sim/cmd/sim -seeds 2000` runs more.
func TestSeeds(t *testing.T) {
	c := playSeeds(t, options.Plan{})
	if c.Acked == 0 || c.Reads == 0 || c.Linear == 0 || c.Crashes == 0 || c.Views == 0 ||
		c.Swept == 0 || c.Expired == 0 || c.Folded == 0 || c.Deleted == 0 || c.Bulk == 0 || c.Parts == 0 ||
		c.Leased == 0 || c.LeasesLost == 0 || c.Excused[history.Crashed] == 0 || c.Excused[history.Dropped] == 0 ||
		c.Halts == 0 {
		t.Errorf("the worlds did next to nothing: %+v", c)
	}
}

const testSeeds = 24

// playSeeds plays the first worlds of a plan, which must all be well, and returns what they did.
func playSeeds(t *testing.T, plan options.Plan) counts.Counts {
	t.Helper()
	s := Batch{First: 1, Seeds: testSeeds, Plan: plan, Failed: func(r Result) {
		t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, Replay(r.Seed, plan))
	}}.Run()
	t.Log(s)
	t.Logf("%+v", s.Counts)
	return s.Counts
}

// TestClusterSeeds runs worlds of the plan for clusters. `make sim PLAN=cluster SEEDS=5000` runs
// more.
func TestClusterSeeds(t *testing.T) {
	c := playSeeds(t, options.Plan{Swarm: options.Cluster})
	if c.Flaps == 0 || c.Crashes == 0 || c.Pauses == 0 || c.Cuts == 0 || c.Joins == 0 || c.Leaves == 0 ||
		c.Acked == 0 || c.Told == 0 ||
		c.Consulted == 0 || c.Located == 0 || c.Evicted == 0 || c.TypesLate == 0 || c.TypesLacked == 0 ||
		c.LevelsRaised == 0 || c.BuildsRefused == 0 {
		t.Errorf("the worlds did next to nothing: %+v", c)
	}
}

// TestPersistSeeds runs worlds of the plan for entities that keep their state. `make sim PLAN=persist
// SEEDS=5000` runs more.
func TestPersistSeeds(t *testing.T) {
	all := playSeeds(t, options.Plan{Swarm: options.Persist})
	p := all.Persisted
	if c := p.Judged; c.Records == 0 || c.Receipts == 0 || c.Snapshots == 0 || c.Deleted == 0 || p.Resumed == 0 {
		t.Errorf("the entities did next to nothing: %+v", p)
	}
	if c := p.Store; c.Failed == 0 || c.Lost == 0 || c.Hung == 0 || c.Late == 0 || c.Succeeded == 0 || c.Outages == 0 ||
		c.Spoilt == 0 || c.Fenced == 0 || c.Refused == 0 {
		t.Errorf("the store did too little harm: %+v", c)
	}
	l := all.Ledgers
	if c := l.Store; l.Terms == 0 || l.Read == 0 || l.Told == 0 || c.Failed == 0 || c.Lost == 0 || c.Hung == 0 ||
		c.Succeeded == 0 || c.Fenced == 0 || c.Refused == 0 {
		t.Errorf("the journal of homes was hardly used, or did too little harm: %+v", l)
	}
}

// TestRemindSeeds runs worlds of the plan for entities that set reminders. `make sim PLAN=remind
// SEEDS=5000` runs more.
func TestRemindSeeds(t *testing.T) {
	c := playSeeds(t, options.Plan{Swarm: options.Remind}).Reminded
	if c.Stored == 0 || c.Cancelled == 0 || c.Replaced == 0 || c.Doubted == 0 || c.Turns == 0 || c.Again == 0 ||
		c.Missed == 0 || c.Failed == 0 || c.Reshards == 0 {
		t.Errorf("the reminders did next to nothing: %+v", c)
	}
	if c := c.Store; c.Failed == 0 || c.Lost == 0 || c.Hung == 0 || c.Late == 0 || c.Outages == 0 || c.Fenced == 0 {
		t.Errorf("the store did too little harm: %+v", c)
	}
}

// TestDeliverSeeds runs worlds of the plan for entities to which producers deliver. `make sim PLAN=deliver
// SEEDS=5000` runs more.
func TestDeliverSeeds(t *testing.T) {
	c := playSeeds(t, options.Plan{Swarm: options.Deliver}).Producers
	if c.Again == 0 || c.Failed == 0 || c.Confirmed == 0 || c.Stored == 0 || c.Unconfirmed == 0 || c.Later == 0 ||
		c.Rejected == 0 {
		t.Errorf("the producers did next to nothing: %+v", c)
	}
}

// TestPlanIsValidated: a name that is unknown is no silent run of something else.
func TestPlanIsValidated(t *testing.T) {
	for _, p := range []options.Plan{{Swarm: "clusters"}, {Scenario: "grow"}, {Defect: "no-v9"}} {
		if Validate(p) == nil {
			t.Errorf("%+v is taken", p)
		}
	}
	if err := Validate(options.Plan{
		Swarm: options.Cluster, Scenario: options.GrowingView, Defect: "no-v1",
	}); err != nil {
		t.Error(err)
	}
}

// TestRegressions runs the seeds that once found something.
func TestRegressions(t *testing.T) {
	f, err := os.Open("testdata/seeds")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var seed uint64
		var of string
		if _, err := fmt.Sscan(line, &seed, &of); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		swarm, scenario, other := strings.Cut(of, "/")
		if !other {
			swarm, scenario = "", of
		}
		plan := options.Plan{Swarm: swarm, Scenario: strings.TrimPrefix(scenario, "-")}
		if err := Validate(plan); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r := Run(seed, plan, nil); r.Violation != nil {
			t.Errorf("%s: %v\n%s", line, r.Violation, Replay(seed, plan))
		}
	}
}

// TestInserts plays the insert test of the reference with as many inserts as there, on several
// seeds, and with a hundred times as many.
func TestInserts(t *testing.T) {
	for _, b := range []Batch{
		{First: 1, Seeds: 12, Plan: options.Plan{Scenario: options.Inserts}},
		{First: 14, Seeds: 1, Plan: options.Plan{Scenario: options.Inserts, Inserts: 20_000}},
	} {
		b.Failed = func(r Result) { t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, Replay(r.Seed, b.Plan)) }
		s := b.Run()
		t.Log(s)
		if c := s.Counts; c.Writes < b.Seeds*4*uint64(max(b.Plan.Inserts, 200)) || c.Cuts != 2*b.Seeds {
			t.Errorf("the worlds did too little: %+v", c)
		}
	}
	caught := Batch{
		First: 1, Seeds: 4, Plan: options.Plan{Scenario: options.Inserts, Defect: "read-without-catch-up"},
	}.Run()
	if len(caught.Failures) == 0 || caught.Failures[0].Violation.Check != "inserts" {
		t.Errorf("reads that do not catch up go unnoticed: %v", caught)
	}
}

// TestBadDisks plays worlds in which disks misbehave in every way.
func TestBadDisks(t *testing.T) {
	b := Batch{First: 1, Seeds: 16, Plan: options.Plan{Scenario: options.BadDisks}}
	b.Failed = func(r Result) { t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, Replay(r.Seed, b.Plan)) }
	s := b.Run()
	t.Logf("%+v", s.Counts)
	if c := s.Counts; c.Torn == 0 || c.TableFaults == 0 || c.ReadFaults == 0 || c.Lies == 0 || c.Tears == 0 ||
		c.Wipes == 0 {
		t.Errorf("the disks did too little: %+v", c)
	}
}

// TestClosedTypes closes types on nodes that stay, and starts them again, in calm worlds and in
// others.
func TestClosedTypes(t *testing.T) {
	b := Batch{First: 1, Seeds: 8, Plan: options.Plan{Scenario: options.ClosedTypes}}
	b.Failed = func(r Result) { t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, Replay(r.Seed, b.Plan)) }
	if s := b.Run(); s.Counts.TypesClosed < 8*b.Seeds || s.Counts.HandOffs == 0 {
		t.Errorf("the worlds did too little: %+v", s.Counts)
	}
}

// TestCrowdedMoves moves shards while handlers fail and what waits has little room: the order holds.
func TestCrowdedMoves(t *testing.T) {
	b := Batch{First: 4, Seeds: 3, Plan: options.Plan{Scenario: options.CrowdedMoves}}
	b.Failed = func(r Result) { t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, Replay(r.Seed, b.Plan)) }
	if c := b.Run().Counts; c.HandOffs == 0 || c.Dropped == 0 || c.Stopped == 0 || c.Rested == 0 {
		t.Errorf("the worlds did too little: %+v", c)
	}
}

// TestSmallBacklogs has writers wait for replicas that are behind: nothing is lost, and all comes to an end.
func TestSmallBacklogs(t *testing.T) {
	b := Batch{First: 1, Seeds: 4, Plan: options.Plan{Scenario: options.SmallBacklogs}}
	b.Failed = func(r Result) { t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, Replay(r.Seed, b.Plan)) }
	if c := b.Run().Counts; c.Held == 0 {
		t.Errorf("no write has waited: %+v", c)
	}
}

// TestRareDefectsAreCaughtInTheirScenario plays the scenarios that are made for defects which the
// drawn worlds show too rarely: with the defect one of 30 seeds must show it, without it none does.
func TestRareDefectsAreCaughtInTheirScenario(t *testing.T) {
	sound := map[options.Plan]bool{
		{Swarm: options.Cluster}: true, {Swarm: options.Persist}: true, {Swarm: options.Remind}: true,
		{Scenario: options.BadDisks}: true, {Scenario: options.ClosedTypes}: true,
	}
	for _, defect := range slices.Sorted(maps.Keys(planted.HuntedIn)) {
		plan := planted.HuntedIn[defect]
		t.Run(defect, func(t *testing.T) {
			t.Parallel() // one worker each: a seed after the one that shows the defect is not played
			if n, caught, ok := HuntDefect(defect, 30, 1); !ok {
				t.Errorf("not caught in %d seeds of %+v: look for another seed, for planted.HuntedFrom", n, plan)
			} else {
				t.Logf("caught at seed %d by %q", caught.Seed, caught.Violation.Check)
			}
		})
		if sound[plan] {
			continue // other tests play those above
		}
		sound[plan] = true
		t.Run(strings.TrimSpace(plan.Swarm+" "+plan.Scenario), func(t *testing.T) {
			t.Parallel()
			playSound(t, plan)
		})
	}
}

// playSound plays one world without a defect. It must do what its scenario is about.
func playSound(t *testing.T, plan options.Plan) {
	c := Batch{First: 1, Seeds: 1, Workers: 1, Plan: plan, Failed: func(r Result) {
		t.Errorf("%+v, seed %d: %v", plan, r.Seed, r.Violation)
	}}.Run().Counts
	if plan.Scenario == options.LateCounts && c.Folded == 0 ||
		plan.Scenario == options.Closings && (c.Closings == 0 || c.Returned == 0) ||
		plan.Scenario == options.RollingRestarts && c.HandOffs == 0 ||
		plan.Scenario == options.Votes && (c.Cuts == 0 || c.Views < 4) ||
		plan.Scenario == options.Retirements && (c.Retired < 5 || c.Restored == 0 || c.ClockRows == 0) ||
		plan.Scenario == options.Stops && c.Stops == 0 ||
		plan.Scenario == options.Deposed && c.Persisted.Store.Succeeded == 0 ||
		plan.Scenario == options.OldLeases && c.Crashes == 0 {
		t.Errorf("%+v: next to nothing happened: %+v", plan, c)
	}
	// Of four nodes a retirement begins when four have come, and the third one names these for sure.
	if most := uint64(4 * (1 + 3 + 2)); plan.Scenario == options.Retirements && c.ClockRows > most {
		t.Errorf("a clock of %d rows, more than %d: retirements do not keep pace", c.ClockRows, most)
	} else if plan.Scenario == options.Retirements && (c.CountItems < 3 || c.CountItems > most) {
		t.Errorf("%d items of a counter, at most %d can be: folds do not keep pace", c.CountItems, most)
	}
}

// TestLeaseRollouts introduces leases of shards and coordinators by rolling restarts, and takes them away again, while
// processes die.
func TestLeaseRollouts(t *testing.T) {
	b := Batch{First: 1, Seeds: 6, Plan: options.Plan{Scenario: options.LeaseRollouts}}
	b.Failed = func(r Result) { t.Errorf("seed %d: %v", r.Seed, r.Violation) }
	if c := b.Run().Counts; c.LeaseStages < 4*b.Seeds || c.Leased == 0 || c.Crashes == 0 {
		t.Errorf("the worlds did too little: %+v", c)
	}
}

// TestMixedShards shows why a node with other Shards is refused: without that, a rolling restart that changes Shards
// has entities run twice.
func TestMixedShards(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		r := Run(seed, options.Plan{Scenario: options.RollingRestarts, Defect: "mixes-shards"}, nil)
		if r.Violation == nil || r.Violation.Check != "no entity twice" {
			t.Errorf("seed %d: %v", seed, r.Violation)
		}
	}
}

// TestSameSeedSameTrace runs worlds twice: whatever a machine takes from a map's order, a clock or
// a global generator shows here.
func TestSameSeedSameTrace(t *testing.T) {
	for _, c := range []struct {
		swarm string
		seed  uint64
	}{{"", 1}, {"", 2}, {"", 3}, {options.Persist, 1}, {options.Remind, 20}, {options.Deliver, 1}} {
		plan := options.Plan{Swarm: c.swarm}
		a, b := Run(c.seed, plan, nil), Run(c.seed, plan, nil)
		if a.Hash != b.Hash || a.Events != b.Events {
			t.Errorf("%q, seed %d: %x after %d events, then %x after %d", c.swarm, c.seed, a.Hash, a.Events, b.Hash,
				b.Events)
		}
	}
}

// TestWatchingChangesNothing runs a world with and without an onlooker.
func TestWatchingChangesNothing(t *testing.T) {
	plan := options.Plan{Swarm: options.Cluster} // of little load: the onlooker prints each step
	if a, b := Run(5, plan, trace.NewTail(1)), Run(5, plan, nil); a.Hash != b.Hash {
		t.Errorf("watched %x, unwatched %x", a.Hash, b.Hash)
	}
}

package soak_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/planted"
	"github.com/coterie-go/coterie/proptest/sim/soak"
)

// TestQuiet: worlds without a violation end when the time is over, and their coverage is told.
func TestQuiet(t *testing.T) {
	var out strings.Builder
	s := soak.Soak{
		From: 1, For: time.Second, Workers: 1, Every: time.Millisecond, Out: &out,
		Plans: []options.Plan{{Swarm: options.Cluster, FaultsMax: 3}},
	}
	if !s.Run() {
		t.Fatalf("it failed:\n%s", &out)
	}
	for _, want := range []string{
		"from seed 1 on", "violations=0", "events_per_s_per_core=", "kinds=", "plans=1/1", "plans: cluster=",
		"never played: ", options.Votes,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "soak: minutes="); n < 2 {
		t.Errorf("%d lines of progress:\n%s", n, &out)
	}
}

// TestViolation: a planted defect ends the soak long before its time, with its story and a command
// that replays it.
func TestViolation(t *testing.T) {
	const defect = "unwoken"
	plan := planted.HuntedIn[defect]
	plan.Defect = defect
	var out strings.Builder
	s := soak.Soak{From: 1, For: time.Hour, Plans: []options.Plan{plan}, Story: 20, Out: &out}
	if s.Run() {
		t.Fatalf("it did not fail:\n%s", &out)
	}
	text := out.String()
	_, story, found := strings.Cut(text, "records of its story:\n")
	before, _, _ := strings.Cut(text, "\nreplay: ")
	check, _, told := strings.Cut(before[strings.LastIndex(before, "\n")+1:], " at ") // what the shrunk world broke
	if !found || strings.Count(story, "\n") < 20 || !told || !strings.Contains(story, " world      "+check) {
		t.Errorf("there is no story in\n%s", text)
	}
	for _, want := range []string{"replay: go run ./proptest/sim/cmd/sim -seed ", "-defect " + defect} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestRotation: everything that there is takes its turn.
func TestRotation(t *testing.T) {
	swarms, scenarios := map[string]bool{}, map[string]bool{}
	for _, p := range soak.Rotation() {
		if err := sim.Validate(p); err != nil {
			t.Error(err)
		}
		swarms[p.Swarm], scenarios[p.Scenario] = true, true
	}
	for _, name := range append([]string{""}, options.Swarms...) {
		if !swarms[name] {
			t.Errorf("plan %q has no turn", name)
		}
	}
	for _, name := range options.Scenarios {
		if !scenarios[name] {
			t.Errorf("scenario %q has no turn", name)
		}
	}
}

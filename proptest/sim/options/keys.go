package options

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// KeyStage adds to the durable keys of the processes that are started from a time on.
type KeyStage struct {
	After   time.Duration
	Pattern string
	Role    string // of which alone it is; empty: of all
}

// KeyStages are in the order of time.
type KeyStages []KeyStage

// At are the patterns of a process that is started at a time. Every third has an older configuration, without any.
// A process has none of a role that it does not have.
func (all KeyStages) At(uid uint64, now int64, roles []string) (patterns []string) {
	if uid%3 == 0 {
		return nil
	}
	for _, s := range all {
		switch {
		case now < int64(s.After):
		case s.Role == "":
			patterns = append(patterns, s.Pattern)
		case slices.Contains(roles, s.Role):
			patterns = append(patterns, view.OfRole(s.Role, s.Pattern))
		}
	}
	return view.MergePatterns(patterns, nil)
}

// drawKeys draws whether volatile keys become durable, first the sets and then all, as in rolling
// restarts that change the configuration.
func (o *Options) drawKeys(rs random.Streams) {
	r := rs.Stream("keys", 0)
	often := r.IntN(4) == 0
	switch {
	case o.Scenario == NewKeys:
		o.applyKeys(r)
	case !often:
		return
	}
	first := random.Pick(r, 0, 15*time.Second, 30*time.Second)
	o.NewKeys = []KeyStage{
		{After: first, Pattern: "v/set/*"},
		{After: first + random.Pick(r, 5*time.Second, 30*time.Second), Pattern: "v/*"},
	}
}

// drawKeyRoles draws whether some of the keys become durable in one role only. The roles are drawn before.
func drawKeyRoles(o *Options, rs random.Streams) {
	r, of := rs.Stream("roles of keys", 0), append(o.DataRoles(), "")
	for i := range o.NewKeys {
		o.NewKeys[i].Role = of[r.IntN(len(of))]
	}
}

// applyKeys bends the options to NewKeys.
func (o *Options) applyKeys(r *rand.Rand) {
	o.Nodes, o.Spare, o.Safety, o.Shards = random.Pick(r, 2, 3, 3, 4), 1, 120*time.Second, 0
	o.Loss, o.Straggle, o.Calm = random.Pick(r, 0.05, 0.15), random.Pick(r, 0, 0.03), false
	o.WriteGap, o.Reads, o.Keys = random.Pick(r, 10*time.Millisecond, 50*time.Millisecond), 0.3, random.Pick(r, 1, 3)
	o.Weights, o.DiskFail, o.Timing = [FaultKinds]int{}, 0, UsualTiming
}

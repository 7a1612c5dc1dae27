package soak

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/counts"
	"github.com/coterie-go/coterie/proptest/sim/options"
)

// tally is what was played so far.
type tally struct {
	seeds, events, violations uint64
	faults                    counts.Faults
	plans, scenarios          played
}

// played is how often something was played, by name, in the order in which the names were given.
type played struct {
	names []string
	times map[string]uint64
}

func newPlayed(names ...string) played { return played{names: names, times: map[string]uint64{}} }

// usual is the name of the plan that has none.
const usual = "usual"

func nameOf(p options.Plan) string {
	if p.Swarm == "" {
		return usual
	}
	return p.Swarm
}

// newTally counts what is to come up: the swarms of some plans, and all scenarios.
func newTally(plans []options.Plan) tally {
	var swarms []string
	for _, p := range plans {
		if name := nameOf(p); !slices.Contains(swarms, name) {
			swarms = append(swarms, name)
		}
	}
	return tally{plans: newPlayed(swarms...), scenarios: newPlayed(options.Scenarios...)}
}

// add counts a world that is over.
func (t *tally) add(plan options.Plan, r sim.Result) {
	t.seeds++
	t.events += r.Events
	if r.Violation != nil {
		t.violations++
	}
	for f, n := range r.Counts.Faults {
		t.faults[f] += n
	}
	t.plans.times[nameOf(plan)]++
	t.scenarios.times[r.Options.Scenario]++
}

// rates are the figures of a line. took is the time so far.
func (t *tally) rates(took time.Duration, workers int) string {
	kinds := t.kinds()
	return fmt.Sprintf("seeds=%d events=%d events_per_s_per_core=%.0f violations=%d faults=%d kinds=%s rarest=%s "+
		"scenarios=%s plans=%s", t.seeds, t.events, float64(t.events)/took.Seconds()/float64(workers), t.violations,
		kinds.sum(), kinds.share(), kinds.rarest(), t.scenarios.share(), t.plans.share())
}

// kinds are the faults by name.
func (t *tally) kinds() played {
	p := newPlayed()
	for f, n := range t.faults {
		name := options.Fault(f).String()
		p.names = append(p.names, name)
		p.times[name] = n
	}
	return p
}

func (p played) sum() (n uint64) {
	for _, name := range p.names {
		n += p.times[name]
	}
	return n
}

// share is how many of the names came up, of how many.
func (p played) share() string {
	return fmt.Sprintf("%d/%d", len(p.names)-len(p.missing()), len(p.names))
}

// rarest is the name that came up least, with its count.
func (p played) rarest() string {
	name := slices.MinFunc(p.names, func(a, b string) int { return int(p.times[a]) - int(p.times[b]) })
	return fmt.Sprintf("%s:%d", name, p.times[name])
}

// missing are the names that never came up.
func (p played) missing() (names []string) {
	for _, name := range p.names {
		if p.times[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}

// cover prints how often everything came up, and what never did.
func (t *tally) cover(out io.Writer) {
	var never []string
	for _, x := range []struct {
		what string
		played
	}{{"plans", t.plans}, {"scenarios", t.scenarios}, {"faults", t.kinds()}} {
		fmt.Fprintf(out, "%s:", x.what)
		for _, name := range x.names {
			fmt.Fprintf(out, " %s=%d", name, x.times[name])
		}
		fmt.Fprintln(out)
		never = append(never, x.missing()...)
	}
	if len(never) > 0 {
		fmt.Fprintf(out, "never played: %s\n", strings.Join(never, ", "))
	}
}

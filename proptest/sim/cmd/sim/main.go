// Command sim runs simulated clusters, one per seed, and reports every broken promise with the
// command that replays it.
//
//	sim -seeds 2000            many seeds, one line at the end
//	sim -plan cluster -seeds 5000   the same, of worlds that are about the cluster
//	sim -plan persist -seeds 500    worlds of entities that keep their state
//	sim -plan remind -seeds 500     worlds of entities that set reminders
//	sim -plan deliver -seeds 500    worlds of entities to which producers deliver
//	sim -seed 17 -v            one seed with everything that happens in it
//	sim -seed 17 -tail 80      the same, the last records only
//	sim -seed 17 -html x.html  one seed as a page that shows nodes, messages, faults and what broke
//	sim -seed 17 -story x      the same as lines of JSON
//	sim -defects               how many seeds it takes to catch each planted defect
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/planted"
)

func main() {
	var (
		seeds    = flag.Uint64("seeds", 0, "run this many seeds, from -from on")
		from     = flag.Uint64("from", 1, "the first seed of -seeds")
		seed     = flag.Uint64("seed", 0, "run this one seed, twice, and compare the hashes of the traces")
		verbose  = flag.Bool("v", false, "with -seed: print every input and effect")
		tail     = flag.Int("tail", 0, "with -seed: print the last records only")
		html     = flag.String("html", "", "with -seed: write a page that shows what happened to this file")
		lines    = flag.String("story", "", "with -seed: write what happened to this file, as lines of JSON")
		records  = flag.Int("records", story.LogMax, "with -html and -story: the last so many steps and messages")
		workers  = flag.Int("workers", 0, "worlds at a time; 0: one per processor")
		swarm    = flag.String("plan", "", "draw the seeds from this plan: "+strings.Join(options.Swarms, " or "))
		scenario = flag.String("scenario", "", "play this scenario instead of the drawn one")
		defect   = flag.String("defect", "", "plant this defect; with -defects: hunt these, separated by commas")
		defects  = flag.Bool("defects", false,
			"count the seeds until each planted defect that a world shows, or each of those of -defect, is caught")
		most      = flag.Uint64("most", 60, "with -defects: give up after this many seeds")
		check     = flag.Int("check", 1, "run the machines' own checks after every n-th step; negative: never")
		faultsMax = flag.Int("faults-max", 0, "stop the chaos after this many faults; 0: never")
		inserts   = flag.Int("inserts", 0, "with -scenario inserts: inserts of each phase; 0: 200")
		shrink    = flag.Bool("shrink", false, "with -seed: look for the fewest faults that still fail")
		stats     = flag.Bool("stats", false, "with -seeds: say what the runs did")
		profile   = flag.String("cpuprofile", "", "write a profile")
	)
	flag.Parse()
	debug.SetGCPercent(800) // worlds are small and short-lived: memory is cheaper than a fifth of the time
	stop := startProfile(*profile)
	plan := options.Plan{
		Swarm: *swarm, Scenario: *scenario, CheckEvery: *check,
		FaultsMax: *faultsMax, Inserts: *inserts,
	}
	if !*defects {
		plan.Defect = *defect
	}
	hunted := planted.Names()
	if *defect != "" {
		hunted = strings.Split(*defect, ",")
	}
	err := sim.Validate(plan)
	for _, name := range hunted {
		err = cmp.Or(err, sim.Validate(options.Plan{Defect: name}))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ok := true
	switch {
	case *defects:
		ok = huntAll(hunted, *most, *workers)
	case *seeds > 0:
		ok = many(sim.Batch{First: *from, Seeds: *seeds, Workers: *workers, Plan: plan}, *stats)
	default:
		if *shrink {
			plan = sim.Shrink(*seed, plan)
		}
		ok = one(*seed, plan, watching{verbose: *verbose, tail: *tail, html: *html, lines: *lines, records: *records})
	}
	stop()
	if !ok {
		os.Exit(1)
	}
}

func startProfile(path string) (stop func()) {
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return pprof.StopCPUProfile
}

func many(b sim.Batch, stats bool) bool {
	b.Failed = func(r sim.Result) {
		fmt.Printf("sim: seed %d: %v\n  replay: %s\n", r.Seed, r.Violation, sim.Replay(r.Seed, b.Plan))
	}
	s := b.Run()
	fmt.Println(s)
	if stats {
		fmt.Printf("%+v\n", s.Counts)
	}
	return len(s.Failures) == 0
}

func one(seed uint64, plan options.Plan, w watching) bool {
	r := sim.Run(seed, plan, w.begin())
	if err := w.end(r, plan); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return false
	}
	again := sim.Run(seed, plan, nil)
	fmt.Printf("seed %d: %v\n  %+v\n  events=%d virtual=%v trace=%016x\n",
		seed, r.Options, r.Counts, r.Events, r.Virtual, r.Hash)
	if again.Hash != r.Hash {
		fmt.Printf("  NOT DETERMINISTIC: a second run has trace=%016x\n", again.Hash)
	}
	if r.Violation != nil {
		fmt.Printf("  %v\n  replay: %s\n", r.Violation, sim.Replay(seed, plan))
	}
	return r.Violation == nil && again.Hash == r.Hash
}

func huntAll(names []string, most uint64, workers int) bool {
	ok := true
	for _, name := range names {
		began := time.Now()
		n, r, caught := sim.HuntDefect(name, most, workers)
		plan, took := planted.HuntedIn[name], time.Since(began).Round(100*time.Millisecond)
		in := cmp.Or(strings.TrimSpace(plan.Swarm+" "+plan.Scenario), "all")
		if !caught {
			fmt.Printf("%-24s NOT caught in %d seeds of %s, %v\n", name, n, in, took)
			ok = false
			continue
		}
		fmt.Printf("%-24s caught at seed %d of %s by %q, %v\n", name, r.Seed, in, r.Violation.Check, took)
	}
	return ok
}

// Command soak plays seeds of the simulator on all cores for some minutes. It stops at the first
// broken promise and tells its story.
//
//	soak -minutes 10             everything, from a random seed on, which it prints
//	soak -minutes 10 -from 17    the same worlds again
//	soak -minutes 1 -plan cluster   worlds of one plan only
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/soak"
)

func main() {
	var (
		minutes = flag.Float64("minutes", 10, "how long worlds begin")
		from    = flag.Uint64("from", 0, "the first seed; 0: a random one")
		workers = flag.Int("workers", 0, "worlds at a time; 0: one per core")
		swarm   = flag.String("plan", "", "play this plan only: "+strings.Join(options.Swarms, " or "))
		defect  = flag.String("defect", "", "plant this defect, which must be found")
		story   = flag.Int("story", 0, "records of the story of a violation; 0: 60")
	)
	flag.Parse()
	debug.SetGCPercent(800) // as in the command sim
	plans := soak.Rotation()
	if *swarm != "" {
		plans = []options.Plan{{Swarm: *swarm}}
	}
	for i := range plans {
		plans[i].Defect = *defect
		if err := sim.Validate(plans[i]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	if *from == 0 {
		*from = 1 + rand.Uint64N(1_000_000_000)
	}
	s := soak.Soak{
		From: *from, For: time.Duration(*minutes * float64(time.Minute)), Workers: *workers, Plans: plans,
		Story: *story, Out: os.Stdout,
	}
	if !s.Run() {
		os.Exit(1)
	}
}

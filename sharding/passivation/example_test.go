package passivation_test

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding/passivation"
)

// A type has a strategy in sharding.EntityType.Passivation. Zero fields take their defaults.
func ExampleStrategy() {
	idle := passivation.Strategy{IdleTimeout: 10 * time.Minute}
	limited := passivation.Strategy{ActiveEntityLimit: 10_000, Replacement: passivation.LeastFrequentlyUsed}
	reference := passivation.DefaultStrategy() // that of Akka and Pekko, with a window that adapts itself
	for _, s := range []passivation.Strategy{idle, limited, reference} {
		fmt.Println(s.Validate(), s.Limited(), s.WithDefaults().IdleInterval)
	}
	// Output:
	// <nil> false 5m0s
	// <nil> true 0s
	// <nil> true 0s
}

// An entity that was used once does not drive out those that are used often: it comes into a window, and the
// sketch compares how often entities were used.
func ExampleAdmission() {
	s := passivation.Strategy{
		ActiveEntityLimit: 10_000,
		Levels:            2, Proportions: []float64{.2, .8},
		Admission: passivation.Admission{
			FrequencySketch: true,
			Sketch:          passivation.Sketch{Depth: 4, CounterBits: 4},
			Window: passivation.Window{
				Policy: passivation.LeastRecentlyUsed, Proportion: .05,
				HillClimbing: true, Climb: passivation.Climb{StepDecay: .95},
			},
		},
	}
	fmt.Println(s.Validate())
	// Output: <nil>
}

// What a strategy does can be tried: two entities of a shard may be active.
func ExamplePolicy() {
	p := passivation.New(passivation.Strategy{ActiveEntityLimit: 2}, 2) // the least recently used one goes
	var alice, bob passivation.Slot
	alice, _ = p.Add(1)
	bob, _ = p.Add(2)
	p.Touch(alice)
	next, _ := p.Next()
	fmt.Println("bob goes next:", next == bob)
	_, gone := p.Add(3)
	fmt.Println("bob is gone:", len(gone) == 1 && gone[0] == bob)
	var where passivation.Standing = p.Standing(alice)
	fmt.Println("alice:", where)
	// Output:
	// bob goes next: true
	// bob is gone: true
	// alice: main area, 2 of 2
}

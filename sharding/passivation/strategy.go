package passivation

import (
	"fmt"
	"math"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
)

// Strategy says which entities are passivated without asking for it. The zero value passivates
// those that were idle for two minutes. Its fields have the names and, unless they say otherwise,
// the defaults of the reference's settings under passivation (reference, 3.1). As an
// allocation.Strategy it decides and does nothing else: how long what it decides may take stands
// beside it, in sharding.Passivation. It is a value and no interface, because it is asked with each
// use of an entity, within the shard's lock.
type Strategy struct {
	// None turns automatic passivation off; the other fields must be zero then.
	// Default false.
	None bool
	// IdleTimeout (idle-entity.timeout) is the time without a message after which an entity is
	// passivated. Negative = never. Default 2 minutes; with an ActiveEntityLimit never.
	IdleTimeout time.Duration
	// IdleInterval (idle-entity.interval) is the pause between two looks for idle entities, each of
	// which looks at all that are active. An entity goes between IdleTimeout and that much later.
	// At most IdleTimeout, and at least its 2²³th part. Default half of IdleTimeout.
	IdleInterval time.Duration
	// ActiveEntityLimit (active-entity-limit) is the number of entities that may be active in one
	// region. Each of its shards gets an equal part, rounded down, at least one. 0 = no limit, the
	// default.
	ActiveEntityLimit int
	// Replacement (replacement.policy) is the order in which entities go when the limit is reached.
	// Default LeastRecentlyUsed.
	Replacement Replacement
	// Levels (segmented.levels) of LeastRecentlyUsed. Default 1: not segmented; at most 100.
	Levels int
	// Proportions (segmented.proportions) are the parts of the limit that the levels have, the
	// lowest first; they add up to 1. Default: all equal.
	Proportions []float64
	// DynamicAging (dynamic-aging) of LeastFrequentlyUsed. Default false.
	DynamicAging bool
	// Admission says which entities are kept beyond the first accesses. Default: all.
	Admission Admission
}

// Replacement is an order in which entities go.
type Replacement uint8

const (
	// Unset stands for the default: LeastRecentlyUsed for a strategy, no window for an admission.
	Unset Replacement = iota
	// LeastRecentlyUsed goes first.
	LeastRecentlyUsed
	// MostRecentlyUsed goes first.
	MostRecentlyUsed
	// LeastFrequentlyUsed goes first, among equals the least recently used.
	LeastFrequentlyUsed
	replacementEnd
)

var replacementNames = [replacementEnd]string{
	"unset", "least-recently-used", "most-recently-used", "least-frequently-used",
}

func (r Replacement) String() string {
	if r < replacementEnd {
		return replacementNames[r]
	}
	return fmt.Sprintf("Replacement(%d)", uint8(r))
}

// Admission says which entities enter the main area.
type Admission struct {
	// Window is where new entities stay first.
	Window Window
	// FrequencySketch (admission.filter = frequency-sketch) compares the candidate with the entity
	// that would go for it, and keeps the one that was accessed more often. Default false: the
	// candidate enters.
	FrequencySketch bool
	// Sketch tunes the sketch.
	Sketch Sketch
}

// Window is the part of the active entities that new ones enter.
type Window struct {
	// Policy (window.policy) is the order in which entities leave the window. Default: there is no
	// window.
	Policy Replacement
	// Proportion (window.proportion) is the window's part of the limit, at the start if it is
	// optimized. Default 0.01.
	Proportion float64
	// Minimum and Maximum (window.minimum-proportion, -maximum-proportion) bound what the optimizer
	// makes of it. Defaults 0.01 and 1.
	Minimum, Maximum float64
	// HillClimbing (window.optimizer = hill-climbing) changes the window's part while that helps.
	// Default false.
	HillClimbing bool
	// Climb tunes the hill climber.
	Climb Climb
}

// Climb are the settings of the hill climber.
type Climb struct {
	// AdjustMultiplier: the window is changed once per so many times the limit accesses. Default
	// 10.
	AdjustMultiplier float64
	// InitialStep is the first change of the window's part, downwards. Default 0.0625.
	InitialStep float64
	// RestartThreshold: when the share of accesses that meet active entities changes by so much,
	// the next step is the initial one. Default 0.05.
	RestartThreshold float64
	// StepDecay multiplies the step otherwise. Default 0.98.
	StepDecay float64
}

// Sketch are the settings of the frequency sketch.
type Sketch struct {
	// Depth is the number of counters per entity, 1 to 16. Default 4.
	Depth int
	// CounterBits is the size of a counter, which counts up to what fits: 2, 4, 8, 16, 32 or 64.
	// Default 4.
	CounterBits int
	// WidthMultiplier times the limit, rounded up to a power of two, is the number of counters per
	// row. At most 64. Default 4.
	WidthMultiplier int
	// ResetMultiplier: all counters are halved when so many times the limit accesses were counted.
	// Default 10.
	ResetMultiplier float64
}

// DefaultStrategy is the reference's default-strategy, which is not what is done by default:
// 100,000 active entities per region, in a window whose size is optimized and a segmented main area
// of two levels, 0.2 and 0.8 of it, behind a frequency sketch.
func DefaultStrategy() Strategy {
	return Strategy{
		ActiveEntityLimit: 100_000, Replacement: LeastRecentlyUsed, Levels: 2, Proportions: []float64{0.2, 0.8},
		Admission: Admission{FrequencySketch: true, Window: Window{Policy: LeastRecentlyUsed, HillClimbing: true}},
	}
}

// IdleLooksMax is how many IdleIntervals an IdleTimeout may have.
const IdleLooksMax = 1 << 23

// LimitMax is the largest ActiveEntityLimit.
const LimitMax = 1 << 30

// Limited reports whether the strategy has a limit on active entities.
func (s Strategy) Limited() bool { return !s.None && s.ActiveEntityLimit > 0 }

// WithDefaults fills the fields that are zero.
func (s Strategy) WithDefaults() Strategy {
	if s.None {
		s.IdleTimeout = -1
		return s
	}
	if s.ActiveEntityLimit == 0 {
		config.Default(&s.IdleTimeout, 2*time.Minute)
	}
	config.Default(&s.IdleTimeout, -1)
	config.Default(&s.IdleInterval, max(0, s.IdleTimeout/2))
	if s.ActiveEntityLimit == 0 {
		return s
	}
	config.Default(&s.Replacement, LeastRecentlyUsed)
	if s.Replacement == LeastRecentlyUsed {
		s.levelDefaults()
	}
	s.Admission.defaults()
	return s
}

func (s *Strategy) levelDefaults() {
	config.Default(&s.Levels, max(1, len(s.Proportions)))
	if len(s.Proportions) == 0 && s.Levels > 0 && s.Levels <= levelsMax {
		s.Proportions = make([]float64, s.Levels)
		for i := range s.Proportions {
			s.Proportions[i] = 1 / float64(s.Levels)
		}
	}
}

func (a *Admission) defaults() {
	w, k := &a.Window, &a.Sketch
	config.Default(&w.Proportion, 0.01)
	config.Default(&w.Minimum, 0.01)
	config.Default(&w.Maximum, 1)
	config.Default(&w.Climb.AdjustMultiplier, 10)
	config.Default(&w.Climb.InitialStep, 0.0625)
	config.Default(&w.Climb.RestartThreshold, 0.05)
	config.Default(&w.Climb.StepDecay, 0.98)
	config.Default(&k.Depth, 4)
	config.Default(&k.CounterBits, 4)
	config.Default(&k.WidthMultiplier, 4)
	config.Default(&k.ResetMultiplier, 10)
}

const levelsMax = 100

// Validate reports every fault together; zero fields are taken as their defaults.
func (s Strategy) Validate() error {
	var f config.Faults
	d := s.WithDefaults()
	if s.None {
		f.Add(s.IdleTimeout > 0 || s.ActiveEntityLimit != 0,
			"None", "is set together with IdleTimeout %v or ActiveEntityLimit %d: take one away",
			s.IdleTimeout, s.ActiveEntityLimit)
		return f.Err("")
	}
	f.Add(d.IdleTimeout > 0 && (d.IdleInterval < time.Millisecond || d.IdleInterval > d.IdleTimeout),
		"IdleInterval", "%v is below 1ms or above IdleTimeout %v", d.IdleInterval, d.IdleTimeout)
	f.Add(d.IdleInterval > 0 && d.IdleTimeout/d.IdleInterval > IdleLooksMax, "IdleInterval",
		"%v fits into IdleTimeout %v more than %d times", d.IdleInterval, d.IdleTimeout, IdleLooksMax)
	f.Add(d.ActiveEntityLimit < 0 || d.ActiveEntityLimit > LimitMax,
		"ActiveEntityLimit", "is %d, want 1 to %d, or 0 for none", d.ActiveEntityLimit, LimitMax)
	f.Add(d.Replacement >= replacementEnd, "Replacement", "%v is not known", d.Replacement)
	lru := d.Replacement == LeastRecentlyUsed
	f.Add(s.Levels != 0 && !lru, "Levels", "is %d, but %v has none", s.Levels, d.Replacement)
	f.Add(len(s.Proportions) > 0 && !lru, "Proportions", "are given, but %v has no levels", d.Replacement)
	f.Add(s.DynamicAging && d.Replacement != LeastFrequentlyUsed,
		"DynamicAging", "is set, but %v does not age", d.Replacement)
	orphan := s.ActiveEntityLimit == 0 &&
		(s.Replacement != Unset || s.Levels != 0 || len(s.Proportions) > 0 || s.Admission != Admission{})
	f.Add(orphan, "ActiveEntityLimit", "is missing: without it Replacement, Levels, Proportions and Admission mean "+
		"nothing")
	if !d.Limited() {
		return f.Err("")
	}
	f.Add(lru && (d.Levels < 1 || d.Levels > levelsMax), "Levels", "is %d, want 1 to %d", d.Levels, levelsMax)
	f.Add(len(s.Proportions) > 0 && len(s.Proportions) != d.Levels, "Proportions", "has %d numbers for %d Levels",
		len(s.Proportions), d.Levels)
	sum := 0.0
	for _, p := range d.Proportions {
		f.Add(!(p > 0 && p <= 1), "Proportions", "has %v, want numbers above 0 and at most 1", p)
		sum += p
	}
	f.Add(len(d.Proportions) > 0 && !(math.Abs(sum-1) < 1e-6), "Proportions", "add up to %.4g, want 1", sum)
	d.Admission.check(&f)
	return f.Err("")
}

func (a Admission) check(f *config.Faults) {
	w, c, k := a.Window, a.Window.Climb, a.Sketch
	f.Add(w.Policy >= replacementEnd, "Admission.Window.Policy", "%v is not known", w.Policy)
	f.Add(w.HillClimbing && w.Policy == Unset,
		"Admission.Window.HillClimbing", "is set, but Policy is not: there is no window")
	f.Add(!(w.Minimum >= 0 && w.Minimum <= w.Proportion && w.Proportion <= w.Maximum && w.Maximum <= 1),
		"Admission.Window", "Minimum %v, Proportion %v and Maximum %v are not in this order between 0 and 1",
		w.Minimum, w.Proportion, w.Maximum)
	f.Add(!(c.AdjustMultiplier > 0 && c.AdjustMultiplier <= 1e6),
		"Admission.Window.Climb.AdjustMultiplier", "is %v, want above 0 and at most 1,000,000",
		c.AdjustMultiplier)
	f.Add(!(c.InitialStep > 0 && c.InitialStep <= 1),
		"Admission.Window.Climb.InitialStep", "is %v, want above 0 and at most 1", c.InitialStep)
	f.Add(!(c.RestartThreshold > 0 && c.RestartThreshold <= 1),
		"Admission.Window.Climb.RestartThreshold", "is %v, want above 0 and at most 1",
		c.RestartThreshold)
	f.Add(!(c.StepDecay > 0 && c.StepDecay <= 1),
		"Admission.Window.Climb.StepDecay", "is %v, want above 0 and at most 1", c.StepDecay)
	f.Add(k.Depth < 1 || k.Depth > 16, "Admission.Sketch.Depth", "is %d, want 1 to 16", k.Depth)
	bits := k.CounterBits
	f.Add(bits < 2 || bits > 64 || bits&(bits-1) != 0,
		"Admission.Sketch.CounterBits", "is %d, want 2, 4, 8, 16, 32 or 64", bits)
	f.Add(k.WidthMultiplier < 1 || k.WidthMultiplier > 64,
		"Admission.Sketch.WidthMultiplier", "is %d, want 1 to 64", k.WidthMultiplier)
	f.Add(!(k.ResetMultiplier > 0 && k.ResetMultiplier <= 1e6),
		"Admission.Sketch.ResetMultiplier", "is %v, want above 0 and at most 1,000,000", k.ResetMultiplier)
}

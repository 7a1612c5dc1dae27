package passivation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// trace is a row of accesses in phases; what counts is how many of a phase's accesses meet an
// entity that is active.
type trace struct {
	name   string
	phases [][]int
}

const (
	traceLimit    = 500
	traceAccesses = 60_000
)

// traces are made of 10,000 entities for 500 places; scans pass over entities that are needed once.
func traces() []trace {
	rng := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(rng, 1.07, 4, 9_999)
	zipf := func(n, from int) (ids []int) {
		for range n {
			ids = append(ids, from+int(z.Uint64()))
		}
		return ids
	}
	var scans []int
	fresh := 1_000_000
	for range traceAccesses / 2000 {
		scans = append(scans, zipf(1000, 1)...)
		for range 1000 {
			scans = append(scans, fresh)
			fresh++
		}
	}
	loop := times(traceAccesses/1000, span(1, 1000))
	return []trace{
		{"zipf", [][]int{zipf(traceAccesses, 1)}},
		{"scan", [][]int{scans}},
		{"loop", [][]int{loop}},
		{"shift", [][]int{zipf(traceAccesses, 1), zipf(traceAccesses/4, 20_001)}}, // suddenly others are popular
	}
}

var traceStrategies = []struct {
	name string
	s    Strategy
}{
	{"lru", Strategy{ActiveEntityLimit: traceLimit}},
	{"slru", Strategy{ActiveEntityLimit: traceLimit, Proportions: []float64{0.2, 0.8}}},
	{"mru", Strategy{ActiveEntityLimit: traceLimit, Replacement: MostRecentlyUsed}},
	{"lfu", Strategy{ActiveEntityLimit: traceLimit, Replacement: LeastFrequentlyUsed}},
	{"lfuda", Strategy{ActiveEntityLimit: traceLimit, Replacement: LeastFrequentlyUsed, DynamicAging: true}},
	{"composite", DefaultStrategy()},
}

// hits are the parts of each phase's accesses that met active entities.
func (r trace) hits(s Strategy) (parts []float64) {
	h := newShard(s, traceLimit)
	for _, ids := range r.phases {
		n := 0
		for _, id := range ids {
			if h.slots[id] != 0 {
				n++
			}
			h.access(id)
		}
		parts = append(parts, float64(n)/float64(len(ids)))
	}
	return parts
}

// Each policy is good at what it is for.
func TestTraces(t *testing.T) {
	got := map[string][]float64{}
	for _, r := range traces() {
		var line []string
		for _, x := range traceStrategies {
			parts := r.hits(x.s)
			got[r.name+" "+x.name] = parts
			line = append(line, fmt.Sprintf("%s %.3f", x.name, parts))
		}
		t.Logf("%-6s %s", r.name, strings.Join(line, "  "))
	}
	last := func(name string) float64 { p := got[name]; return p[len(p)-1] }
	for _, want := range []struct {
		better, worse string
		by            float64 // of all accesses
	}{
		{"zipf composite", "zipf lru", 0.03},
		{"zipf lfu", "zipf lru", 0.03},
		{"zipf slru", "zipf lru", 0.02},
		{"zipf lru", "zipf mru", 0.05},
		{"scan composite", "scan lru", 0.03},
		{"scan slru", "scan lru", 0.02},
		{"loop mru", "loop lru", 0.45},
		{"loop composite", "loop lru", 0.2},
		{"shift lfuda", "shift lfu", 0.1},
		{"shift composite", "shift lfu", 0.1},
	} {
		if b, w := last(want.better), last(want.worse); b < w+want.by {
			t.Errorf("%s hits %.3f, %s %.3f: want %.2f more", want.better, b, want.worse, w, want.by)
		}
	}
}

// An access costs about the same however many entities there are.
func BenchmarkAccess(b *testing.B) {
	for _, x := range traceStrategies {
		for _, n := range []int{1000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", x.name, n), func(b *testing.B) {
				p := New(x.s, n)
				slots := make([]Slot, 0, n)
				for i := range n {
					s, gone := p.Add(hashOf(i))
					if len(gone) == 0 {
						slots = append(slots, s)
					}
				}
				rng := rand.New(rand.NewPCG(3, 4))
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					p.Touch(slots[rng.IntN(len(slots))])
				}
			})
		}
	}
}

func TestStrategyValidate(t *testing.T) {
	limited := func(change func(*Strategy)) Strategy {
		s := DefaultStrategy()
		change(&s)
		return s
	}
	for _, good := range []Strategy{
		{}, {None: true}, {IdleTimeout: -1}, {IdleTimeout: time.Minute, IdleInterval: time.Second}, DefaultStrategy(),
		{ActiveEntityLimit: 1, Levels: 3},
		{ActiveEntityLimit: 9, Replacement: MostRecentlyUsed},
		{ActiveEntityLimit: 9, Replacement: LeastFrequentlyUsed, DynamicAging: true},
		{ActiveEntityLimit: 7, IdleTimeout: time.Second},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
		if full := good.WithDefaults(); full.Validate() != nil || fmt.Sprint(full.WithDefaults()) != fmt.Sprint(full) {
			t.Errorf("%+v: with its defaults %v", full, full.Validate())
		}
	}
	for want, bad := range map[string]Strategy{
		"None: is set":                  {None: true, ActiveEntityLimit: 5},
		"IdleInterval: 1ms fits":        {IdleTimeout: 3 * time.Hour, IdleInterval: time.Millisecond},
		"IdleInterval":                  {IdleTimeout: time.Second, IdleInterval: time.Minute},
		"ActiveEntityLimit: is -1":      {ActiveEntityLimit: -1},
		"ActiveEntityLimit: is missing": {Replacement: MostRecentlyUsed},
		"Replacement(9)":                {ActiveEntityLimit: 5, Replacement: 9},
		"Levels: is 101":                {ActiveEntityLimit: 5, Levels: 101},
		"Levels: is -1":                 {ActiveEntityLimit: 5, Levels: -1},
		"Levels: is 2, but":             {ActiveEntityLimit: 5, Levels: 2, Replacement: MostRecentlyUsed},
		"Proportions: has 1 numbers":    {ActiveEntityLimit: 5, Levels: 2, Proportions: []float64{1}},
		"Proportions: add up to 0.9":    {ActiveEntityLimit: 5, Proportions: []float64{0.2, 0.7}},
		"Proportions: has -0.5":         {ActiveEntityLimit: 5, Proportions: []float64{-0.5, 1.5}},
		"Proportions: are given": {
			ActiveEntityLimit: 5, Proportions: []float64{1}, Replacement: LeastFrequentlyUsed,
		},
		"DynamicAging":                  {ActiveEntityLimit: 5, DynamicAging: true},
		"there is no window":            limited(func(s *Strategy) { s.Admission.Window.Policy = Unset }),
		"Admission.Window: Minimum 0.5": limited(func(s *Strategy) { s.Admission.Window.Minimum = 0.5 }),
		"Admission.Window.Policy":       limited(func(s *Strategy) { s.Admission.Window.Policy = 17 }),
		"AdjustMultiplier":              limited(func(s *Strategy) { s.Admission.Window.Climb.AdjustMultiplier = -1 }),
		"InitialStep":                   limited(func(s *Strategy) { s.Admission.Window.Climb.InitialStep = 2 }),
		"RestartThreshold":              limited(func(s *Strategy) { s.Admission.Window.Climb.RestartThreshold = -1 }),
		"StepDecay":                     limited(func(s *Strategy) { s.Admission.Window.Climb.StepDecay = 1.5 }),
		"Depth":                         limited(func(s *Strategy) { s.Admission.Sketch.Depth = 17 }),
		"CounterBits":                   limited(func(s *Strategy) { s.Admission.Sketch.CounterBits = 5 }),
		"WidthMultiplier":               limited(func(s *Strategy) { s.Admission.Sketch.WidthMultiplier = 65 }),
		"ResetMultiplier":               limited(func(s *Strategy) { s.Admission.Sketch.ResetMultiplier = -1 }),
	} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if d := (Strategy{}).WithDefaults(); d.IdleTimeout != 2*time.Minute || d.IdleInterval != time.Minute ||
		d.Limited() {
		t.Errorf("%+v", d)
	}
	if d := DefaultStrategy().WithDefaults(); d.IdleTimeout >= 0 || !d.Limited() ||
		d.Admission.Window.Proportion != 0.01 || d.Admission.Sketch.Depth != 4 {
		t.Errorf("%+v", d)
	}
}

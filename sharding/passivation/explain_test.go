package passivation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The entity that Next names goes when one comes that was never seen.
func TestNextGoesNext(t *testing.T) {
	window := Window{Policy: LeastRecentlyUsed, Proportion: 0.3}
	sketch := Sketch{ResetMultiplier: 1e6, WidthMultiplier: 64} // never halved, and hardly ever two in one place
	for name, s := range map[string]Strategy{                   // order: each is tried by itself
		"least recently used": {ActiveEntityLimit: 1}, "most recently used": {
			ActiveEntityLimit: 1, Replacement: MostRecentlyUsed,
		},
		"least frequently used": {ActiveEntityLimit: 1, Replacement: LeastFrequentlyUsed},
		"levels":                {ActiveEntityLimit: 1, Levels: 3},
		"window":                {ActiveEntityLimit: 1, Admission: Admission{Window: window}},
		"filter":                {ActiveEntityLimit: 1, Admission: Admission{FrequencySketch: true, Sketch: sketch}},
		"window and filter": {
			ActiveEntityLimit: 1, Levels: 2, Admission: Admission{
				Window: window, FrequencySketch: true, Sketch: sketch,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				limit := rapid.IntRange(1, 12).Draw(t, "limit")
				p := New(s, limit)
				var in []Slot
				hash := uint64(0)
				for range rapid.IntRange(0, 60).Draw(t, "steps") {
					if len(in) > 0 && rapid.Bool().Draw(t, "touch") {
						p.Touch(rapid.SampledFrom(in).Draw(t, "which"))
						continue
					}
					next, fresh := p.Next()
					for hash += 0x9e3779b97f4a7c15; p.sketch != nil && p.sketch.estimate(hash) > 0; {
						hash += 0x9e3779b97f4a7c15
					}
					added, gone := p.Add(hash)
					var want []Slot
					switch {
					case fresh:
						want = []Slot{added}
					case next != 0:
						want = []Slot{next}
					}
					if !slices.Equal(gone, want) {
						t.Fatalf("%v went, not %v", gone, want)
					}
					in = slices.DeleteFunc(append(in, added), func(s Slot) bool { return slices.Contains(gone, s) })
				}
				window, main := 0, 0
				for _, s := range in {
					st := p.Standing(s)
					if st.String() == "" || st.Len > st.Limit || st.Len == 0 {
						t.Fatalf("%+v", st)
					}
					if st.Window {
						window++
					} else {
						main++
					}
				}
				if window != p.window.n || main != p.main.n {
					t.Fatalf("%d in the window and %d in the main area, want %d and %d",
						window, main, p.window.n, p.main.n)
				}
			})
		})
	}
}

// An entity's standing tells its level and how often it was seen.
func TestStanding(t *testing.T) {
	p := New(Strategy{ActiveEntityLimit: 8, Levels: 2, Admission: Admission{FrequencySketch: true}}, 8)
	s, _ := p.Add(7)
	p.Touch(s)
	p.Touch(s)
	if st := p.Standing(s); st.Level != 1 || st.Seen != 3 || st.Window ||
		st.String() != "main area, 1 of 8, level 1, seen 3 times" {
		t.Errorf("%+v: %v", st, st)
	}
}

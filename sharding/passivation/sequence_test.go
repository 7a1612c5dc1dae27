package passivation

import "testing"

// The sequences follow the rules of the reference (2.10) and the accesses with which its own tests
// show them. A limit that a line changes stands for a shard that starts or stops: the region's
// limit is divided over them.

const region = 10 // the limit of one shard that is alone

func TestLeastRecentlyUsed(t *testing.T) {
	play(t, Strategy{ActiveEntityLimit: region}, region, []act{
		{access: span(1, 20), gone: span(1, 10), stay: span(11, 20)},
		{limit: 5, gone: span(11, 15), stay: span(16, 20)},
		{access: span(1, 20), gone: join(span(16, 20), span(1, 15)), stay: span(16, 20)},
		{limit: 3, gone: []int{16, 17}, stay: span(18, 20)},
		{access: []int{18}},
		{access: []int{1}, gone: []int{19}, stay: []int{1, 18, 20}},
		{remove: []int{18}, stay: []int{1, 20}},
		{access: []int{2}, stay: []int{1, 2, 20}},
		{access: []int{3, 4}, gone: []int{20, 1}, stay: []int{2, 3, 4}},
		{limit: 6, access: span(11, 20), gone: join([]int{2, 3, 4}, span(11, 14)), stay: span(15, 20)},
	})
}

func TestMostRecentlyUsed(t *testing.T) {
	play(t, Strategy{ActiveEntityLimit: region, Replacement: MostRecentlyUsed}, region, []act{
		{access: span(1, 20), gone: span(10, 19), stay: join(span(1, 9), []int{20})},
		{limit: 5, gone: []int{20, 9, 8, 7, 6}, stay: span(1, 5)},
		{access: span(1, 20), gone: span(5, 19), stay: join(span(1, 4), []int{20})},
		{limit: 3, gone: []int{20, 4}, stay: span(1, 3)},
		{remove: []int{2}, stay: []int{1, 3}},
		{access: []int{12, 13, 14}, gone: []int{12, 13}, stay: []int{1, 3, 14}},
		{limit: 6, access: span(21, 30), gone: span(23, 29), stay: []int{1, 3, 14, 21, 22, 30}},
	})
}

func TestSegments(t *testing.T) {
	slru := Strategy{ActiveEntityLimit: region, Levels: 2, Proportions: []float64{0.2, 0.8}}
	play(t, slru, region, []act{
		{access: span(1, 20), gone: span(1, 10), stay: span(11, 20)},  // all in the lower level
		{access: span(11, 20), stay: span(11, 20)},                    // 13 to 20 rise; 11 and 12 have risen and sunk
		{access: span(1, 5), gone: []int{11, 12, 1, 2, 3}},            // new ones pass through the lower level
		{limit: 5, gone: []int{4, 5, 13, 14, 15}, stay: span(16, 20)}, // 16 below, 17 to 20 above
		{access: span(20, 11), gone: join([]int{20}, span(15, 12))},   // 20 has sunk, then there is room for one
		{stay: []int{11, 16, 17, 18, 19}},
		{limit: 15, access: span(21, 40), gone: join([]int{11}, span(21, 29)), stay: join(span(16, 19), span(30, 40))},
	})
	three := Strategy{ActiveEntityLimit: region, Levels: 3}
	play(t, three, 9, []act{
		{access: times(2, span(1, 9))},           // 1 to 6 have sunk from the middle, 7 to 9 are there
		{access: []int{7, 7, 8}},                 // 7 and 8 at the top
		{access: span(11, 16), gone: span(1, 6)}, // below
		{access: span(21, 26), gone: span(11, 16), stay: join(span(7, 9), span(21, 26))},
	})
}

func TestLeastFrequentlyUsed(t *testing.T) {
	play(t, Strategy{ActiveEntityLimit: region, Replacement: LeastFrequentlyUsed}, region, []act{
		{access: rising(span(1, 20)), gone: []int{1, 5, 9, 13, 2, 6, 10, 17, 14, 18},
			stay: []int{3, 4, 7, 8, 11, 12, 15, 16, 19, 20}},
		{limit: 5, gone: []int{3, 7, 11, 15, 19}, stay: []int{4, 8, 12, 16, 20}},
		// A new entity does not go for itself, although it is the least frequent.
		{access: rising(span(1, 4)), gone: []int{4, 1, 2, 3}, stay: []int{4, 8, 12, 16, 20}},
		{access: rising(span(5, 8)), gone: []int{8, 5, 6, 7}, stay: []int{4, 8, 12, 16, 20}},
		{limit: 3, gone: []int{12, 16}, stay: []int{4, 8, 20}},
		{remove: []int{8}, stay: []int{4, 20}},
		{access: []int{9, 10, 10}, gone: []int{9}, stay: []int{4, 10, 20}},
		{access: []int{11, 11, 11}, gone: []int{10}, stay: []int{4, 11, 20}},
	})
}

func TestDynamicAging(t *testing.T) {
	play(t, Strategy{ActiveEntityLimit: region, Replacement: LeastFrequentlyUsed, DynamicAging: true}, region, []act{
		{access: join(each(5, span(1, 2)), each(10, span(3, 5)))},
		{access: span(6, 20), gone: span(6, 15)},         // age 2: 16 to 20 have 3
		{limit: 5, gone: span(16, 20), stay: span(1, 5)}, // age 3
		{access: span(6, 10), gone: []int{1, 2, 6, 7, 8}, stay: []int{3, 4, 5, 9, 10}},
		{access: span(11, 15), gone: []int{9, 10, 11, 12, 13}, stay: []int{3, 4, 5, 14, 15}}, // age 9
		// what was popular once has gone
		{access: span(16, 20), gone: []int{3, 4, 5, 14, 15}, stay: span(16, 20)},
	})
}

func TestWindowAndFilter(t *testing.T) {
	s := Strategy{
		ActiveEntityLimit: 20, Levels: 2, Proportions: []float64{0.25, 0.75},
		Admission: Admission{FrequencySketch: true, Window: Window{Policy: LeastRecentlyUsed, Proportion: 0.2}},
	}
	play(t, s, 20, []act{
		// the same frequency is not enough
		{access: span(1, 40), gone: span(17, 36), stay: join(span(1, 16), span(37, 40))},
		// 1 to 4 below, 5 to 16 above, 17 to 20 in the window
		{access: span(1, 20), gone: span(37, 40), stay: span(1, 20)},
		{access: each(5, span(17, 20)), stay: span(1, 20)},
		{access: span(21, 24), gone: span(1, 4), stay: span(5, 24)},                       // 17 to 20 are admitted
		{access: span(25, 28), gone: span(21, 24), stay: join(span(5, 20), span(25, 28))}, // 21 to 24 are not
		{limit: 10, gone: join([]int{25, 26}, span(17, 20), span(5, 8)), stay: join(span(9, 16), span(27, 28))},
		// The sketch is new: 17 and 18 pass 27 and 28, which it has not seen, and 9 and 10 are
		// worse than either.
		{access: span(17, 20), gone: []int{27, 28, 9, 10}, stay: span(11, 20)},
	})
}

func TestFilterWithoutWindow(t *testing.T) {
	s := Strategy{ActiveEntityLimit: region, Admission: Admission{FrequencySketch: true}}
	play(t, s, region, []act{
		{access: span(1, 20), gone: span(11, 20), stay: span(1, 10)}, // each goes itself
		{access: each(5, span(11, 20)), gone: span(1, 10), stay: span(11, 20)},
		{access: each(2, span(1, 10)), gone: each(2, span(1, 10)), stay: span(11, 20)},
		{limit: 5, gone: span(11, 15), stay: span(16, 20)},
		// all frequencies were forgotten
		{access: span(1, 10), gone: join(span(16, 20), span(6, 10)), stay: span(1, 5)},
	})
}

func TestWindowWithoutFilter(t *testing.T) {
	s := Strategy{
		ActiveEntityLimit: region, Replacement: LeastFrequentlyUsed, Admission: Admission{
			Window: Window{Policy: LeastRecentlyUsed, Proportion: 0.3},
		},
	}
	play(t, s, region, []act{
		{access: join(span(1, 10), span(1, 7)), stay: span(1, 10)}, // 8 to 10 in the window
		// each candidate enters with one access, and is the next to go
		{access: span(11, 13), gone: []int{1, 8, 9}, stay: join(span(2, 7), span(10, 13))},
	})
}

func TestAdaptiveWindow(t *testing.T) {
	s := Strategy{
		ActiveEntityLimit: region,
		Admission: Admission{
			FrequencySketch: true, Sketch: Sketch{ResetMultiplier: 100},
			Window: Window{
				Policy: LeastRecentlyUsed, Proportion: 0.1, Minimum: 0.1, Maximum: 1, HillClimbing: true,
				Climb: Climb{AdjustMultiplier: 2, InitialStep: 0.4, RestartThreshold: 0.8, StepDecay: 0.5},
			},
		},
	}
	play(t, s, region, []act{
		{access: each(10, span(1, 10)), stay: span(1, 10)},
		// A window of one; fewer accesses meet active entities, so it grows to five and 1 to 4 move
		// into it.
		{access: times(4, span(11, 20)), gone: join(span(10, 20), span(11, 20), span(11, 20), span(11, 19)),
			stay: join(span(1, 9), []int{20})},
		// then to seven
		{access: each(2, span(21, 30)), gone: join([]int{20}, span(1, 4), span(21, 25)),
			stay: join(span(5, 9), span(26, 30))},
		// then to eight
		{access: each(5, span(21, 24)), gone: span(26, 29), stay: join(span(5, 9), span(21, 24), []int{30})},
		{access: times(2, span(31, 40)),
			gone: join([]int{30, 5, 6}, span(21, 24), []int{7}, span(31, 40), []int{31, 32}),
			stay: join(span(8, 9), span(33, 40))}, // no access meets an active entity: back to seven
		// to three
		{access: each(2, span(41, 50)), gone: span(34, 43), stay: join(span(8, 9), []int{33}, span(44, 50))},
		{access: each(2, span(51, 60)), gone: span(48, 57),
			stay: join(span(8, 9), []int{33}, span(44, 47), span(58, 60))},
		// a window of one
		{access: span(61, 70), gone: span(60, 69), stay: join(span(8, 9), []int{33}, span(44, 47), []int{58, 59, 70})},
	})
}

func TestClimber(t *testing.T) {
	climb := func(cfg Climb, active func(i int) bool) (changes []float64) {
		c := newClimber(cfg)
		c.resize(5)
		for i := range 100 {
			if d := c.access(active(i)); d != 0 {
				if i%10 != 9 {
					t.Fatalf("change at access %d", i)
				}
				changes = append(changes, d)
			}
		}
		return changes
	}
	cfg := Climb{AdjustMultiplier: 2, InitialStep: 0.5, RestartThreshold: 0.05, StepDecay: 0.5}
	decays := []float64{-0.5, -0.25, -0.125, -0.0625}
	if got := climb(cfg, func(int) bool { return false }); !equal(got[:4], decays) || len(got) != 10 {
		t.Errorf("%v", got)
	}
	// From 40 on every access meets an active entity: that restarts, in the same direction, then it
	// decays anew.
	if got := climb(cfg, func(i int) bool { return i >= 40 }); !equal(got[5:9], decays) {
		t.Errorf("%v", got)
	}
	// From 50 on none does any more: it turns. Later nothing changes, so it goes on.
	got := climb(cfg, func(i int) bool { return i < 50 })
	for i, d := range got {
		if (d < 0) != (i < 5) {
			t.Errorf("change %d is %v of %v", i, d, got)
		}
	}
}

package passivation

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is a policy as one would write it down: rows of what is known of each entity, sorted
// whenever an entity has to go.
type model struct {
	s          Strategy
	limit      int
	clock      int
	known      map[int]*known
	age        map[string]int // by area
	seen       map[int]int    // what the sketch would have counted
	adds       int
	proportion float64

	accesses, active int
	rate, step       float64
}

type known struct {
	id, count, priority, level int
	moved                      int    // when it came to its place in its level
	area                       string // "window" or "main"
}

func newModel(s Strategy, limit int) *model {
	s = s.WithDefaults()
	return &model{
		s: s, limit: limit, known: map[int]*known{}, age: map[string]int{}, seen: map[int]int{},
		proportion: s.Admission.Window.Proportion, step: -s.Admission.Window.Climb.InitialStep,
	}
}

func (m *model) windowed() bool { return m.s.Admission.Window.Policy != Unset }

func (m *model) windowMax() int {
	if !m.windowed() {
		return 0
	}
	return int(m.proportion * float64(m.limit))
}

func (m *model) replacement(area string) Replacement {
	if area == "window" {
		return m.s.Admission.Window.Policy
	}
	return m.s.Replacement
}

// row returns an area's entities, the next to go first.
func (m *model) row(area string) []*known {
	var row []*known
	for _, k := range m.known {
		if k.area == area {
			row = append(row, k)
		}
	}
	slices.SortFunc(row, func(a, b *known) int {
		switch m.replacement(area) {
		case MostRecentlyUsed:
			return b.moved - a.moved
		case LeastFrequentlyUsed:
			return cmp.Or(a.priority-b.priority, a.moved-b.moved)
		}
		if area == "window" {
			return a.moved - b.moved
		}
		return cmp.Or(a.level-b.level, a.moved-b.moved)
	})
	return row
}

// place puts an entity into an area as if it were accessed there for the first time.
func (m *model) place(id int, area string) {
	m.clock++
	m.known[id] = &known{id: id, area: area, moved: m.clock, count: 1, priority: 1 + m.age[area]}
}

// leave takes the next to go out of an area.
func (m *model) leave(area string) int {
	k := m.row(area)[0]
	delete(m.known, k.id)
	if area == "main" && m.s.DynamicAging {
		m.age[area] = k.priority
	}
	return k.id
}

func (m *model) used(k *known) {
	m.clock++
	k.moved = m.clock
	k.count++
	k.priority = k.count + m.age[k.area]
	if k.area == "main" && k.level < m.s.Levels-1 {
		k.level++
	}
	m.sink()
}

// sink takes from the upper levels what is too much.
func (m *model) sink() {
	main := m.limit - m.windowMax()
	for level := m.s.Levels - 1; level > 0; level-- {
		most := int(m.s.Proportions[level] * float64(main))
		var row []*known
		for _, k := range m.row("main") {
			if k.level == level {
				row = append(row, k)
			}
		}
		for _, k := range row[:max(0, len(row)-most)] {
			m.clock++
			k.level, k.moved = level-1, m.clock
		}
	}
}

func (m *model) access(id int) (gone []int) {
	m.count(id)
	k := m.known[id]
	switch {
	case k != nil:
		m.used(k)
	case m.windowMax() == 0:
		gone = m.admit(id)
	default:
		candidate := 0
		if len(m.row("window")) == m.windowMax() {
			candidate = m.leave("window")
		}
		m.place(id, "window")
		if candidate != 0 {
			gone = m.admit(candidate)
		}
	}
	m.climb(k != nil)
	return gone
}

func (m *model) admit(id int) []int {
	row := m.row("main")
	if len(row) < m.limit-m.windowMax() {
		m.place(id, "main")
		return nil
	}
	if len(row) == 0 || m.s.Admission.FrequencySketch && m.seen[id] <= m.seen[row[0].id] {
		return []int{id}
	}
	gone := m.leave("main")
	m.place(id, "main")
	return []int{gone}
}

func (m *model) count(id int) {
	m.seen[id] = min(m.seen[id]+1, 1<<m.s.Admission.Sketch.CounterBits-1)
	if m.adds++; m.adds >= int(m.s.Admission.Sketch.ResetMultiplier*float64(m.limit)) {
		for id := range m.seen {
			m.seen[id] /= 2
		}
		m.adds /= 2
	}
}

func (m *model) climb(active bool) {
	w := m.s.Admission.Window
	if !w.HillClimbing {
		return
	}
	m.accesses++
	if active {
		m.active++
	}
	if m.accesses < int(w.Climb.AdjustMultiplier*float64(m.limit)) {
		return
	}
	rate := float64(m.active) / float64(m.accesses)
	gain := rate - m.rate
	m.accesses, m.active, m.rate = 0, 0, rate
	if gain < 0 {
		m.step = -m.step
	}
	m.proportion = max(w.Minimum, min(w.Maximum, m.proportion+m.step))
	if gain >= w.Climb.RestartThreshold || -gain >= w.Climb.RestartThreshold {
		if m.step > 0 {
			m.step = w.Climb.InitialStep
		} else {
			m.step = -w.Climb.InitialStep
		}
	} else {
		m.step *= w.Climb.StepDecay
	}
	m.sink()
	for len(m.row("main")) > m.limit-m.windowMax() {
		m.place(m.leave("main"), "window")
	}
	for len(m.row("window")) > m.windowMax() {
		m.place(m.leave("window"), "main")
	}
}

func (m *model) setLimit(limit int) (gone []int) {
	if limit == m.limit {
		return nil
	}
	m.limit, m.seen, m.adds = limit, map[int]int{}, 0
	m.sink()
	for len(m.row("window")) > m.windowMax() {
		gone = append(gone, m.admit(m.leave("window"))...)
	}
	for len(m.row("main")) > m.limit-m.windowMax() {
		gone = append(gone, m.leave("main"))
	}
	return gone
}

// anyStrategy draws one whose sketch is so wide that no two entities of the test share all
// counters.
func anyStrategy(t *rapid.T) Strategy {
	s := Strategy{
		ActiveEntityLimit: 1,
		Replacement: rapid.SampledFrom([]Replacement{LeastRecentlyUsed, MostRecentlyUsed,
			LeastFrequentlyUsed}).Draw(t, "replacement"),
	}
	switch s.Replacement {
	case LeastRecentlyUsed:
		s.Proportions = rapid.SampledFrom([][]float64{nil, {0.2, 0.8}, {0.5, 0.5}, {0.25, 0.25, 0.5},
			{0.01, 0.99}}).Draw(t, "proportions")
	case LeastFrequentlyUsed:
		s.DynamicAging = rapid.Bool().Draw(t, "ageing")
	}
	s.Admission = Admission{
		FrequencySketch: rapid.Bool().Draw(t, "filter"),
		Sketch: Sketch{
			WidthMultiplier: 64, CounterBits: rapid.SampledFrom([]int{2, 4, 8, 32}).Draw(t, "bits"), ResetMultiplier: 3,
		},
	}
	w := &s.Admission.Window
	w.Policy = rapid.SampledFrom([]Replacement{
		Unset, LeastRecentlyUsed, MostRecentlyUsed, LeastFrequentlyUsed,
	}).Draw(t, "window")
	w.Proportion = rapid.SampledFrom([]float64{0.01, 0.1, 0.5, 1}).Draw(t, "proportion")
	if w.Policy != Unset {
		w.HillClimbing = rapid.Bool().Draw(t, "climb")
		w.Climb = Climb{AdjustMultiplier: 1.5, InitialStep: 0.3, RestartThreshold: 0.3, StepDecay: 0.7}
	}
	return s
}

// Every policy passivates the same entities, in the same order, as one would by hand.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStrategy(t)
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		h, m := newShard(s, limit), newModel(s, limit)
		same := func(what string, got, want []int) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Fatalf("%s: gone %v, want %v", what, got, want)
			}
			var ids []int
			for id := range m.known {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			if !slices.Equal(h.active(), ids) {
				t.Fatalf("%s: active %v, want %v", what, h.active(), ids)
			}
			if h.p.Len() != len(ids) || len(ids) > h.p.Limit() {
				t.Fatalf("%s: counted %d of %d with limit %d", what, h.p.Len(), len(ids), h.p.Limit())
			}
		}
		id := rapid.IntRange(1, 20)
		t.Repeat(map[string]func(*rapid.T){
			"access": func(t *rapid.T) {
				id := id.Draw(t, "id")
				same("access", h.access(id), m.access(id))
			},
			"again": func(t *rapid.T) {
				if active := h.active(); len(active) > 0 {
					id := rapid.SampledFrom(active).Draw(t, "id")
					same("again", h.access(id), m.access(id))
				}
			},
			"remove": func(t *rapid.T) {
				if active := h.active(); len(active) > 0 {
					id := rapid.SampledFrom(active).Draw(t, "id")
					h.remove(id)
					delete(m.known, id)
					same("remove", nil, nil)
				}
			},
			"limit": func(t *rapid.T) {
				n := rapid.IntRange(1, 12).Draw(t, "limit")
				same("limit", h.limit(n), m.setLimit(n))
			},
		})
	})
}

// A sketch never counts less than there was, up to the counters' end, and with room to spare it
// counts exactly.
func TestSketch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Strategy{}.WithDefaults().Admission.Sketch
		cfg.CounterBits = rapid.SampledFrom([]int{2, 4, 8, 16, 32, 64}).Draw(t, "bits")
		cfg.Depth = rapid.IntRange(1, 16).Draw(t, "depth")
		cfg.WidthMultiplier = rapid.IntRange(1, 64).Draw(t, "width")
		cfg.ResetMultiplier = 1e6
		k := newSketch(cfg, rapid.IntRange(1, 100).Draw(t, "capacity"))
		exact := map[int]uint64{}
		for _, id := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 300).Draw(t, "ids") {
			k.count(hashOf(id))
			exact[id] = min(exact[id]+1, k.top)
		}
		for id, n := range exact {
			if got := k.estimate(hashOf(id)); got < n || got > k.top || len(exact) == 1 && got != n {
				t.Fatalf("%d was seen %d times of at most %d, estimated %d", id, n, k.top, got)
			}
		}
		before := slices.Clone(k.words)
		k.seen = k.period - 1
		k.count(hashOf(1000)) // halves all
		for row := range k.depth {
			for i := range k.width {
				per := uint64(64 / k.bits)
				at, shift := uint64(row)*k.width+i, uint(0)
				at, shift = at/per, uint(at%per)*k.bits
				was, is := before[at]>>shift&k.top, k.words[at]>>shift&k.top
				if is != was/2 && is != (min(was+1, k.top))/2 {
					t.Fatalf("row %d, counter %d: %d became %d", row, i, was, is)
				}
			}
		}
	})
}

package passivation

import "fmt"

// Policy is the active entities of one shard, of which there are at most its limit. It is not safe
// for concurrent use.
//
// An entity that was evicted or removed is forgotten, and has to be added when it is active again.
type Policy struct {
	slab   *slab
	limit  int
	main   area
	window area    // its limit is 0 if there is none
	sketch *sketch // nil: every entity is admitted, or none was counted yet
	climb  *climber

	admission  Admission
	proportion float64 // of the window
	evicted    []Slot
}

// area is an order with a limit. Only while the limit changes it may hold more.
type area struct {
	order
	place place
	n     int
	limit int
}

// New makes the policy of a shard with the strategy's orders and a limit of its own, at least 1.
// The strategy must be valid.
func New(s Strategy, limit int) *Policy {
	if err := s.Validate(); err != nil {
		panic(fmt.Sprintf("sharding/passivation: %v", err))
	}
	s = s.WithDefaults()
	p := &Policy{slab: newSlab(), admission: s.Admission}
	p.main = area{place: placeMain, order: p.newOrder(s.Replacement, s.DynamicAging)}
	if s.Levels > 1 {
		p.main.order = newSegments(p.slab, s.Proportions)
	}
	if w := s.Admission.Window; w.Policy != Unset {
		p.window = area{place: placeWindow, order: p.newOrder(w.Policy, false)}
		p.proportion = w.Proportion
		if w.HillClimbing {
			p.climb = newClimber(w.Climb)
		}
	}
	p.SetLimit(limit)
	return p
}

func (p *Policy) newOrder(r Replacement, ages bool) order {
	switch r {
	case LeastFrequentlyUsed:
		return &frequency{ages: ages}
	default:
		return &recency{list: list{slab: p.slab}, latest: r == MostRecentlyUsed}
	}
}

// Len is the number of entities in it.
func (p *Policy) Len() int { return p.main.n + p.window.n }

// Limit is how many may be in it.
func (p *Policy) Limit() int { return p.limit }

// Add notes an access to an entity that is not in the policy; hash is one of its id, the same every
// time. It returns the slot that the entity has from now on, and the entities that must be
// passivated. These are out of the policy already, and the new one itself may be among them. The
// slice is valid until the next call.
func (p *Policy) Add(hash uint64) (Slot, []Slot) {
	p.evicted = p.evicted[:0]
	s := p.slab.take(hash)
	p.count(hash)
	if p.window.limit == 0 {
		p.admit(s)
	} else {
		var candidate Slot
		if p.window.n >= p.window.limit {
			candidate = p.take(&p.window)
		}
		p.put(&p.window, s)
		if candidate != 0 {
			p.admit(candidate)
		}
	}
	p.climbed(false)
	return s, p.evicted
}

// Touch is an access to an entity that is in it.
func (p *Policy) Touch(s Slot) {
	n := p.slab.nodes[s]
	p.count(n.hash)
	p.areaOf(n.place).touch(s)
	p.climbed(true)
}

// Remove takes out an entity that is not active any more, for whatever other reason.
func (p *Policy) Remove(s Slot) {
	a := p.areaOf(p.slab.nodes[s].place)
	a.remove(s)
	a.n--
	p.slab.give(s)
}

// SetLimit changes the limit, to at least 1. It returns the entities that must be passivated, as
// Add does. Frequencies are counted anew from then on.
func (p *Policy) SetLimit(limit int) []Slot {
	p.evicted = p.evicted[:0]
	limit = max(1, limit)
	if limit == p.limit {
		return nil
	}
	p.limit, p.sketch = limit, nil
	if p.climb != nil {
		p.climb.resize(limit)
	}
	p.resizeWindow()
	p.main.resize(p.main.limit)
	for p.window.n > p.window.limit {
		p.admit(p.take(&p.window))
	}
	for p.main.n > p.main.limit {
		p.evict(p.take(&p.main))
	}
	return p.evicted
}

func (p *Policy) resizeWindow() {
	p.window.limit = int(p.proportion * float64(p.limit))
	p.main.limit = p.limit - p.window.limit
}

// admit lets a candidate into the main area: into free room there, or in place of another entity,
// which has to go. If the candidate is no better than that entity, the candidate goes.
func (p *Policy) admit(candidate Slot) {
	if p.main.n >= p.main.limit {
		worst := p.main.first()
		if worst == 0 || p.admission.FrequencySketch && p.frequency(candidate) <= p.frequency(worst) {
			p.evict(candidate)
			return
		}
		p.evict(p.take(&p.main))
	}
	p.put(&p.main, candidate)
}

func (p *Policy) frequency(s Slot) uint64 {
	if p.sketch == nil {
		return 0
	}
	return p.sketch.estimate(p.slab.nodes[s].hash)
}

func (p *Policy) count(hash uint64) {
	if !p.admission.FrequencySketch {
		return
	}
	if p.sketch == nil {
		p.sketch = newSketch(p.admission.Sketch, p.limit)
	}
	p.sketch.count(hash)
}

// climbed tells the hill climber of an access and changes the window as it says. No entity has to
// go for that: an entity that loses its place in one area gets one in the other.
func (p *Policy) climbed(active bool) {
	if p.climb == nil {
		return
	}
	change := p.climb.access(active)
	if change == 0 {
		return
	}
	w := p.admission.Window
	p.proportion = min(max(p.proportion+change, w.Minimum), w.Maximum)
	p.resizeWindow()
	p.main.resize(p.main.limit)
	for p.main.n > p.main.limit {
		p.put(&p.window, p.take(&p.main))
	}
	for p.window.n > p.window.limit {
		p.put(&p.main, p.take(&p.window))
	}
}

func (p *Policy) areaOf(at place) *area {
	if at == placeWindow {
		return &p.window
	}
	return &p.main
}

func (p *Policy) put(a *area, s Slot) {
	p.slab.nodes[s].place = a.place
	a.insert(s)
	a.n++
}

// take takes out the entity that goes next.
func (p *Policy) take(a *area) Slot {
	s := a.pop()
	a.n--
	return s
}

func (p *Policy) evict(s Slot) {
	p.slab.give(s)
	p.evicted = append(p.evicted, s)
}

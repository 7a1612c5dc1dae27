package passivation

import "fmt"

// Standing is what a policy holds of one entity.
type Standing struct {
	// Window says that the entity is in the admission window; else it is in the main area.
	Window bool
	// Level is the entity's in a segmented main area, from 0; the lowest loses entities.
	Level int
	// Seen is how often the frequency sketch has seen it, lately and at least; 0 without one.
	Seen uint64
	// Len and Limit are those of its area.
	Len, Limit int
}

// String prints it.
func (s Standing) String() string {
	area := "main area"
	if s.Window {
		area = "window"
	}
	text := fmt.Sprintf("%s, %d of %d", area, s.Len, s.Limit)
	if s.Level > 0 {
		text += fmt.Sprintf(", level %d", s.Level)
	}
	if s.Seen > 0 {
		text += fmt.Sprintf(", seen %d times", s.Seen)
	}
	return text
}

// Standing is where an entity stands that is in the policy.
func (p *Policy) Standing(s Slot) Standing {
	n := p.slab.nodes[s]
	a := p.areaOf(n.place)
	return Standing{Window: n.place == placeWindow, Level: int(n.level), Seen: p.frequency(s), Len: a.n, Limit: a.limit}
}

// Next returns the entity that would have to go if an entity that was never seen became active now;
// 0: none, there is room. fresh: the new entity itself would go.
func (p *Policy) Next() (s Slot, fresh bool) {
	const once = 1 // what the sketch will have seen of the new one
	candidate, seen := Slot(0), uint64(once)
	if p.window.limit > 0 {
		if p.window.n < p.window.limit {
			return 0, false
		}
		candidate = p.window.first()
		seen = p.frequency(candidate)
	}
	if p.main.n < p.main.limit {
		return 0, false
	}
	worst := p.main.first()
	if worst == 0 || p.admission.FrequencySketch && seen <= p.frequency(worst) {
		return candidate, candidate == 0
	}
	return worst, false
}

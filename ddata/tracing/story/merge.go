package story

// Merge makes one story of those of several nodes, each in its own order. What comes next is what has the
// earliest time among the next records of all, except an arrival whose departure is still to come: it waits,
// so that clocks which differ turn no message around.
func Merge(stories ...[]Record) []Record {
	m := merging{rest: make([][]Record, len(stories)), departures: map[string]int{}}
	total := 0
	for i, s := range stories {
		m.rest[i] = s
		total += len(s)
		for _, r := range s {
			if r.Kind == Sent && r.Message != "" {
				m.departures[r.Message]++
			}
		}
	}
	merged := make([]Record, 0, total)
	for len(merged) < total {
		merged = append(merged, m.next())
	}
	return merged
}

// merging is what is left to merge.
type merging struct {
	rest       [][]Record
	departures map[string]int // that are still to come, by the message
}

// next takes the record that comes next. If all wait for each other, which no true story has, the earliest
// does not wait.
func (m *merging) next() Record {
	free, earliest := -1, -1
	for i, s := range m.rest {
		if len(s) == 0 {
			continue
		}
		if earliest < 0 || s[0].Time < m.rest[earliest][0].Time {
			earliest = i
		}
		waits := s[0].Kind == Received && m.departures[s[0].Message] > 0
		if !waits && (free < 0 || s[0].Time < m.rest[free][0].Time) {
			free = i
		}
	}
	if free < 0 {
		free = earliest
	}
	r := m.rest[free][0]
	m.rest[free] = m.rest[free][1:]
	if r.Kind == Sent && r.Message != "" {
		m.departures[r.Message]--
	}
	return r
}

package results

import (
	"strconv"
	"strings"
)

// Line is what one run has printed of one case.
type Line struct {
	Bench, Case string
	Figures     []Value // in their order
}

// Value is a figure of one run. Its name has the unit.
type Value struct {
	Name  string
	Value float64
}

// Parse reads a line that a bench has printed. It reports false of any other one.
func Parse(text string) (l Line, ok bool) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return Line{}, false
	}
	if l.Bench, ok = strings.CutPrefix(words[0], "bench="); !ok || l.Bench == "" {
		return Line{}, false
	}
	if l.Case, ok = strings.CutPrefix(words[1], "case="); !ok || l.Case == "" {
		return Line{}, false
	}
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		if v, err := strconv.ParseFloat(value, 64); err == nil && name != "" {
			l.Figures = append(l.Figures, Value{name, v})
		}
	}
	return l, true
}

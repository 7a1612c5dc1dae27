package main

import (
	"slices"

	"github.com/coterie-go/coterie/bench/results"
)

// bench is what was found of one bench.
type bench struct {
	name  string
	cases []results.Case
}

// benchesOf are the benches of a file, in their order.
func benchesOf(f results.File) (all []bench) {
	for _, c := range f.Cases {
		i := slices.IndexFunc(all, func(b bench) bool { return b.name == c.Bench })
		if i < 0 {
			i = len(all)
			all = append(all, bench{name: c.Bench})
		}
		all[i].cases = append(all[i].cases, c)
	}
	return all
}

func (b bench) file() string { return b.name + ".svg" }

// baselines are the words before the name of a figure that make it one of the baseline.
var baselines = []string{"limit_", "raw_", "writers_"}

// shown is the figure of a case that the plot shows, and that of its baseline: the first pair, or the first figure
// alone. They are nil where there is none.
func shown(c results.Case) (own, baseline *results.Figure) {
	for i := range c.Figures {
		for _, word := range baselines {
			name := word + c.Figures[i].Name
			k := slices.IndexFunc(c.Figures, func(f results.Figure) bool { return f.Name == name })
			if k >= 0 {
				return &c.Figures[i], &c.Figures[k]
			}
		}
	}
	if len(c.Figures) == 0 {
		return nil, nil
	}
	return &c.Figures[0], nil
}

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/bench/results"
)

// page is the report in Markdown. drawn are the benches that have a plot.
func page(f results.File, drawn map[string]bool, beside peers) string {
	b := &strings.Builder{}
	o := f.Origin
	b.WriteString("# Benchmark report\n\n")
	b.WriteString("Made by `make report`; the figures are in [results.json](results.json). `go doc ./bench` says " +
		"what each bench measures, what it is compared with, and what the targets are.\n\n")
	rows(b, "what", "value")
	commit := o.Commit
	if o.Modified {
		commit += ", with changes"
	}
	for _, r := range [][2]string{
		{"at", o.At.UTC().Format("2006-01-02 15:04 MST")}, {"commit", commit},
		{"command", "`go run ./" + strings.Join(o.Command, " ") + "`"}, {"runs", fmt.Sprint(f.Runs)},
		{"processor", fmt.Sprintf("%s, %d cores", orNone(o.CPU), o.Cores)},
		{"memory", fmt.Sprintf("%.1f GiB", float64(o.Memory)/(1<<30))},
		{"system", strings.TrimSpace(fmt.Sprintf("%s/%s %s", o.OS, o.Arch, o.Kernel))}, {"Go", o.Go},
	} {
		row(b, r[0], r[1])
	}
	b.WriteString("\nEach run is a process of its own. The columns are the median of the runs, the lowest and the " +
		"highest value, and how far these are apart as a part of the median. On a machine that others use too, the " +
		"ratios and the figures with `cpu` hold better than rates and times.\n")
	for _, x := range benchesOf(f) {
		fmt.Fprintf(b, "\n## %s\n\n", x.name)
		if drawn[x.name] {
			fmt.Fprintf(b, "![%s: the cases, with their baselines](%s)\n\n", x.name, x.file())
		}
		rows(b, "case", "figure", "median", "lowest", "highest", "spread")
		for _, c := range x.cases {
			name := c.Case
			for _, g := range c.Figures {
				row(b, name, g.Name, number(g.Median()), number(slices.Min(g.Values)), number(slices.Max(g.Values)),
					fmt.Sprintf("%.0f %%", 100*g.Spread()))
				name = ""
			}
		}
	}
	beside.write(b)
	return b.String()
}

// rows begins a table.
func rows(b *strings.Builder, columns ...string) {
	row(b, columns...)
	row(b, slices.Repeat([]string{"---"}, len(columns))...)
}

func row(b *strings.Builder, columns ...string) {
	for _, c := range columns {
		b.WriteString("| " + strings.ReplaceAll(c, "|", "\\|") + " ")
	}
	b.WriteString("|\n")
}

// number has two digits behind the point at most, and a comma between thousands. What is too small for that has three
// digits that count.
func number(v float64) string {
	if v != 0 && math.Abs(v) < 0.1 {
		return ratio(v)
	}
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	whole, part, _ := strings.Cut(s, ".")
	sign := ""
	if whole, sign = strings.TrimPrefix(whole, "-"), ""; v < 0 {
		sign = "-"
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if part != "" {
		part = "." + part
	}
	return sign + whole + part
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

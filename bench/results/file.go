package results

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// File is what some runs have found, and of what.
type File struct {
	Origin Origin `json:"origin"`
	Runs   int    `json:"runs"`
	Cases  []Case `json:"cases"` // in the order in which they were printed first
}

// Origin says where and how the figures came about.
type Origin struct {
	At       time.Time `json:"at"`       // of the first run
	Command  []string  `json:"command"`  // of each run, without the path of the program
	Commit   string    `json:"commit"`   // of the checkout; empty: it is not known
	Modified bool      `json:"modified"` // the checkout differs from the commit
	Go       string    `json:"go"`
	OS       string    `json:"os"`
	Arch     string    `json:"arch"`
	Kernel   string    `json:"kernel,omitempty"`
	CPU      string    `json:"cpu,omitempty"`
	Cores    int       `json:"cores"`
	Memory   uint64    `json:"memoryBytes,omitempty"`
}

// Case is what was found of one case.
type Case struct {
	Bench   string   `json:"bench"`
	Case    string   `json:"case"`
	Figures []Figure `json:"figures"`
}

// Figure is one figure of a case, with a value of each run that has printed it.
type Figure struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// Median is the middle value, or the mean of the two in the middle.
func (f Figure) Median() float64 {
	v := slices.Sorted(slices.Values(f.Values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Spread is how far apart the lowest and the highest value are, as a part of the median.
func (f Figure) Spread() float64 {
	m := f.Median()
	if m == 0 {
		return 0
	}
	return (slices.Max(f.Values) - slices.Min(f.Values)) / max(m, -m)
}

// Add adds what a run has printed of a case.
func (f *File) Add(l Line) {
	i := slices.IndexFunc(f.Cases, func(c Case) bool { return c.Bench == l.Bench && c.Case == l.Case })
	if i < 0 {
		i = len(f.Cases)
		f.Cases = append(f.Cases, Case{Bench: l.Bench, Case: l.Case})
	}
	c := &f.Cases[i]
	for _, v := range l.Figures {
		k := slices.IndexFunc(c.Figures, func(x Figure) bool { return x.Name == v.Name })
		if k < 0 {
			k = len(c.Figures)
			c.Figures = append(c.Figures, Figure{Name: v.Name})
		}
		c.Figures[k].Values = append(c.Figures[k].Values, v.Value)
	}
}

// WriteJSON writes the file for programs.
func (f File) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(f)
}

// ReadJSON reads what WriteJSON has written.
func ReadJSON(r io.Reader) (f File, err error) {
	err = json.NewDecoder(r).Decode(&f)
	return f, err
}

// WriteText writes the file in the format of Go's benchmarks.
func (f File) WriteText(w io.Writer) error {
	o, b := f.Origin, &strings.Builder{}
	for _, line := range [][2]string{
		{"goos", o.OS}, {"goarch", o.Arch}, {"cpu", o.CPU}, {"go", o.Go}, {"kernel", o.Kernel},
		{"commit", o.Commit + map[bool]string{true: " modified"}[o.Modified]},
		{"command", strings.Join(o.Command, " ")},
	} {
		if line[1] != "" {
			fmt.Fprintf(b, "%s: %s\n", line[0], line[1])
		}
	}
	for _, c := range f.Cases {
		for run := range c.runs() {
			fmt.Fprintf(b, "Benchmark%s/%s 1", capital(c.Bench), c.Case)
			for _, x := range c.Figures {
				if run < len(x.Values) {
					fmt.Fprintf(b, " %s %s", number(x.Values[run]), x.Name)
				}
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMedians writes a line for each case, with the median of each figure, and in percent how far its values are
// apart.
func (f File) WriteMedians(w io.Writer) error {
	b := &strings.Builder{}
	for _, c := range f.Cases {
		fmt.Fprintf(b, "bench=%s case=%s runs=%d", c.Bench, c.Case, c.runs())
		for _, x := range c.Figures {
			median := number(math.Round(100*x.Median()) / 100) // no more digits than the benches print
			fmt.Fprintf(b, " %s=%s %s_spread_percent=%.0f", x.Name, median, x.Name, 100*x.Spread())
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// runs is how many runs have printed the case.
func (c Case) runs() int {
	most := 0
	for _, f := range c.Figures {
		most = max(most, len(f.Values))
	}
	return most
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// capital is a name as that of a benchmark of Go, which begins with a capital letter.
func capital(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

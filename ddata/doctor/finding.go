package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// Severity is how bad a finding is.
type Severity uint8

const (
	// Note: it works, and could be better.
	Note Severity = iota
	// Warning: it works until something fails that is likely to fail.
	Warning
	// Error: it will not work, or lose data.
	Error
)

// String names the severity.
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// MarshalText is the name of the severity, for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that will go wrong.
type Finding struct {
	Severity Severity `json:"severity"`
	Setting  string   `json:"setting"` // what it is about, such as Config.BootstrapExpect
	Problem  string   `json:"problem"` // what will happen
	Remedy   string   `json:"remedy"`  // what to do
}

// String prints the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%-8s %s: %s; %s", f.Severity, f.Setting, f.Problem, f.Remedy)
}

// Findings gathers what is found. The zero value is ready.
type Findings []Finding

// Add adds a finding if there is one.
func (f *Findings) Add(bad bool, severity Severity, setting, remedy, problem string, args ...any) {
	if bad {
		*f = append(*f, Finding{Severity: severity, Setting: setting, Problem: fmt.Sprintf(problem, args...),
			Remedy: remedy})
	}
}

// Sort puts the worst first, and leaves the order of equals.
func (f Findings) Sort() {
	slices.SortStableFunc(f, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
}

// Print writes a line for each finding, the worst first, and reports whether none is an Error.
func Print(w io.Writer, found []Finding) (sound bool) {
	all := Findings(slices.Clone(found))
	all.Sort()
	for _, f := range all {
		fmt.Fprintln(w, f)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "nothing was found")
	}
	return Sound(all)
}

// Sound reports whether no finding is an Error.
func Sound(found []Finding) bool {
	return !slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Error })
}

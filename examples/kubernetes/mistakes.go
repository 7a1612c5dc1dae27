package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/doctor"
)

// mistake is a variable of the environment with which the pod does not start.
type mistake struct {
	variable string
	problem  error
	remedy   string
	field    string // of ddata.Config, such as Config.TLS: it is empty because of the mistake
}

func (m mistake) finding() doctor.Finding {
	return doctor.Finding{Severity: doctor.Error, Setting: m.variable, Problem: m.problem.Error(), Remedy: m.remedy}
}

// mistakes are those of one environment. As an error they are all of them, a line each.
type mistakes []mistake

// Error implements error.
func (all mistakes) Error() string {
	lines := make([]string, len(all))
	for i, m := range all {
		lines[i] = fmt.Sprintf("%s: %v; %s", m.variable, m.problem, m.remedy)
	}
	return strings.Join(lines, "\n")
}

// findings adds the mistakes to what the doctor has found. What it says of a field that is only empty because
// of a mistake is left out.
func (all mistakes) findings(found []doctor.Finding) []doctor.Finding {
	for _, m := range all {
		found = slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Setting == m.field })
		found = append(found, m.finding())
	}
	return found
}

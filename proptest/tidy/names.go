package tidy

import (
	"path"
	"slices"
	"strings"
)

// nameless are names that say where something was put and not what it is.
var nameless = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared"}

// checkNames looks at folders and files, tests too: what has no name of its own has no subject
// either.
func checkNames(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		if slices.Contains(nameless, path.Base(p.Dir)) {
			out = append(out, Finding{File: p.Dir, Rule: "names", Text: "a package is named after what it provides"})
		}
		for _, f := range p.all() {
			base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.Name), ".go"), "_test")
			if slices.Contains(nameless, base) {
				out = append(out, Finding{File: f.Name, Rule: "names", Text: "a file is named after its subject"})
			}
		}
	}
	return sorted(out)
}

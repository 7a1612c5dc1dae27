package tidy

import (
	"bytes"
	"fmt"
	"regexp"
)

// betraying is what speaks of the place where the tree was written, or leaves work undone: paths of
// a machine, notes that are not in the tree (the only text here is README.md), marks of work to do.
// The expression does not match itself.
var betraying = regexp.MustCompile(`/(work|tmp|root|home)/|\.\./(shared)|\b[a-z][a-z-]*\.md\b|design\s§|TO(DO)|FIX(ME)|X{3}`)

func checkWords(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		for _, f := range p.all() {
			out = append(out, betrayals(f.Name, f.Src)...)
		}
	}
	for _, t := range m.Texts {
		out = append(out, betrayals(t.Name, t.Src)...)
	}
	return sorted(out)
}

func betrayals(name string, src []byte) []Finding {
	var out []Finding
	line := 0
	for text := range bytes.Lines(src) {
		line++
		for _, w := range betraying.FindAll(text, -1) {
			out = append(out, Finding{File: name, Line: line, Rule: "words", Text: fmt.Sprintf("%q", w)})
		}
	}
	return out
}

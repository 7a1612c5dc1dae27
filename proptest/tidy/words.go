package tidy

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
)

// betraying is what speaks of the place where the tree was written, or leaves work undone: paths of
// a machine, notes that are not in the tree, marks of work to do. The expression does not match itself.
var betraying = regexp.MustCompile(`/(work|tmp|root|home)/|\.\./(shared)|\b[a-z][a-z-]*\.md\b|design\s§|TO(DO)|FIX(ME)|X{3}`)

// target is what a link of Markdown leads to: package proptest/documents looks whether it is there.
var target = regexp.MustCompile(`\]\([^()\s]*\)`)

func checkWords(m *Module) []Finding {
	var out []Finding
	pages := m.pages()
	for _, p := range m.Packages {
		for _, f := range p.all() {
			out = append(out, betrayals(f.Name, f.Src, pages)...)
		}
	}
	for _, t := range m.Texts {
		src := t.Src
		if path.Ext(t.Name) == ".md" {
			src = target.ReplaceAll(src, nil)
		}
		out = append(out, betrayals(t.Name, src, pages)...)
	}
	return sorted(out)
}

// pages are the names of the Markdown files of the tree, without their folders.
func (m *Module) pages() map[string]bool {
	names := map[string]bool{}
	for _, t := range m.Texts {
		if path.Ext(t.Name) == ".md" {
			names[path.Base(t.Name)] = true
		}
	}
	return names
}

func betrayals(name string, src []byte, pages map[string]bool) []Finding {
	var out []Finding
	line := 0
	for text := range bytes.Lines(src) {
		line++
		for _, w := range betraying.FindAll(text, -1) {
			if pages[string(w)] {
				continue
			}
			out = append(out, Finding{File: name, Line: line, Rule: "words", Text: fmt.Sprintf("%q", w)})
		}
	}
	return out
}

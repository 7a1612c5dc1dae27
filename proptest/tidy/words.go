package tidy

import (
	"bytes"
	"fmt"
)

// betraying are words that speak of the place where the tree was written, or that leave work undone. They are put together
// here so that this file does not hold them.
var betraying = []string{
	"/wo" + "rk/", "/tm" + "p/", "/ro" + "ot/", "/ho" + "me/", "../sh" + "ared", "contr" + "act.md", "desi" + "gn.md", "house-st" + "yle.md",
	"ddata" + ".md", "sharding" + ".md", "membership" + ".md", "papers" + ".md", "peers" + ".md", "dependencies" + ".md", "desi" + "gn §",
	"TO" + "DO", "FIX" + "ME", "X" + "XX",
}

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
		for _, w := range betraying {
			if bytes.Contains(text, []byte(w)) {
				out = append(out, Finding{File: name, Line: line, Rule: "words", Text: fmt.Sprintf("%q", w)})
			}
		}
	}
	return out
}

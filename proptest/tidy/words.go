package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
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

func checkTests(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		for _, f := range p.Tests {
			out = append(out, m.lazyTests(f)...)
		}
	}
	return sorted(out)
}

// lazyTests finds sleeps, and skips of a test by its testing.T. Discarding a drawn or fuzzed input under another name is no skipped test.
func (m *Module) lazyTests(f *File) []Finding {
	names := map[string]string{}
	for _, spec := range f.AST.Imports {
		name, path := importName(spec)
		names[name] = path
	}
	var out []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		switch {
		case !ok:
		case names[id.Name] == "time" && sel.Sel.Name == "Sleep":
			out = append(out, m.at(n.Pos(), "tests", "time.Sleep in a test"))
		case id.Name == "t" && strings.HasPrefix(sel.Sel.Name, "Skip"):
			out = append(out, m.at(n.Pos(), "tests", "t.%s: a skipped test proves nothing", sel.Sel.Name))
		}
		return true
	})
	return out
}

func plural(n, limit int, what string) string {
	return fmt.Sprintf("%s of %d lines, at most %d", what, n, limit)
}

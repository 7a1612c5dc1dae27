package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// bubbles is the package that runs tests in bubbles, where time is synthetic.
const bubbles = "proptest/bubble"

// skipMark is the comment that allows a skip, on its line or the one above, followed by the reason:
// what the machine may lack.
const skipMark = "// skip: "

func checkTests(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		synthetic := p.testsImport(m.Path + "/" + bubbles)
		files := p.Tests
		if p.imports("testing") {
			files = p.all() // suites for the tests of others
		}
		for _, f := range files {
			out = append(out, m.lazyTests(f)...)
			if p.Dir != bubbles {
				out = append(out, m.bareBubbles(f)...)
			}
			if !synthetic {
				out = append(out, m.waits(f)...)
			}
		}
		if !synthetic && !p.testsImport("go.uber.org/goleak") {
			out = append(out, m.leaks(p)...)
		}
	}
	return sorted(out)
}

func (p *Package) testsImport(path string) bool {
	return slices.ContainsFunc(p.Tests, func(f *File) bool { return f.uses(path) })
}

// lazyTests finds sleeps, and skips of a test by its T, B or TB. Discarding a drawn or fuzzed input
// under another name is no skipped test.
func (m *Module) lazyTests(f *File) []Finding {
	names, lines := f.imports(), bytes.Split(f.Src, []byte("\n"))
	var out []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch x, sel := selector(n); {
		case names[x] == "time" && sel == "Sleep":
			out = append(out, m.at(n.Pos(), "tests", "time.Sleep in a test"))
		case slices.Contains([]string{"t", "b", "tb"}, x) && strings.HasPrefix(sel, "Skip"):
			if !marked(lines, m.Fset.Position(n.Pos()).Line, skipMark) {
				out = append(out, m.at(n.Pos(), "tests",
					"%s.%s without %q and a reason: a skipped test proves nothing", x, sel, skipMark))
			}
		}
		return true
	})
	return out
}

// bareBubbles finds bubbles that the race detector may not survive.
func (m *Module) bareBubbles(f *File) (out []Finding) {
	names := f.imports()
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if x, sel := selector(n); names[x] == "testing/synctest" && sel == "Test" {
			out = append(out, m.at(n.Pos(), "tests", "synctest.Test: %s.Test says why not", bubbles))
		}
		return true
	})
	return out
}

// waits finds sleeps in the form of <-time.After(…); as a case of a select it is a time-out.
func (m *Module) waits(f *File) []Finding {
	names := f.imports()
	timeouts := map[ast.Node]bool{}
	var out []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommClause:
			if s, ok := n.Comm.(*ast.ExprStmt); ok {
				timeouts[s.X] = true
			}
		case *ast.UnaryExpr:
			call, ok := n.X.(*ast.CallExpr)
			if n.Op != token.ARROW || !ok || timeouts[n] {
				return true
			}
			if x, sel := selector(call.Fun); names[x] == "time" && sel == "After" {
				out = append(out, m.at(n.Pos(), "tests", "to wait for time.After is to sleep; use a synctest bubble"))
			}
		}
		return true
	})
	return out
}

// leaks finds where a package starts a goroutine, when its tests neither look for leaks nor run in
// bubbles, which end only when all in them has ended. Commands end with their goroutines, and the
// packages that run suites look after them.
func (m *Module) leaks(p *Package) []Finding {
	if p.Name == "main" || p.imports("testing") {
		return nil
	}
	var out []Finding
	for _, f := range p.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				out = append(out, m.at(n.Pos(), "tests",
					"a goroutine starts here, and no test of the package looks for leaks"))
			}
			return true
		})
	}
	return out
}

// selector takes x.sel apart when x is a name.
func selector(n ast.Node) (x, sel string) {
	if s, ok := n.(*ast.SelectorExpr); ok {
		if id, ok := s.X.(*ast.Ident); ok {
			return id.Name, s.Sel.Name
		}
	}
	return "", ""
}

package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
)

// Limits of size, in lines. A test may be long where it is a table or a script.
const (
	pureFileMax = 400
	fileMax     = 500
	testFileMax = 700
	funcMax     = 70

	// What the middle of the tree looks like; a few are of no account.
	fileMedianMax = 150
	funcMedianMax = 10
	medianOf      = 100
)

func checkSize(m *Module) []Finding {
	out := m.medians()
	for _, p := range m.Packages {
		limit := fileMax
		if isPure(p.Dir) {
			limit = pureFileMax
		}
		for _, f := range p.all() {
			if ast.IsGenerated(f.AST) {
				continue
			}
			if f.Test {
				out = append(out, overlong(f, testFileMax)...)
				continue
			}
			out = append(out, overlong(f, limit)...)
			out = append(out, m.longFuncs(f)...)
		}
	}
	return sorted(out)
}

// medians looks at the middle file and function, tests aside: limits alone would let everything
// grow up to them.
func (m *Module) medians() []Finding {
	var files, funcs []int
	for _, p := range m.Packages {
		for _, f := range p.Files {
			files = append(files, bytes.Count(f.Src, []byte("\n")))
			for _, d := range f.AST.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					funcs = append(funcs, m.lines(fn))
				}
			}
		}
	}
	return slices.Concat(median(files, fileMedianMax, "the median file"),
		median(funcs, funcMedianMax, "the median function"))
}

func median(sizes []int, limit int, what string) []Finding {
	if len(sizes) < medianOf {
		return nil
	}
	slices.Sort(sizes)
	if n := sizes[len(sizes)/2]; n > limit {
		return []Finding{{File: ".", Rule: "size", Text: plural(n, limit, what)}}
	}
	return nil
}

func (m *Module) lines(fn *ast.FuncDecl) int {
	return m.Fset.Position(fn.End()).Line - m.Fset.Position(fn.Pos()).Line + 1
}

func overlong(f *File, limit int) []Finding {
	n := bytes.Count(f.Src, []byte("\n"))
	if n <= limit {
		return nil
	}
	return []Finding{{File: f.Name, Line: n, Rule: "size", Text: plural(n, limit, "file")}}
}

func (m *Module) longFuncs(f *File) []Finding {
	var out []Finding
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := m.lines(fn); n > funcMax {
			out = append(out, m.at(fn.Pos(), "size", "%s", plural(n, funcMax, "function "+fn.Name.Name)))
		}
	}
	return out
}

func plural(n, limit int, what string) string {
	return fmt.Sprintf("%s of %d lines, at most %d", what, n, limit)
}

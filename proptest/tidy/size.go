package tidy

import (
	"bytes"
	"go/ast"
)

// Limits of size, in lines. A test may be long where it is a table or a script.
const (
	pureFileMax = 400
	fileMax     = 500
	testFileMax = 700
	funcMax     = 70
)

func checkSize(m *Module) []Finding {
	var out []Finding
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
		if n := m.Fset.Position(fn.End()).Line - m.Fset.Position(fn.Pos()).Line + 1; n > funcMax {
			out = append(out, m.at(fn.Pos(), "size", "%s", plural(n, funcMax, "function "+fn.Name.Name)))
		}
	}
	return out
}

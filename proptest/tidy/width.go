package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"
)

// codeColumns is how wide a line of code may be, a tab counted as four. Comments have their own rule.
const codeColumns = 120

func checkWidth(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		for _, f := range p.all() {
			if !ast.IsGenerated(f.AST) {
				out = append(out, m.wide(f)...)
			}
		}
	}
	return sorted(out)
}

// wide finds the lines of code that are too wide. Lines of a raw string are as wide as they must be.
func (m *Module) wide(f *File) (out []Finding) {
	raw := m.rawLines(f)
	file := m.Fset.File(f.AST.Pos())
	for i, line := range bytes.Split(f.Src, []byte("\n")) {
		text := strings.ReplaceAll(string(line), "\t", "    ")
		wide := len([]rune(text))
		if wide > codeColumns && !raw[i+1] && !strings.HasPrefix(strings.TrimSpace(text), "//") {
			out = append(out, m.at(file.LineStart(i+1), "width", "a line of %d columns, at most %d", wide, codeColumns))
		}
	}
	return out
}

// rawLines returns the lines that a raw string touches.
func (m *Module) rawLines(f *File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if ok && l.Kind == token.STRING && l.Value[0] == '`' {
			for i := m.Fset.Position(l.Pos()).Line; i <= m.Fset.Position(l.End()).Line; i++ {
				lines[i] = true
			}
		}
		return true
	})
	return lines
}

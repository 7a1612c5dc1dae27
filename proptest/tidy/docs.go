package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
)

func checkDocs(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		if len(p.Files) == 0 {
			continue
		}
		out = append(out, p.story()...)
		if p.Name == "main" {
			continue
		}
		for _, f := range p.Files {
			for _, d := range f.AST.Decls {
				out = append(out, m.undocumented(d)...)
			}
		}
	}
	return sorted(out)
}

// storyMax is how many lines a package comment has at most.
const storyMax = 60

// story looks for the package comment: in doc.go, or for a command in any file. It is short.
func (p *Package) story() []Finding {
	var told bool
	var out []Finding
	for _, f := range p.Files {
		if f.AST.Doc == nil {
			continue
		}
		if n := strings.Count(strings.TrimSpace(f.AST.Doc.Text()), "\n") + 1; n > storyMax {
			out = append(out, Finding{File: f.Name, Line: 1, Rule: "docs", Text: fmt.Sprintf(
				"a package comment of %d lines, at most %d: move tables and proofs to a page beside it", n, storyMax)})
		}
		switch {
		case p.Name == "main" || path.Base(f.Name) == "doc.go":
			told = true
		default:
			out = append(out, Finding{
				File: f.Name, Line: 1, Rule: "docs", Text: "a second package comment; the story is told in doc.go",
			})
		}
	}
	if !told {
		return []Finding{
			{File: p.Dir, Rule: "docs", Text: "no doc.go with a package comment (a command may have it in any file)"},
		}
	}
	return out
}

// standardMethod names the methods whose contract is the standard library's: a comment could only
// repeat it.
var standardMethod = map[string]bool{"String": true, "Error": true, "Unwrap": true, "Is": true}

func (m *Module) undocumented(d ast.Decl) []Finding {
	switch d := d.(type) {
	case *ast.FuncDecl:
		switch name := d.Name.Name; {
		case !d.Name.IsExported() || d.Recv != nil && !exportedReceiver(d.Recv):
		case d.Doc == nil && (d.Recv == nil || !standardMethod[name]):
			return []Finding{m.at(d.Pos(), "docs", "%s has no comment", name)}
		case d.Doc != nil && !strings.HasPrefix(d.Doc.Text(), name):
			return []Finding{m.at(d.Pos(), "docs", "the comment of %s does not begin with its name", name)}
		}
	case *ast.GenDecl:
		return m.undocumentedSpecs(d)
	}
	return nil
}

func (m *Module) undocumentedSpecs(d *ast.GenDecl) []Finding {
	var out []Finding
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			if s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
				out = append(out, m.at(s.Pos(), "docs", "type %s has no comment", s.Name.Name))
			}
			out = append(out, m.undocumentedFields(s)...)
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil || d.Doc != nil || d.Tok == token.IMPORT {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					out = append(out, m.at(n.Pos(), "docs", "%s has no comment, nor has its group", n.Name))
				}
			}
		}
	}
	return out
}

// undocumentedFields looks at the knobs: each field of a Config or Options struct says meaning,
// unit and default.
func (m *Module) undocumentedFields(s *ast.TypeSpec) []Finding {
	st, ok := s.Type.(*ast.StructType)
	if !ok || !(strings.HasSuffix(s.Name.Name, "Config") || strings.HasSuffix(s.Name.Name, "Options")) {
		return nil
	}
	var out []Finding
	for _, f := range st.Fields.List {
		if f.Doc != nil || f.Comment != nil {
			continue
		}
		for _, n := range f.Names {
			if n.IsExported() {
				out = append(out, m.at(n.Pos(), "docs", "field %s.%s has no comment", s.Name.Name, n.Name))
			}
		}
	}
	return out
}

func exportedReceiver(r *ast.FieldList) bool { return ast.IsExported(receiverName(r)) }

// receiverName is the name of the type of a receiver.
func receiverName(r *ast.FieldList) string {
	t := r.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

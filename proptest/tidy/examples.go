package tidy

import (
	"go/ast"
	"go/doc"
	"go/token"
	"path"
	"strings"
)

// checkExamples looks at the types that users name: each is shown by an Example that runs, because a
// reader copies a program before reading a sentence.
func checkExamples(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		if surface[p.Dir] == "" {
			continue
		}
		d := p.declared()
		shown, excepted := p.shown(m.Path, d), map[string]bool{}
		for _, e := range unshown {
			if e.Dir != p.Dir {
				continue
			}
			for _, name := range strings.Fields(e.Types) {
				excepted[name] = true
				if !d.types[name].IsValid() {
					out = append(out, Finding{
						File: p.Dir, Rule: "examples", Text: name + " is an exception, and there is no such type",
					})
				}
			}
		}
		for name, at := range d.types { // order: sorted below
			switch {
			case !shown[name] && !excepted[name]:
				out = append(out, m.at(at, "examples", "no Example with output shows %s", name))
			case shown[name] && excepted[name]:
				out = append(out, m.at(at, "examples", "an Example shows %s: take it out of the exceptions", name))
			}
		}
	}
	return sorted(out)
}

// declarations are what a package exports, as far as an Example can show a type by it.
type declarations struct {
	types map[string]token.Pos
	// by has, for the name of a function, a method, a constant or a variable, the types that it is of
	// or returns.
	by map[string][]string
}

func (p *Package) declared() declarations {
	d := declarations{types: map[string]token.Pos{}, by: map[string][]string{}}
	for _, f := range p.Files {
		for _, name := range f.typeNames() {
			if name.IsExported() {
				d.types[name.Name] = name.Pos()
			}
		}
	}
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && decl.Type.Results != nil {
					d.add(decl.Name.Name, decl.Type.Results)
				}
			case *ast.GenDecl:
				d.values(decl)
			}
		}
	}
	return d
}

// add notes that name shows the types that n speaks of.
func (d declarations) add(name string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // of another package
			return false
		case *ast.Ident:
			if d.types[n.Name].IsValid() {
				d.by[name] = append(d.by[name], n.Name)
			}
		}
		return true
	})
}

// values notes the types of constants and variables. In a list of constants each has the type of the
// one before.
func (d declarations) values(g *ast.GenDecl) {
	var last ast.Expr
	for _, s := range g.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			return
		}
		if v.Type != nil || len(v.Values) > 0 {
			last = v.Type
		}
		for i, name := range v.Names {
			switch {
			case last != nil:
				d.add(name.Name, last)
			case i < len(v.Values):
				switch v := v.Values[i].(type) {
				case *ast.CompositeLit:
					d.add(name.Name, v.Type)
				case *ast.CallExpr: // a conversion
					d.add(name.Name, v.Fun)
				}
			}
		}
	}
}

// typeNames returns the names of all types that a file declares, aliases too.
func (f *File) typeNames() (names []*ast.Ident) {
	for _, d := range f.AST.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, s := range g.Specs {
				names = append(names, s.(*ast.TypeSpec).Name)
			}
		}
	}
	return names
}

// shown are the types that Examples show: by their name, by the name of a type in their code, or by a
// function or a value of that type. The code of an Example is its body, and the declarations of a file
// of examples.
func (p *Package) shown(module string, d declarations) map[string]bool {
	shown := map[string]bool{}
	for _, f := range p.Tests {
		for _, e := range doc.Examples(f.AST) {
			if e.Output == "" && !e.EmptyOutput && unrun[p.Dir] == "" {
				continue
			}
			name, _, _ := strings.Cut(e.Name, "_")
			shown[name] = true
			if strings.HasPrefix(path.Base(f.Name), "example") {
				f.show(f.AST, module+"/"+p.Dir, d, shown)
			} else {
				f.show(e.Code, module+"/"+p.Dir, d, shown)
			}
		}
	}
	return shown
}

func (f *File) show(code ast.Node, of string, d declarations, shown map[string]bool) {
	imports := f.imports()
	ast.Inspect(code, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" && imports[x.Name] != of {
			return true
		}
		shown[s.Sel.Name] = true
		for _, t := range d.by[s.Sel.Name] {
			shown[t] = true
		}
		return true
	})
}

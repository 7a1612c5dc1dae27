package tidy

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// orderMark is the comment that allows an iteration over a map, on its line or the one above,
// followed by the reason.
const orderMark = "// order: "

func checkMapOrder(m *Module) []Finding {
	var out []Finding
	c := newChecker(m)
	for _, p := range m.Packages {
		if !isPure(p.Dir) && !isScheduled(p.Dir) {
			continue
		}
		info := c.check(p)
		for _, f := range p.Files {
			out = append(out, m.mapOrder(f, info)...)
		}
	}
	return sorted(out)
}

// mapOrder finds loops over maps and unsorted iterators of them in one file.
func (m *Module) mapOrder(f *File, info *types.Info) []Finding {
	var out []Finding
	lines := bytes.Split(f.Src, []byte("\n"))
	report := func(n ast.Node, text string) {
		if line := m.Fset.Position(n.Pos()).Line; !marked(lines, line, orderMark) {
			out = append(out, m.at(n.Pos(), "maporder", "%s without %q and a reason", text, orderMark))
		}
	}
	sortedArgs := map[ast.Node]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			switch t := info.TypeOf(n.X); {
			case t == nil || t == types.Typ[types.Invalid]:
				report(n, "range over something whose type is not known here")
			case isMap(t):
				report(n, "range over a map")
			}
		case *ast.CallExpr:
			pkg, name := callee(info, n)
			if pkg == "slices" && strings.HasPrefix(name, "Sorted") {
				for _, a := range n.Args {
					sortedArgs[a] = true
				}
			}
			if pkg == "maps" && (name == "Keys" || name == "Values" || name == "All") && !sortedArgs[n] {
				report(n, "maps."+name)
			}
		}
		return true
	})
	return out
}

// marked reports whether the line or the one above carries the mark with a reason.
func marked(lines [][]byte, line int, mark string) bool {
	for _, i := range []int{line - 1, line - 2} {
		if i < 0 || i >= len(lines) {
			continue
		}
		if _, reason, ok := bytes.Cut(lines[i], []byte(mark)); ok && len(bytes.TrimSpace(reason)) > 0 {
			return true
		}
	}
	return false
}

func isMap(t types.Type) bool {
	if p, ok := t.(*types.TypeParam); ok {
		t = p.Constraint()
		if i, ok := t.Underlying().(*types.Interface); ok && i.NumEmbeddeds() == 1 {
			t = i.EmbeddedType(0)
			if u, ok := t.(*types.Union); ok && u.Len() == 1 {
				t = u.Term(0).Type()
			}
		}
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// callee names the package and function that a call expression calls, when it is a function of
// another package.
func callee(info *types.Info, call *ast.CallExpr) (pkg, name string) {
	fun := call.Fun
	if ix, ok := fun.(*ast.IndexExpr); ok {
		fun = ix.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if fn, ok := info.Uses[sel.Sel].(*types.Func); ok && fn.Pkg() != nil {
		return fn.Pkg().Path(), fn.Name()
	}
	return "", ""
}

// checker type-checks packages of the module from their source, and everything else from the
// compiler's export data. Errors of types are ignored: they are the compiler's to report, and what
// can be typed is typed.
type checker struct {
	m     *Module
	ext   types.Importer
	done  map[string]*types.Package
	infos map[string]*types.Info
}

func newChecker(m *Module) *checker {
	c := &checker{m: m, done: map[string]*types.Package{}, infos: map[string]*types.Info{}}
	exports := c.exports()
	c.ext = importer.ForCompiler(m.Fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// exports asks the go command where the compiler left its export data of the packages that pure
// packages import, and of theirs.
func (c *checker) exports() map[string]string {
	need := map[string]bool{}
	for _, p := range c.m.Packages {
		if !isPure(p.Dir) && !isScheduled(p.Dir) {
			continue
		}
		for _, f := range p.Files {
			for _, s := range f.AST.Imports {
				if _, path := importName(s); !strings.HasPrefix(path, c.m.Path+"/") {
					need[path] = true
				}
			}
		}
	}
	out := map[string]string{}
	if len(need) == 0 {
		return out
	}
	args := append([]string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}, sortedKeys(need)...)
	cmd := exec.Command("go", args...)
	cmd.Dir = c.m.Root
	listed, err := cmd.Output()
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(listed)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[path] = file
		}
	}
	return out
}

// Import implements types.Importer.
func (c *checker) Import(path string) (*types.Package, error) {
	dir, inside := strings.CutPrefix(path, c.m.Path+"/")
	if !inside {
		return c.ext.Import(path)
	}
	for _, p := range c.m.Packages {
		if p.Dir == dir {
			c.check(p)
			return c.done[dir], nil
		}
	}
	return types.NewPackage(path, dir), nil
}

// check types one package, once.
func (c *checker) check(p *Package) *types.Info {
	if info := c.infos[p.Dir]; info != nil {
		return info
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	c.infos[p.Dir] = info
	c.done[p.Dir] = types.NewPackage(c.m.Path+"/"+p.Dir, p.Name) // for a cycle, which the compiler reports
	var files []*ast.File
	for _, f := range p.Files {
		files = append(files, f.AST)
	}
	conf := types.Config{Importer: c, Error: func(error) {}}
	done, _ := conf.Check(c.m.Path+"/"+p.Dir, c.m.Fset, files, info)
	c.done[p.Dir] = done
	return info
}

var _ types.Importer = (*checker)(nil)

package instances

import (
	"cmp"
	"context"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Instance is a generic type that a type leads to, with all its lists of arguments together.
type Instance struct {
	Type    string // with its package
	Methods int    // of all lists of arguments
	Through string // the type that leads to it at first, with the fields and methods on the way
}

// Load returns the types of a package. It asks the go command for what the compiler has left of it.
func Load(ctx context.Context, pkg string) (*types.Package, error) {
	list := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", pkg)
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("the packages below %s: %w", pkg, err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	}).Import(pkg)
}

// Of returns the instances that a type of a package leads to, those with the most methods first.
func Of(p *types.Package, name string) ([]Instance, error) {
	o := p.Scope().Lookup(name)
	if o == nil {
		return nil, fmt.Errorf("%s has no %s", p.Path(), name)
	}
	s := search{seen: map[types.Type]bool{}, counted: map[string]bool{}, found: map[string]Instance{}}
	s.add(o.Type(), name)
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.look(next)
	}
	return slices.SortedFunc(maps.Values(s.found), func(a, b Instance) int {
		return cmp.Or(cmp.Compare(b.Methods, a.Methods), cmp.Compare(a.Type, b.Type))
	}), nil
}

// search looks at all types that one leads to, the nearest first.
type search struct {
	queue   []step
	seen    map[types.Type]bool
	counted map[string]bool // instances, with their arguments
	found   map[string]Instance
}

type step struct {
	t       types.Type
	through string
}

func (s *search) add(t types.Type, through string) {
	if !s.seen[t] {
		s.seen[t] = true
		s.queue = append(s.queue, step{t, through})
	}
}

func (s *search) look(x step) {
	switch t := x.t.(type) {
	case *types.Alias:
		s.add(types.Unalias(t), x.through)
	case *types.Named:
		s.named(t, x.through)
	case interface{ Elem() types.Type }: // a pointer, slice, array, channel or map
		s.add(t.Elem(), x.through)
		if m, is := t.(*types.Map); is {
			s.add(m.Key(), x.through)
		}
	case *types.Struct:
		for f := range t.Fields() {
			s.add(f.Type(), x.through+"."+f.Name())
		}
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				s.add(v.Type(), x.through)
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.add(m.Type(), x.through+"."+m.Name())
		}
	}
}

func (s *search) named(t *types.Named, through string) {
	if args := t.TypeArgs(); args.Len() > 0 {
		if s.counted[t.String()] {
			return
		}
		s.counted[t.String()] = true
		name := t.Origin().Obj().Pkg().Path() + "." + t.Origin().Obj().Name()
		i, ok := s.found[name]
		if !ok {
			i = Instance{Type: name, Through: through}
		}
		i.Methods += t.NumMethods()
		s.found[name] = i
		for a := range args.Types() {
			s.add(a, through)
		}
	}
	through += " > " + t.Obj().Name()
	s.add(t.Underlying(), through)
	for m := range t.Methods() {
		s.add(m.Type(), through+"."+m.Name()+"()")
	}
}

package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
)

// Limits of what one subject may hold. A package of more files is a drawer, and a type of more
// methods or fields has more than one subject, however its methods are spread over files.
const (
	packageFiles = 25
	packageLines = 4000
	typeMethods  = 30
	typeFields   = 25
)

// counts are what a package or a type has; 0: no more than the limit.
type counts struct{ files, lines, methods, fields int }

// widest are the packages, and the types with their folder, that are above the limits, with what they
// have reached. Lower a row when its subject shrinks, and take it out when the limit is reached. No
// row grows, and none is added.
var widest = map[string]counts{
	"bench":                               {files: 39, lines: 6771},
	"crdt":                                {files: 59, lines: 7424},
	"crdt.Store":                          {methods: 31},
	"ddata":                               {files: 32, lines: 4044},
	"ddata/membership.member":             {methods: 38},
	"ddata/transport":                     {files: 27, lines: 4200},
	"proptest/sim":                        {files: 51, lines: 7750},
	"proptest/sim.World":                  {methods: 40, fields: 34},
	"proptest/sim.Process":                {methods: 32},
	"proptest/sim.replicaHost":            {methods: 32},
	"proptest/sim/options.Options":        {methods: 33},
	"replicator/effect.Stats":             {fields: 27},
	"sharding":                            {files: 29},
	"sharding.Region":                     {methods: 32},
	"sharding/control.Plane":              {methods: 38},
	"sharding/dataplane.Plane":            {fields: 26},
	"sharding/protocol":                   {files: 26},
	"sharding/protocol/coordinator.homes": {methods: 37},
	"sharding/protocol/region.Region":     {methods: 32},
	"sharding/protocol/region.places":     {methods: 34},
}

func checkSpread(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		out = append(out, p.overfull()...)
	}
	return sorted(out)
}

// overfull holds a package and its types to the limits, or to their rows.
func (p *Package) overfull() (out []Finding) {
	within := func(name, what string, n, limit, reached int) {
		if limit = max(limit, reached); n > limit {
			text := fmt.Sprintf("%s has %d %s, at most %d", name, n, what, limit)
			out = append(out, Finding{File: p.Dir, Rule: "spread", Text: text})
		}
	}
	files, lines := 0, 0
	for _, f := range p.Files {
		if !ast.IsGenerated(f.AST) {
			files++
			lines += bytes.Count(f.Src, []byte("\n"))
		}
	}
	row := widest[p.Dir]
	within(p.Dir, "files", files, packageFiles, row.files)
	within(p.Dir, "lines", lines, packageLines, row.lines)
	methods, fields := p.members()
	for _, t := range sortedNames(methods, fields) {
		name := p.Dir + "." + t
		row := widest[name]
		within(name, "methods", methods[t], typeMethods, row.methods)
		within(name, "fields", fields[t], typeFields, row.fields)
	}
	return out
}

// members counts the methods and the fields of the types of a package, tests aside. Settings are
// exempt: a Config, an Options or a Counts is a list, and has no behaviour.
func (p *Package) members() (methods, fields map[string]int) {
	methods, fields = map[string]int{}, map[string]int{}
	for _, f := range p.Files {
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[receiverName(d.Recv)]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						if st, ok := t.Type.(*ast.StructType); ok && !listed[t.Name.Name] {
							fields[t.Name.Name] = st.Fields.NumFields()
						}
					}
				}
			}
		}
	}
	return methods, fields
}

// listed are the names of types that list settings or counts.
var listed = map[string]bool{"Config": true, "Options": true, "Counts": true, "EntityType": true}

// sortedNames are the keys of sets, each once.
func sortedNames(sets ...map[string]int) (names []string) {
	for _, s := range sets {
		for n := range s { // order: sorted
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

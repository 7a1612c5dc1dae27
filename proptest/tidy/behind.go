package tidy

// behind names the one package that may import a library. What the rest of the tree needs of it,
// that package offers.
var behind = map[string]string{"github.com/fxamacker/cbor/v2": "crdt/cbor"}

// checkBehind looks at imports of libraries that stand behind a package. Tests are exempt, for the
// library is a second opinion.
func checkBehind(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				_, path := importName(spec)
				if dir, ok := behind[path]; ok && p.Dir != dir {
					out = append(out, m.at(spec.Pos(), "behind", "%s stands behind %s", path, dir))
				}
			}
		}
	}
	return sorted(out)
}

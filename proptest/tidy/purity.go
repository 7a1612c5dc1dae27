package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// pureImports are what a pure package may use beside lower packages of this module, each with the reason that it is harmless.
var pureImports = map[string]string{
	"bytes": "values", "cmp": "values", "errors": "values", "fmt": "printing to strings", "iter": "values", "maps": "values; see maporder",
	"math": "values", "math/bits": "values", "slices": "values", "sort": "values", "strconv": "values", "strings": "values",
	"unicode/utf8": "values", "encoding/binary": "values", "encoding/hex": "values", "container/heap": "values",
	"crypto/sha256": "a hash, no randomness", "hash/crc32": "a hash", "hash/fnv": "a hash",
	"reflect":                      "kinds of type parameters; no state",
	"math/rand/v2":                 "for *rand.Rand, which is handed in; its global functions are forbidden below",
	"time":                         "for the values Time and Duration; its clock and timers are forbidden below",
	"github.com/fxamacker/cbor/v2": "the encoding of every wire and disk format", "github.com/tidwall/btree": "the copy-on-write tree",
	"github.com/google/btree": "a tree", "github.com/zeebo/xxh3": "a hash", "github.com/cespare/xxhash/v2": "a hash",
}

// clockNames are the names of package time that read a clock or wait for one.
var clockNames = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// randNames are the names of package math/rand/v2 that need a generator of one's own.
var randNames = []string{"Rand", "New", "NewPCG", "PCG", "NewChaCha8", "ChaCha8", "Source", "Zipf", "NewZipf"}

func checkPurity(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		if !isPure(p.Dir) {
			continue
		}
		for _, f := range p.Files {
			out = append(out, m.impureImports(f)...)
			out = append(out, m.impureCode(f)...)
		}
	}
	return sorted(out)
}

func (m *Module) impureImports(f *File) []Finding {
	var out []Finding
	for _, spec := range f.AST.Imports {
		name, path := importName(spec)
		if name == "." {
			out = append(out, m.at(spec.Pos(), "purity", "dot import of %s hides what is called", path))
		}
		if _, ok := pureImports[path]; !ok && !strings.HasPrefix(path, m.Path+"/") {
			out = append(out, m.at(spec.Pos(), "purity", "a pure package may not import %s", path))
		}
	}
	return out
}

// impureCode finds goroutines, channels and the forbidden names of time and math/rand/v2.
func (m *Module) impureCode(f *File) []Finding {
	names := map[string]string{}
	for _, spec := range f.AST.Imports {
		name, path := importName(spec)
		names[name] = path
	}
	var out []Finding
	report := func(n ast.Node, format string, args ...any) {
		out = append(out, m.at(n.Pos(), "purity", format, args...))
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "go statement")
		case *ast.ChanType:
			report(n, "channel")
		case *ast.SendStmt:
			report(n, "send on a channel")
		case *ast.SelectStmt:
			report(n, "select")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "receive from a channel")
			}
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch names[id.Name] {
			case "time":
				if slices.Contains(clockNames, n.Sel.Name) {
					report(n, "time.%s reads or awaits a clock; use the instant handed to Step", n.Sel.Name)
				}
			case "math/rand/v2":
				if !slices.Contains(randNames, n.Sel.Name) {
					report(n, "rand.%s uses the global generator; use the *rand.Rand handed in", n.Sel.Name)
				}
			}
		}
		return true
	})
	return out
}

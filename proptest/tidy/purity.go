package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// pureImports are what a pure package may use beside lower packages of this module, each with the
// reason that it is harmless.
var pureImports = map[string]string{
	"bytes": "values", "cmp": "values", "errors": "values", "fmt": "printing to strings", "iter": "values",
	"maps": "values; see maporder",
	"math": "values", "math/bits": "values", "slices": "values", "sort": "values",
	"strconv": "values", "strings": "values",
	"unicode/utf8": "values", "encoding": "interfaces", "encoding/binary": "values", "encoding/hex": "values",
	"container/heap": "values",
	"context":        "for the type Context in an interface that others implement; all else is forbidden below",
	"crypto/sha256":  "a hash, no randomness", "hash/crc32": "a hash", "hash/fnv": "a hash",
	"reflect":                      "kinds of type parameters; no state",
	"math/rand/v2":                 "for *rand.Rand, which is handed in; its global functions are forbidden below",
	"time":                         "for the values Time and Duration; its clock and timers are forbidden below",
	"github.com/fxamacker/cbor/v2": "the encoding of every wire and disk format",
	"github.com/tidwall/btree":     "the copy-on-write tree",
	"github.com/google/btree":      "a tree", "github.com/zeebo/xxh3": "a hash",
	"github.com/cespare/xxhash/v2": "a hash",
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
	names := f.imports()
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
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				report(n, "%s writes to the standard error", id.Name)
			}
		case *ast.SelectorExpr:
			x, sel := selector(n)
			if text := impureName(names[x], sel); text != "" {
				report(n, "%s.%s %s", x, sel, text)
			}
		}
		return true
	})
	for _, d := range f.AST.Decls {
		out = append(out, m.sharedRandom(d, names)...)
	}
	return out
}

// impureName says what is wrong with a name of an allowed package, "" when nothing is.
func impureName(path, name string) string {
	switch {
	case path == "time" && slices.Contains(clockNames, name):
		return "reads or awaits a clock; use the instant handed to Step"
	case path == "context" && name != "Context":
		return "waits for an end or has one awaited; only the type may be named"
	case path == "math/rand/v2" && !slices.Contains(randNames, name):
		return "uses the global generator; use the *rand.Rand handed in"
	case path == "fmt" && (strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Scan")):
		return "speaks with the terminal"
	}
	return ""
}

// sharedRandom finds generators in variables of the package: what one machine draws, another
// misses.
func (m *Module) sharedRandom(d ast.Decl, names map[string]string) []Finding {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return nil
	}
	var out []Finding
	ast.Inspect(g, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if x, sel := selector(n); names[x] == "math/rand/v2" && slices.Contains(randNames, sel) {
			out = append(out, m.at(n.Pos(), "purity",
				"a generator that all machines share; use the *rand.Rand handed in"))
			return false
		}
		return true
	})
	return out
}

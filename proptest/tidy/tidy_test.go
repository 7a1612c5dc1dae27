package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTree holds the whole module to every rule.
func TestTree(t *testing.T) {
	root, path := rootHere(t)
	m, err := Load(root, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			for _, f := range r.Check(m) {
				t.Errorf("%s (%s)", f, r.Why)
			}
		})
	}
}

// TestListsOfExamples: what the lists of rule examples name is there.
func TestListsOfExamples(t *testing.T) {
	root, _ := rootHere(t)
	for dir, why := range unrun { // order: each is looked at by itself
		if surface[dir] == "" || why == "" {
			t.Errorf("unrun has %s, which is not in surface, or has no reason", dir)
		}
	}
	for _, e := range unshown {
		if surface[e.Dir] == "" || e.Why == "" {
			t.Errorf("unshown has %s, which is not in surface, or has no reason", e.Dir)
		}
	}
	for dir := range surface { // order: each is looked at by itself
		if _, err := os.Stat(filepath.Join(root, dir, "doc.go")); err != nil {
			t.Error(err)
		}
	}
}

// TestShown shows what an Example shows: a type by its own name, by that of a function that returns it, and
// by that of a constant. One without output shows nothing.
func TestShown(t *testing.T) {
	m, err := parse("example.org/m", map[string][]byte{
		"a/a.go": []byte("package a\ntype (A int; B int; C int; D int; E struct{})\nfunc NewB() (*B, error)\n" +
			"const (\nC1 C = iota\nC2\n)\n"),
		"a/a_test.go": []byte("package a_test\nimport \"example.org/m/a\"\n" +
			"func ExampleA() {\n_, _ = a.NewB()\n_ = a.C2\n// Output:\n}\n" +
			"func ExampleD() {\n_ = a.E{}\n}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Packages[0]
	shown := p.shown(m.Path, p.declared())
	for name, want := range map[string]bool{"A": true, "B": true, "C": true, "D": false, "E": false} {
		if shown[name] != want {
			t.Errorf("%s: %v", name, shown[name])
		}
	}
}

// TestRules shows each rule one source that breaks it and one that does not, so that a rule cannot
// fall asleep unnoticed.
func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			m, err := parse("example.org/m", map[string][]byte{c.file: []byte(c.src)})
			if err != nil {
				t.Fatal(err)
			}
			m.TopLevel = []string{strings.Split(c.file, "/")[0]}
			var got []string
			for _, r := range Rules() {
				if r.Name != c.rule {
					continue
				}
				for _, f := range r.Check(m) {
					got = append(got, f.String())
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, w := range c.want {
				if !strings.Contains(got[i], w) {
					t.Errorf("finding %d is %q, want %q in it", i, got[i], w)
				}
			}
		})
	}
}

var long = strings.Repeat("\n", 80)

var (
	manyMethods = func() (src string) {
		for i := range typeMethods + 1 {
			src += fmt.Sprintf("func (*T[X]) m%d() {}\n", i)
		}
		return src
	}()
	manyFields = strings.Repeat("a, b, c int\n", typeFields/3+1)
)

var ruleCases = []struct {
	name, rule, file, src string
	want                  []string
}{
	{"many methods", "spread", "a/a.go", "package a\ntype T[X any] struct{}\n" + manyMethods,
		[]string{"a.T has 31 methods, at most 30"}},
	{"many fields", "spread", "a/a.go", "package a\ntype T struct {\n" + manyFields + "}",
		[]string{"a.T has 27 fields, at most 25"}},
	{"a list of settings", "spread", "a/a.go", "package a\ntype Config struct {\n" + manyFields + "}", nil},
	{"many lines", "spread", "a/a.go", "package a" + strings.Repeat("\n", packageLines+1),
		[]string{"a has 4001 lines, at most 4000"}},
	{"reached", "spread", "crdt/a.go", "package crdt" + strings.Repeat("\n", packageLines+1), nil},
	{"rank up", "ranks", "crdt/a.go", "package crdt\nimport _ \"example.org/m/replicator\"",
		[]string{"crdt/a.go:2: ranks: crdt (rank -12) imports replicator (rank 1)"}},
	{"rank sideways", "ranks", "replicator/a.go", "package replicator\nimport _ \"example.org/m/ddata/membership\"",
		[]string{"imports ddata/membership"}},
	{"rank down", "ranks", "sharding/protocol/a.go", "package protocol\nimport _ \"example.org/m/crdt\"", nil},
	{"rank in a test", "ranks", "crdt/a_test.go", "package crdt_test\nimport _ \"example.org/m/proptest\"", nil},
	{"no rank", "ranks", "helpers/a.go", "package helpers", []string{"no row"}},
	{"behind", "behind", "sharding/a.go", "package sharding\nimport x \"github.com/fxamacker/cbor/v2\"",
		[]string{"stands behind crdt/cbor"}},
	{"in front", "behind", "crdt/cbor/a.go", "package cbor\nimport x \"github.com/fxamacker/cbor/v2\"", nil},
	{"beside", "scheduled", "sharding/control/a.go", "package control\nimport tm \"time\"\nimport \"sync\"\n" +
		"func f(c chan int) {\ngo f(c)\n<-c\nselect {\ncase <-c:\n<-c\n}\ntm.Sleep(1)\nvar w sync.WaitGroup\n}",
		[]string{":5: scheduled: go statement", ":6: scheduled: receive", ":7: scheduled: select",
			":9: scheduled: receive", ":11: scheduled: tm.Sleep", ":12: scheduled: sync.WaitGroup"}},
	{"by the scheduler", "scheduled", "sharding/control/a.go", "package control\nfunc f(c chan int) {\n" +
		"select {\ncase <-c:\ndefault:\n}\n<-c // scheduler: it is closed\n}", nil},
	{"go elsewhere", "scheduled", "ddata/a.go", "package ddata\nfunc f() { go f() }", nil},
	{"go", "purity", "crdt/a.go", "package crdt\nfunc f() { go f() }", []string{"crdt/a.go:2: purity: go statement"}},
	{"channel", "purity", "crdt/a.go", "package crdt\nfunc f(c chan int) {\nc <- 1\n<-c\nselect {}\n}",
		[]string{":2: purity: channel", ":3: purity: send", ":4: purity: receive", ":5: purity: select"}},
	{"clock", "purity", "crdt/a.go", "package crdt\nimport tm \"time\"\nvar x = tm.Now()",
		[]string{":3: purity: tm.Now"}},
	{"time value", "purity", "crdt/a.go",
		"package crdt\nimport \"time\"\nvar x time.Time\nvar y = time.Unix(0, 0)", nil},
	{"global rand", "purity", "replicator/a.go",
		"package replicator\nimport \"math/rand/v2\"\nvar x = rand.IntN(3)", []string{"rand.IntN"}},
	{"own rand", "purity", "replicator/a.go",
		"package replicator\nimport \"math/rand/v2\"\nfunc f() int { return rand.New(rand.NewPCG(1, 2)).IntN(3) }",
		nil},
	{"shared rand", "purity", "replicator/a.go",
		"package replicator\nimport \"math/rand/v2\"\nvar x = rand.New(\nrand.NewPCG(1, 2))",
		[]string{":3: purity: a generator", ":4: purity: a generator"}},
	{"print", "purity", "crdt/a.go",
		"package crdt\nimport \"fmt\"\nfunc f() { fmt.Println(); println(); _ = fmt.Sprint() }",
		[]string{"fmt.Println speaks", "println writes"}},
	{"context", "purity", "crdt/a.go",
		"package crdt\nimport \"context\"\ntype x interface{ f(context.Context) }\nvar y = context.Background()",
		[]string{":4: purity: context.Background"}},
	{"pure on impure", "ranks", "sharding/protocol/a.go",
		"package protocol\nimport _ \"example.org/m/ddata/transport\"",
		[]string{"is pure and imports ddata/transport"}},
	{"old rand", "purity", "crdt/a.go", "package crdt\nimport _ \"math/rand\"", []string{"may not import math/rand"}},
	{"sync", "purity", "ddata/membership/a.go", "package membership\nimport _ \"sync\"",
		[]string{"may not import sync"}},
	{"impure elsewhere", "purity", "ddata/a.go", "package ddata\nimport _ \"sync\"\nfunc f() { go f() }", nil},
	{"map range", "maporder", "crdt/a.go", "package crdt\ntype m map[int]int\nfunc f(x m) { for range x {} }",
		[]string{":3: maporder: range over a map"}},
	{"map range, type parameter", "maporder", "crdt/a.go",
		"package crdt\nfunc f[M ~map[int]int](x M) { for range x {} }", []string{":2: maporder"}},
	{"map range, marked", "maporder", "crdt/a.go",
		"package crdt\nfunc f(x map[int]int) (n int) {\n// order: a sum does not depend on it\n" +
			"for range x { n++ }\nreturn\n}", nil},
	{"map range, no reason", "maporder", "crdt/a.go",
		"package crdt\nfunc f(x map[int]int) (n int) {\n// order: \nfor range x { n++ }\nreturn\n}",
		[]string{":4: maporder"}},
	{"range over the unknown", "maporder", "crdt/a.go",
		"package crdt\nimport \"example.org/m/gone\"\nfunc f() { for range gone.X {} }",
		[]string{":3: maporder: range over something"}},
	{"slice range", "maporder", "crdt/a.go", "package crdt\nfunc f(x []int) { for range x {} }", nil},
	{"map keys", "maporder", "crdt/a.go",
		"package crdt\nimport \"maps\"\nfunc f(x map[int]int) { for range maps.Keys(x) {} }",
		[]string{":3: maporder: maps.Keys"}},
	{"map keys sorted", "maporder", "crdt/a.go",
		"package crdt\nimport (\n\"maps\"\n\"slices\"\n)\nfunc f(x map[int]int) []int { return " +
			"slices.Sorted(maps.Keys(x)) }", nil},
	{"no example", "examples", "ddata/tracing/a.go",
		"package tracing\ntype Flag struct{}\nfunc New() *Flag { return nil }",
		[]string{"no Example with output shows Flag"}},
	{"an example of an inner package", "examples", "crdt/cbor/a.go", "package cbor\ntype Reader struct{}", nil},
	{"a type that a page of exceptions has", "examples", "sharding/a.go", "package sharding\ntype Ports struct{}",
		[]string{"Continuer is an exception"}},
	{"no doc", "docs", "crdt/doc.go",
		"// Package crdt is.\npackage crdt\nfunc F() {}\ntype T struct{}\nfunc (T) M() {}\nconst C = 1",
		[]string{"F has", "T has", "M has", "C has"}},
	{"doc", "docs", "crdt/doc.go",
		"// Package crdt is.\npackage crdt\n// F is.\nfunc F() {}\n// T is.\ntype T struct{}\n// M is.\nfunc (T) " +
			"M() {}\n" +
			"// The values.\nconst (\nC = 1\n)\ntype u struct{}\nfunc (u) M() {}", nil},
	{"knob", "docs", "crdt/doc.go",
		"// Package crdt is.\npackage crdt\n// StoreOptions are.\ntype StoreOptions struct {\n// A is.\nA int\nB " +
			"int\nC int // C is.\nd int\n}",
		[]string{":7: docs: field StoreOptions.B"}},
	{"doc of another name", "docs", "crdt/doc.go", "// Package crdt is.\npackage crdt\n// F is.\nfunc G() {}",
		[]string{":4: docs: the comment of G"}},
	{"no doc.go", "docs", "crdt/a.go", "// Package crdt is.\npackage crdt", []string{"no doc.go"}},
	{"a story", "docs", "crdt/doc.go", "// A story.\n" + strings.Repeat("// More.\n", 59) + "package crdt\n", nil},
	{"a long story", "docs", "crdt/doc.go", "// A story.\n" + strings.Repeat("// More.\n", 60) + "package crdt\n",
		[]string{"crdt/doc.go:1: docs: a package comment of 61 lines"}},
	{"command", "docs", "examples/a/main.go", "// Command a is.\npackage main\nfunc F() {}", nil},
	{"long function", "size", "crdt/a.go", "package crdt\nfunc f() {" + long + "}",
		[]string{":2: size: function f of 81 lines, at most 70"}},
	{"long test function", "size", "crdt/a_test.go", "package crdt\nfunc f() {" + long + "}", nil},
	{"long pure file", "size", "crdt/a.go",
		"package crdt" + strings.Repeat("\n", 401), []string{"file of 401 lines, at most 400"}},
	{"long file", "size", "ddata/a.go", "package ddata" + strings.Repeat("\n", 401), nil},
	{"sleep", "tests", "ddata/a_test.go", "package ddata\nimport \"time\"\nfunc f() { time.Sleep(1) }",
		[]string{":3: tests: time.Sleep"}},
	{"skip", "tests", "ddata/a_test.go", "package ddata\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip(1) }",
		[]string{":3: tests: t.Skip"}},
	{"skip, marked", "tests", "ddata/a_test.go",
		"package ddata\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip(1) // skip: no such device\n}", nil},
	{"skip, no reason", "tests", "ddata/a_test.go",
		"package ddata\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip(1) // skip: \n}",
		[]string{":3: tests: t.Skip"}},
	{"wait", "tests", "ddata/a_test.go",
		"package ddata\nimport \"time\"\nfunc f() {\nselect { case <-time.After(1): }\n<-time.After(1)\n}",
		[]string{":5: tests: to wait"}},
	{"wait in a bubble", "tests", "ddata/a_test.go",
		"package ddata\nimport (\n\"time\"\n\"example.org/m/proptest/bubble\"\n)\nfunc f() { bubble.Test(); " +
			"<-time.After(1) }", nil},
	{"bare bubble", "tests", "ddata/a_test.go",
		"package ddata\nimport \"testing/synctest\"\nfunc f() { synctest.Test() }",
		[]string{":3: tests: synctest.Test"}},
	{"sleeping suite", "tests", "durable/storetest/a.go",
		"package storetest\nimport (\n\"testing\"\n\"time\"\n)\nfunc F(tb testing.TB) { time.Sleep(1); tb.SkipNow() }",
		[]string{"time.Sleep", "tb.SkipNow"}},
	{"leak", "tests", "ddata/a.go", "package ddata\nfunc f() { go f() }", []string{":2: tests: a goroutine"}},
	{"no subject", "names", "ddata/helpers_test.go", "package ddata", []string{"ddata/helpers_test.go:0: names"}},
	{"no noun", "names", "examples/util/a.go", "package util", []string{"examples/util:0: names"}},
	{"top level", "toplevel", "pkg/a.go", "package pkg", []string{"pkg:0: toplevel"}},
	{"hidden top level", "toplevel", ".ci/a.go", "package ci", nil},
	{"path of a workplace", "words", "crdt/a.go", "package crdt\n// see /wo" + "rk/x", []string{":2: words"}},
	{"a refused word", "language", "crdt/a.go", "package crdt\n// It waits for" + " ever.", []string{":2: language"}},
	{"a component as a person", "language", "crdt/a_test.go", "package crdt\nvar x int // set by wh" + "oever starts",
		[]string{":2: language"}},
	{"a word in a string", "language", "crdt/a.go", "package crdt\nconst x = \"no" + "body\"",
		[]string{":2: language"}},
	{"a word in code", "language", "crdt/a.go", "package crdt\nvar wh" + "o int", nil},
	{"a wide comment", "language", "crdt/a.go",
		"package crdt\n// " + strings.Repeat("x ", 60), []string{":2: language"}},
	{"a wide table", "language", "crdt/a.go", "package crdt\n//\t" + strings.Repeat("x ", 60), nil},
	{"a wide line", "width", "crdt/a.go", "package crdt\nvar x = \"" + strings.Repeat("x", 120) + "\"",
		[]string{":2: width"}},
	{"a wide raw string", "width", "crdt/a.go", "package crdt\nvar x = `" + strings.Repeat("x", 120) + "`", nil},
	{"a second meaning", "language", "crdt/a.go", "package crdt\ntype Permit int", []string{":2: language: Permit"}},
	{"a part of a term", "language", "ddata/host/a.go", "package host\ntype Lease int", nil},
	{"an alias of a term", "language", "crdt/a.go", "package crdt\nimport \"example.org/m/ddata/runloop\"\n" +
		"type Permit = runloop.Permit", nil},
	{"a term", "language", "ddata/runloop/a.go", "package runloop\ntype (\nPermit int\n)", nil},
	{"a term that has gone", "language", "ddata/runloop/a.go", "package runloop\ntype Pass int",
		[]string{"ddata/runloop:0: language: Permit is a term of this package"}},
	{"a page of the tree", "words", "crdt/design.md", "Comments name design.md.", nil},
	{"a page of elsewhere", "words", "crdt/design.md", "Comments name house.m" + "d.", []string{":1: words"}},
	{"a link", "words", "README.md", "[a](notes.m" + "d)\n[notes.m" + "d](a)", []string{":2: words"}},
	{"text", "words", "README.md", "# a\nTO" + "DO: write", []string{":2: words"}},
}

// rootHere finds the root of this module, and the module's path.
func rootHere(t *testing.T) (root, path string) {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, path, err = FindRoot(wd)
	if err != nil {
		t.Fatal(err)
	}
	return root, path
}

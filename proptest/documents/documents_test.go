package documents_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/documents"
)

const root = "../.."

// TestDocuments holds every document of the tree to every rule.
func TestDocuments(t *testing.T) {
	docs, err := documents.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		t.Fatal("no document is found")
	}
	var sum documents.Ease
	var findings []string
	for _, d := range docs {
		ease, long := d.Ease()
		sum.Sentences += ease.Sentences
		sum.Words += ease.Words
		findings = slices.Concat(findings, d.Excerpts(root), d.Links(root, docs), d.Commands(root), long)
	}
	t.Logf("%d documents, %d sentences of %.1f words", len(docs), sum.Sentences, sum.Average())
	findings = slices.Concat(findings, documents.Runs(root))
	for _, f := range findings {
		t.Error(f)
	}
}

// TestFrontPage wants the front page to be short, and its figures to be those of the report.
func TestFrontPage(t *testing.T) {
	const most = 200
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("README.md")
	if n := strings.Count(page, "\n"); n > most {
		t.Errorf("README.md has %d lines, at most %d: move facts to a guide", n, most)
	}
	findings := documents.Figures(page, read("bench/report/README.md"))
	for _, f := range findings {
		t.Error(f)
	}
}

// A figure that the report does not have is found, and one that it has is not.
func TestFigures(t *testing.T) {
	const report = "## Peers\n\n| work | peer | figure | Coterie | the peer |\n| --- | --- | --- | --- | --- |\n" +
		"| ask | pekko | ops_per_s | 300 | 20 |\n| ask | protoactor | ops_per_s | 300 | 50 |\n" +
		"| stop | pekko | ms | 9 | 7 |\n| stop | pekko-tuned | ms | 9 | 5 |\n"
	const head = "| what | row of the report | Coterie | Pekko | protoactor-go |\n|---|---|---|---|---|\n"
	for row, want := range map[string]string{
		"| a | `ask` `ops_per_s` | 300 | 20 | 50 |":        "",
		"| a | `stop` `ms` | 9 | 7 | none |":               "",
		"| a | `stop` `ms` `pekko-tuned` | 9 | 5 | none |": "",
		"| a | `ask` `ops_per_s` | 301 | 20 | 50 |":        "ask ops_per_s of Coterie is 301, and 300 in the report",
		"| a | `ask` `ops_per_s` | 300 | 20 | 5 |":         "ask ops_per_s of protoactor is 5, and 50 in the report",
		"| a | `tell` `ops_per_s` | 300 | 20 | 5 |":        "the report has no row tell ops_per_s",
	} {
		got := strings.Join(documents.Figures(head+row+"\n", report), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", row, got, want)
		}
	}
	if got := documents.Figures("no table", report); len(got) != 1 {
		t.Errorf("found %q in a page without figures", got)
	}
}

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const guide = `package doc_test

import "fmt"

// A Cart is a list.
type Cart []string

// Add adds.
func (c *Cart) Add(s string) { *c = append(*c, s) }

func ExampleCart() {
	var c Cart
	for range 2 {
		c.Add("pen")
	}
	fmt.Println(c)
	// Output: [pen pen]
}

func ExampleCart_Add() {
	new(Cart).Add("pen")
}
`

// Each kind of excerpt is found in its source.
func TestRewritten(t *testing.T) {
	block := func(comment string) string { return "<!-- " + comment + " -->\n```go\nold\n```\n" }
	dir := tree(t, map[string]string{
		"doc/guide_test.go": guide,
		"main.go":           "package main\n",
		"doc/README.md": block("guide_test.go ExampleCart.body") + block("guide_test.go Cart Cart.Add") +
			block("../main.go") + block("not run: the code of another library"),
	})
	docs, err := documents.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := docs[0].Excerpts(dir); len(got) != 3 {
		t.Errorf("found %q, want three", got)
	}
	out, err := docs[0].Rewritten(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"```go\nvar c Cart\nfor range 2 {\n\tc.Add(\"pen\")\n}\nfmt.Println(c)\n```\n",
		"```go\n// A Cart is a list.\ntype Cart []string\n\n// Add adds.\nfunc (c *Cart) Add",
		"```go\npackage main\n```\n", "library -->\n```go\nold\n```\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	if got := documents.Parse("doc/README.md", out).Excerpts(dir); len(got) > 0 {
		t.Error(got)
	}
}

// Each rule finds what breaks it, and nothing else.
func TestFindings(t *testing.T) {
	dir := tree(t, map[string]string{
		"Makefile": "demo: ## x\n", "guide_test.go": guide, "bench/main.go": `{"tell", runTell}`,
		"other/README.md": "# A heading, with words\n",
	})
	excerpts := func(d *documents.Document) []string { return d.Excerpts(dir) }
	links := func(d *documents.Document) []string {
		other := documents.Parse("other/README.md", []byte("# A heading, with words\n"))
		return d.Links(dir, []*documents.Document{d, other})
	}
	commands := func(d *documents.Document) []string { return d.Commands(dir) }
	ease := func(d *documents.Document) []string { _, f := d.Ease(); return f }
	long := strings.Repeat("word ", 19)
	for _, c := range []struct {
		name, text string
		rule       func(*documents.Document) []string
		want       string // "": nothing is found
	}{
		{"no source", "```go\nx\n```\n", excerpts, "put <!-- FILE NAME -->"},
		{"no such file", "<!-- no.go -->\n```go\nx\n```\n", excerpts, "no such file"},
		{"no such name", "<!-- guide_test.go Carts -->\n```go\nx\n```\n", excerpts, "there is no Carts"},
		{"another text", "<!-- guide_test.go Cart -->\n```go\nx\n```\n", excerpts, "it is not what"},
		{"no body", "<!-- guide_test.go Cart.body -->\n```go\nx\n```\n", excerpts, "has no body"},
		{"no output", "<!-- guide_test.go ExampleCart_Add.body -->\n```go\nx\n```\n", excerpts, "is only compiled"},
		{"cannot run", "<!-- guide_test.go ExampleCart_Add.body compiled: it needs a pen -->\n" +
			"```go\nnew(Cart).Add(\"pen\")\n```\n", excerpts, ""},
		{"no reason", "<!-- not run: x -->\n```go\nx\n```\n", excerpts, "in words"},
		{"no Go", "```text\nx\n```\n", excerpts, ""},
		{"a link", "[a](other/README.md#a-heading-with-words) [b](https://example.org/x) [c](bench)\n", links, ""},
		{"no file", "[a](none/README.md)\n", links, "leads nowhere"},
		{"no heading", "[a](other/README.md#none)\n", links, "no heading #none"},
		{"a line", "[a](Makefile#L7)\n", links, "lines move"},
		{"its own heading", "# One\n[a](#one)\n", links, ""},
		{"outside", "[a](../x)\n", links, "leads nowhere"},
		{"a command", "```sh\nmake demo  # says more\n```\n", commands, ""},
		{"no test", "```sh\nrm -rf x\n```\n", commands, "no test is known"},
		{"a reason", "<!-- not run: it needs a cluster -->\n```sh\nkubectl x\n```\n", commands, ""},
		{"a test", "<!-- run by guide_test.go ExampleCart -->\n```sh\nrm x\n```\n", commands, ""},
		{"not that test", "<!-- run by guide_test.go TestCart -->\n```sh\nrm x\n```\n", commands, "no test TestCart"},
		{"a job", "`make demo X=1`\n", commands, ""},
		{"no job", "`make coffee`\n", commands, "no job coffee"},
		{"a benchmark", "`go run ./bench -n 3 tell`\n", commands, ""},
		{"no benchmark", "`go run ./bench yell`\n", commands, "bench has no yell"},
		{"no package", "`go test ./none`\n", commands, "no such file"},
		{"not in a test", "`go test ./ -run TestNone -v`\n", commands, "no test TestNone"},
		{"short", "One. Two words! `a b c` is one: Three. \n\n* A point.\n", ease, ""},
		{"long", strings.Repeat("word ", 41) + "end. " + strings.Repeat("A. ", 40), ease, "a sentence of 42 words"},
		{"long ones", long + "end. " + long + "end.\n", ease, "20.0 words on the average"},
		{"a table", "| a |\n|---|\n| " + long + long + long + " |\n", ease, ""},
		{"a heading", "# " + long + long + long + "\n", ease, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(c.rule(documents.Parse("README.md", []byte(c.text))), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

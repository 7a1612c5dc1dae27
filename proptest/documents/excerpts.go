package documents

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// notRun begins the comment before a block that no test runs; its reason follows.
const notRun = "not run:"

// Excerpts compares the blocks of Go with their sources. Before each stands a comment that names a
// file, relative to the document, and declarations of it, separated by spaces:
//
//	<!-- guide_test.go ExampleORSet.body -->     what stands in the braces, an Output comment aside
//	<!-- cart.go Cart Cart.Add -->               a type and a method, with their comments
//	<!-- ../../examples/start/main.go -->        the whole file
//	<!-- x_test.go ExampleX.body compiled: REASON -->   an example that cannot run in a test
//	<!-- not run: REASON -->                     it is no code of this library
func (d *Document) Excerpts(root string) (findings []string) {
	for _, f := range d.fences {
		if f.kind != "go" {
			continue
		}
		switch want, err := d.source(root, f); {
		case err != nil:
			findings = append(findings, d.finding(f.line, "%v", err))
		case want != "" && want != f.text:
			findings = append(findings, d.finding(f.line, "it is not what %s has: run %s", f.before, rewriting))
		}
	}
	return findings
}

// Rewritten returns the document with all its blocks of Go as their sources have them.
func (d *Document) Rewritten(root string) ([]byte, error) {
	out := slices.Clone(d.Source)
	for _, f := range slices.Backward(d.fences) {
		if f.kind != "go" {
			continue
		}
		want, err := d.source(root, f)
		if err != nil {
			return nil, fmt.Errorf("%s", d.finding(f.line, "%v", err))
		}
		if want != "" {
			out = slices.Replace(out, f.from, f.from+f.n, []byte(want)...)
		}
	}
	return out, nil
}

// source returns what a block should be; "": anything.
func (d *Document) source(root string, f fence) (string, error) {
	if reason, is := strings.CutPrefix(f.before, notRun); is {
		if len(strings.Fields(reason)) < 2 {
			return "", fmt.Errorf("say in words why no test runs it")
		}
		return "", nil
	}
	from, reason, _ := strings.Cut(f.before, " compiled: ")
	fields := strings.Fields(from)
	if len(fields) == 0 || path.Ext(fields[0]) != ".go" {
		return "", fmt.Errorf("put <!-- FILE NAME --> before this block of Go: the file and the declarations from " +
			"which it is taken; or <!-- not run: REASON -->")
	}
	file := filepath.Join(root, filepath.FromSlash(path.Join(path.Dir(d.Name), fields[0])))
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if len(fields) == 1 {
		return string(src), nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, name := range fields[1:] {
		part, runs, err := excerpt(fset, parsed, src, name)
		if err == nil && !runs && len(strings.Fields(reason)) < 2 {
			err = fmt.Errorf("no test runs %s: an example without an Output comment is only compiled; if it cannot "+
				"run, say why: <!-- FILE NAME compiled: REASON -->", name)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", fields[0], err)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n"), nil
}

// excerpt returns one declaration, with its comment, or what stands in its braces. It reports whether a
// test can run that.
func excerpt(fset *token.FileSet, file *ast.File, src []byte, name string) (text string, runs bool, err error) {
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	name, body := strings.CutSuffix(name, ".body")
	for _, decl := range file.Decls {
		if !declares(decl, name) {
			continue
		}
		fn, isFunc := decl.(*ast.FuncDecl)
		if !body {
			from := decl.Pos()
			if doc := docOf(decl); doc != nil {
				from = doc.Pos()
			}
			return string(src[offset(from):offset(decl.End())]) + "\n", true, nil
		}
		if !isFunc || fn.Body == nil {
			return "", false, fmt.Errorf("%s has no body", name)
		}
		end, runs := offset(fn.Body.Rbrace), !strings.HasPrefix(name, "Example")
		for _, c := range file.Comments {
			if c.Pos() > fn.Body.Lbrace && c.End() < fn.Body.Rbrace && isOutput(c) {
				end, runs = offset(c.Pos()), true
			}
		}
		inner := strings.Trim(string(src[offset(fn.Body.Lbrace)+1:end]), "\n\t ")
		out, err := format.Source([]byte("\t" + inner)) // a fragment is formatted to its own indentation
		if err != nil {
			return "", false, fmt.Errorf("%s: %w", name, err)
		}
		return dedent(string(out)) + "\n", runs, nil
	}
	return "", false, fmt.Errorf("there is no %s", name)
}

// isOutput reports whether a comment says what an Example prints.
func isOutput(c *ast.CommentGroup) bool {
	text := strings.ToLower(c.Text())
	return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
}

// dedent takes one tab away from each line.
func dedent(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

func docOf(decl ast.Decl) *ast.CommentGroup {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// declares reports whether a declaration is that of a name: of a function, a Type.Method, a type, a
// constant or a variable.
func declares(decl ast.Decl, name string) bool {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		full := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) == 1 {
			full = receiver(d.Recv.List[0].Type) + "." + full
		}
		return full == name
	case *ast.GenDecl:
		return slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
			switch s := s.(type) {
			case *ast.TypeSpec:
				return s.Name.Name == name
			case *ast.ValueSpec:
				return slices.ContainsFunc(s.Names, func(id *ast.Ident) bool { return id.Name == name })
			}
			return false
		})
	}
	return false
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

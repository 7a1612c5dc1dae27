package settings

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Field is one setting as the source has it.
type Field struct {
	Name string
	Type string
	// Comment is what the source says of it, and of the fields that it stands beside.
	Comment string
	// At is its place among the fields of one declaration, from 0.
	At int
}

// read returns the comment and the exported fields of a struct.
func read(root fs.FS, dir, name string) (about string, fields []Field, err error) {
	files, err := fs.Glob(root, path.Join(dir, "*.go"))
	if err != nil {
		return "", nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return "", nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return "", nil, err
		}
		if about, list := structOf(f, name); list != nil {
			return about, fieldsOf(fset, list), nil
		}
	}
	return "", nil, fmt.Errorf("%s has no struct %s", dir, name)
}

// structOf finds a struct and its comment.
func structOf(f *ast.File, name string) (about string, list *ast.FieldList) {
	for _, d := range f.Decls {
		g, is := d.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, s := range g.Specs {
			t, is := s.(*ast.TypeSpec)
			if !is || t.Name.Name != name {
				continue
			}
			if st, is := t.Type.(*ast.StructType); is {
				doc := t.Doc
				if doc == nil {
					doc = g.Doc
				}
				return doc.Text(), st.Fields
			}
		}
	}
	return "", nil
}

func fieldsOf(fset *token.FileSet, list *ast.FieldList) (out []Field) {
	for _, f := range list.List {
		var of strings.Builder
		if err := printer.Fprint(&of, fset, f.Type); err != nil {
			continue // it has been parsed, so it can be printed
		}
		comment := f.Doc.Text()
		if comment == "" {
			comment = f.Comment.Text()
		}
		names := f.Names
		if len(names) == 0 { // embedded
			names = []*ast.Ident{ast.NewIdent(of.String())}
		}
		for i, n := range names {
			if n.IsExported() {
				out = append(out, Field{Name: n.Name, Type: of.String(), Comment: comment, At: i})
			}
		}
	}
	return out
}

package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Finding is one place that breaks a rule.
type Finding struct {
	// File is relative to the module's root; Line is 0 when the finding concerns the file or folder
	// as a whole.
	File string
	Line int
	Rule string
	Text string
}

func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text) }

// File is one parsed Go file.
type File struct {
	// Name is the slash-separated path below the module's root.
	Name string
	AST  *ast.File
	Src  []byte
	Test bool
}

// Package is the Go files of one folder.
type Package struct {
	// Dir is the slash-separated folder below the module's root.
	Dir   string
	Name  string
	Files []*File // without tests, by name
	Tests []*File
}

// Text is a file that is not Go but is read by people.
type Text struct {
	Name string
	Src  []byte
}

// Module is the parsed tree.
type Module struct {
	Root     string
	Path     string
	Fset     *token.FileSet
	Packages []*Package // by Dir
	Texts    []Text
	// TopLevel are the names in the root of the module.
	TopLevel []string
}

// FindRoot walks up from dir to the folder with go.mod and returns it with the module's path.
func FindRoot(dir string) (root, modulePath string, err error) {
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			for line := range strings.Lines(string(b)) {
				if p, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
					return dir, strings.TrimSpace(p), nil
				}
			}
			return "", "", fmt.Errorf("%s/go.mod names no module", dir)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", "", errors.New("no go.mod above the working directory")
		}
		dir = up
	}
}

// Load reads and parses every file of the module at root, in testdata and hidden folders the texts
// only; Git's own folder is left out.
func Load(root, modulePath string) (*Module, error) {
	src := map[string][]byte{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || !readable(filepath.ToSlash(rel)) {
			return err
		}
		src[filepath.ToSlash(rel)], err = os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) { // an editor's temporary file
			delete(src, filepath.ToSlash(rel))
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	m, err := parse(modulePath, src)
	if err != nil {
		return nil, err
	}
	m.Root = root
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		m.TopLevel = append(m.TopLevel, e.Name())
	}
	return m, nil
}

func readable(name string) bool {
	switch path.Ext(name) {
	case ".go":
		return !strings.HasPrefix(name, ".") && !strings.Contains("/"+name, "/testdata/")
	case ".md", ".txt", ".script", ".yml", ".yaml", ".mod", ".toml", ".sh":
		return true
	}
	return path.Base(name) == "Makefile" || strings.HasPrefix(name, ".ci/")
}

// parse builds a Module from sources by path.
func parse(modulePath string, src map[string][]byte) (*Module, error) {
	m := &Module{Path: modulePath, Fset: token.NewFileSet()}
	dirs := map[string]*Package{}
	for _, name := range sortedKeys(src) {
		if path.Ext(name) != ".go" {
			m.Texts = append(m.Texts, Text{Name: name, Src: src[name]})
			continue
		}
		f, err := parser.ParseFile(m.Fset, name, src[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(name)
		p := dirs[dir]
		if p == nil {
			p = &Package{Dir: dir}
			dirs[dir] = p
			m.Packages = append(m.Packages, p)
		}
		p.add(&File{Name: name, AST: f, Src: src[name], Test: strings.HasSuffix(name, "_test.go")})
	}
	slices.SortFunc(m.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return m, nil
}

func (p *Package) add(f *File) {
	if f.Test {
		p.Tests = append(p.Tests, f)
		return
	}
	p.Name = f.AST.Name.Name
	p.Files = append(p.Files, f)
}

// all is the package's files with its tests.
func (p *Package) all() []*File { return slices.Concat(p.Files, p.Tests) }

// imports reports whether a file of the package, tests aside, imports path.
func (p *Package) imports(path string) bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool { return f.uses(path) })
}

// uses reports whether the file imports path.
func (f *File) uses(path string) bool {
	return slices.ContainsFunc(f.AST.Imports, func(s *ast.ImportSpec) bool {
		_, at := importName(s)
		return at == path
	})
}

// imports maps the names under which a file uses its imports to their paths.
func (f *File) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.AST.Imports {
		name, path := importName(spec)
		names[name] = path
	}
	return names
}

// at makes a finding at a node of a file.
func (m *Module) at(pos token.Pos, rule, format string, args ...any) Finding {
	p := m.Fset.Position(pos)
	return Finding{File: p.Filename, Line: p.Line, Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// importName is the name under which a file uses an import, and its path.
func importName(s *ast.ImportSpec) (name, importPath string) {
	importPath = strings.Trim(s.Path.Value, `"`)
	if s.Name != nil {
		return s.Name.Name, importPath
	}
	name = path.Base(importPath)
	if len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' {
		name = path.Base(path.Dir(importPath))
	}
	return name, importPath
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
